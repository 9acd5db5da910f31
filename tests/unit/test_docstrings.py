"""Everything public is documented, and the examples in the documentation are true."""

from __future__ import annotations

import ast
import ctypes
import doctest
import importlib
import inspect
from pathlib import Path
from types import ModuleType

import pytest

import infinirt

# The modules of the object API; the flat API and the tools have tests of their own.
NAMES = "_capture _options _protocols adaptors buffer device errors event graph interchange launch memory object_code program stream".split()  # noqa: SIM905
MODULES = [infinirt, *(importlib.import_module(f"infinirt.{name}") for name in NAMES)]

PUBLIC = [name for name in infinirt.__all__ if name not in {"__version__"}]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples_in_docstrings(module: ModuleType) -> None:
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS, extraglobs={"ctypes": ctypes})
    assert result.failed == 0


def test_there_are_examples() -> None:
    examples = sum(len(test.examples) for module in MODULES for test in doctest.DocTestFinder().find(module))
    assert examples > 100


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name: str) -> None:
    thing = getattr(infinirt, name)
    assert inspect.getdoc(thing), name
    if not inspect.isclass(thing):
        return
    undocumented = [
        member
        for member in dir(thing)
        if not member.startswith("_")
        and not hasattr(BaseException, member)  # Python's own
        and hasattr(thing, member)  # not a name of others (infinirt/_other_names.py)
        and getattr(thing, member).__class__.__name__ != "member_descriptor"  # a slot: the class describes it
        and not inspect.getdoc(inspect.getattr_static(thing, member))
    ]
    assert undocumented == []


def test_all_is_sorted_out() -> None:
    """What a module offers, the package offers; and nothing is listed twice."""
    assert len(set(infinirt.__all__)) == len(infinirt.__all__)
    for module in MODULES:
        if module is infinirt or not hasattr(module, "__all__"):
            continue
        missing = [
            name for name in module.__all__ if getattr(infinirt, name, None) is not getattr(module, name)
        ]
        assert missing == [], module.__name__


def test_signatures_can_be_read() -> None:
    """Functions written in C, too: editors and help() show their parameters."""
    for name in ("copy_to", "copy_from", "fill", "close", "__dlpack__"):
        assert "self" in str(inspect.signature(getattr(infinirt.Buffer, name)))
    assert list(inspect.signature(infinirt.Device.allocate).parameters) == ["self", "size", "stream"]
    assert list(inspect.signature(infinirt.Stream.record).parameters) == ["self", "event", "options"]


def test_stub_names_what_the_extension_has() -> None:
    stub = Path(infinirt.__file__).with_name("_core.pyi")
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    named = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    core = infinirt._core
    present = {name for name in dir(core) if not name.startswith("__")}
    values = {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}  # type: ignore[union-attr]
    assert {*named, *values} == present
    for name, node in named.items():
        if isinstance(node, ast.ClassDef):
            members = {
                member.target.id if isinstance(member, ast.AnnAssign) else member.name  # type: ignore[union-attr]
                for member in node.body
                if isinstance(member, (ast.FunctionDef, ast.AnnAssign))
            }
            assert {member for member in members if not hasattr(getattr(core, name), member)} <= {
                "__buffer__"
            }
            own = {member for member in vars(getattr(core, name)) if not member.startswith("__")}
            assert own - members == set(), name
