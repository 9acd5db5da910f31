"""Every example runs as it stands, says something, and fits on a screen."""

from __future__ import annotations

import ast
import shutil
import sys
from pathlib import Path

import pytest

from installed import output_of

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))
BACKENDS = sorted((EXAMPLES[0].parent / "backends").glob("*.py"))


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if '"cc"' in text and shutil.which("cc") is None:
        pytest.skip("no C compiler")
    assert text.count("\n") <= 60
    assert ast.get_docstring(ast.parse(text))
    assert output_of(sys.executable, path).strip()


@pytest.mark.parametrize("path", BACKENDS, ids=lambda path: path.stem)
def test_backend(path: Path) -> None:
    """Whole device types are longer. One that drives another runtime says so where that is absent, and ends well."""
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert output_of(sys.executable, path).strip()
