"""Python packages import downwards only: infinirt.tools, infinicore, infiniop and infiniccl, infinirt."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from tree import ROOT, in_project

SRC = ROOT / "src"
# A package (or part of one) and what it must not import.
FORBIDDEN = {
    "infinirt": ["infiniop", "infiniccl", "infinicore", "infinirt.tools"],
    "infiniop": ["infinicore", "infiniccl", "infinirt.tools"],
    "infiniccl": ["infinicore", "infiniop", "infinirt.tools"],
    "infinicore": ["infinirt.tools"],
}
# The program that `python -m infinirt` runs is no part of what `import infinirt` loads.
PROGRAMS = {SRC / "infinirt" / "__main__.py"}


def imported_modules(source: str, module: str, is_package: bool) -> set[str]:
    """Absolute names of everything imported, wherever in the file; `from a import b` counts as a and as a.b."""
    names: set[str] = set()
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return names


def module_name(path: Path) -> tuple[str, bool]:
    parts = list(path.relative_to(SRC).with_suffix("").parts)
    is_package = parts[-1] == "__init__"
    return ".".join(parts[:-1] if is_package else parts), is_package


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def test_packages_import_downwards_only() -> None:
    wrong = []
    for path in sorted(SRC.rglob("*.py")):
        module, is_package = module_name(path)
        if path in PROGRAMS or is_within(module, "infinirt.tools"):
            continue
        for name in sorted(imported_modules(path.read_text(encoding="utf-8"), module, is_package)):
            if any(is_within(name, forbidden) for forbidden in FORBIDDEN.get(module.split(".")[0], [])):
                wrong.append(f"{in_project(path)} imports {name}")
    assert wrong == []


@pytest.mark.parametrize("folder", ["infinirt/_spec", "infiniop/schema"])
def test_the_generators_need_the_standard_library_only(folder: str) -> None:
    """They run during the build, before anything is installed."""
    spec = SRC / folder
    # Run as a script, the folder itself is on the path: its own modules may be imported by their bare names.
    own = {*folder.split("/"), *(path.stem for path in spec.iterdir())}
    wrong = []
    for path in sorted(spec.rglob("*.py")):
        module, is_package = module_name(path)
        for name in imported_modules(path.read_text(encoding="utf-8"), module, is_package):
            top = name.split(".")[0]
            if top not in sys.stdlib_module_names and top not in own:
                wrong.append(f"{in_project(path)} imports {name}")
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import infinicore.ops", "infinicore.ops"),
        ("from infinirt import tools", "infinirt.tools"),
        ("from . import tools", "infinirt.tools"),
        ("from .tools import cli", "infinirt.tools.cli"),
        ("def f():\n    import infiniop", "infiniop"),
    ],
)
def test_the_check_sees_every_form_of_import(source: str, expected: str) -> None:
    assert expected in imported_modules(source, "infinirt.stream", is_package=False)


def test_relative_imports_of_a_package_are_resolved() -> None:
    assert "infinirt.tools" in imported_modules("from .. import tools", "infinirt._spec", is_package=True)
