"""What infinicore offers is documented, its examples are true, and its stubs name what the extension has."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import infinicore
from infinicore import _core, nn

NAMES = [
    "creation", "_tensor_str", "dtype", "functions", "indexing", "languages", "moving", "nn.layers", "other_names", "products",
    "recording", "selection", "tensor",
]  # fmt: skip
MODULES = [infinicore, *(importlib.import_module(f"infinicore.{name}") for name in NAMES)]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples_in_docstrings(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def test_every_function_and_method_is_documented() -> None:
    for name in infinicore.__all__:
        assert inspect.getdoc(getattr(infinicore, name)), name
    by_hand = {*nn.layers.__all__, *nn.normalisation.__all__, *nn.spatial.__all__}
    for name in nn.functional.__all__:
        text = "" if name in by_hand else r"Element types: "
        assert re.search(text, inspect.getdoc(getattr(nn.functional, name)) or ""), name
    for kind in (infinicore.Tensor, infinicore.Graph, _core.Place):
        undocumented = [
            name
            for name in dir(kind)
            if not name.startswith("_") and not inspect.getdoc(inspect.getattr_static(kind, name))
        ]
        assert undocumented == []


def test_the_stub_names_what_the_extension_has() -> None:
    tree = ast.parse(Path(infinicore.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))
    named = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    values = {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}  # type: ignore[union-attr]
    present = {name for name in dir(_core) if not name.startswith("__")}
    inner = {"Recording", "Storage"}  # nobody outside of the extension sees one
    assert {*named, *values} - {"DeviceLike", "_Self"} == present - inner
    for name, node in named.items():
        if not isinstance(node, ast.ClassDef) or name == "DeviceLike":
            continue
        members = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
        assert {member for member in members if not hasattr(getattr(_core, name), member)} == set(), name
        own = {member for member in vars(getattr(_core, name)) if not member.startswith("__")}
        assert own == {member for member in members if not member.startswith("__")}, name
