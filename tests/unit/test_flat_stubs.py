"""The type stubs of `infinirt.runtime` are what the specification says, and say what the module has."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

rt: Any = importlib.import_module("infinirt.runtime")
ROOT = Path(__file__).resolve().parents[2]
STUB = ROOT / "src" / "infinirt" / "runtime.pyi"


def test_the_committed_stub_is_up_to_date() -> None:
    generator = ROOT / "src" / "infinirt" / "_spec" / "generate.py"
    command = [sys.executable, str(generator), "--what", "stubs", "--out", str(STUB), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def stub_names() -> set[str]:
    names: set[str] = set()
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def test_stub_and_module_have_the_same_names() -> None:
    assert stub_names() == set(rt.__all__)


def test_parameters_agree() -> None:
    import inspect

    checked = 0
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            expected = list(inspect.signature(getattr(rt, node.name)).parameters)
            assert [argument.arg for argument in node.args.args] == expected, node.name
            checked += 1
    assert checked > 220
