"""The schema against the published functions, and what is generated from it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from infiniop.schema import OPERATORS, Operator
from infiniop.schema.emit.header import signatures
from infiniop.schema.emit.listing import render
from infiniop.schema.emit.maps import typed
from installed import directory, output_of, program

# Name, header and types of the parameters of every function in InfiniCore's include/infiniop.
PUBLISHED = json.loads((Path(__file__).parent / "published_functions.json").read_text())
ROOT = Path(__file__).resolve().parents[2]


def types(params: list[str]) -> list[str]:
    return [re.sub(r"\s*\w+$", "", param) for param in params]


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_functions_are_the_published_ones(operator: Operator) -> None:
    for name, params in signatures(operator).items():
        if operator.published:
            header, published = PUBLISHED[name]["header"], PUBLISHED[name]["params"]
            # What is const about a number that is passed by value is nobody's business.
            plain = [
                [re.sub(r"^const (?=\w+$)", "", param) for param in each]
                for each in (types(params), published)
            ]
            assert plain[0] == plain[1]
            assert header == f"infiniop/ops/{operator.file}.h"
        else:
            assert name not in PUBLISHED


@pytest.mark.parametrize("language", ["c", "c++"])
def test_headers_compile_alone(language: str, tmp_path: Path) -> None:
    include = directory("--include-dir")
    headers = ["infiniop.h", *(f"infiniop/ops/{operator.file}.h" for operator in OPERATORS)]
    compiler = program("cc", "gcc")
    assert compiler is not None
    sources = []
    for number, header in enumerate(headers):
        sources.append(tmp_path / f"{number}.{'c' if language == 'c' else 'cpp'}")
        sources[-1].write_text(f"#include <{header}>\n")
    standard = "-std=c11" if language == "c" else "-std=c++17"
    output_of(
        compiler,
        "-x",
        language,
        standard,
        "-Wall",
        "-Werror",
        "-pedantic",
        "-fsyntax-only",
        f"-I{include}",
        *sources,
    )


def test_a_c_program(tmp_path: Path) -> None:
    compiler, library_dir = program("cc", "gcc"), directory("--lib-dir")
    assert compiler is not None
    built = tmp_path / "operators"
    output_of(
        compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", Path(__file__).parent / "operators.c",
        f"-I{directory('--include-dir')}", f"-L{library_dir}", f"-Wl,-rpath,{library_dir}", "-linfiniop", "-linfinirt",
        "-o", built,
    )  # fmt: skip
    assert output_of(built, INFINIRT_DEVICE="cpu") == "operators ok\n"


def test_a_misspelt_level_is_reported() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from op_support import *\n"
        "x = np.zeros(3, dtype=np.float32); run(BY_NAME['Relu'], {'y': x, 'x': x}, dict.fromkeys('yx', 'F32'))"
    )
    out = output_of(sys.executable, "-c", code, Path(__file__).parent, INFINIOP_CPU_LEVEL="v9")
    assert "INFINIOP_CPU_LEVEL is 'v9'; plain, v3 or v4 was expected" in out


@pytest.mark.peer("nm")
def test_the_library_exports_its_functions_and_imports_no_aligned_name() -> None:
    path = directory("--lib-dir") / "libinfiniop.so.1"
    lines = output_of("nm", "--dynamic", "--format=posix", "--with-symbol-versions", path).splitlines()
    exported = {line.split()[0] for line in lines if line.split()[1] in "TDBR"}
    declared = {function for operator in OPERATORS for function in signatures(operator)}
    assert {f"{name}@@INFINIOP_1" for name in declared} < exported
    assert [name for name in exported if not name.startswith("infiniop")] == []
    imported = [line.split()[0] for line in lines if line.split()[1] == "U"]
    wrong = [name for name in imported if name.startswith("infinirt") and not name.startswith("infinirtX")]
    assert wrong == []


def test_no_other_file_knows_an_operator() -> None:
    """One entry is all that an operator is: nothing else names it, but its tests."""
    code = re.compile(
        r"\binfiniop(?:Create|Get|Destroy)?("
        + "|".join(o.name for o in OPERATORS)
        + r")(?:Descriptor|WorkspaceSize)?\b"
    )
    files = [
        path
        for folder in ("csrc", "include", "cmake")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    ]
    assert [str(path) for path in files if code.search(path.read_text())] == []


def test_numbers_get_the_computed_type() -> None:
    assert typed("x2 * 0.5e-3 + 1 / x") == "x2 * T(0.5e-3) + T(1) / x"


def test_the_list_names_every_operator() -> None:
    text = render()
    assert all(f"| {operator.name}" in text for operator in OPERATORS)
    out = subprocess.run(
        [sys.executable, "-m", "infiniop"], capture_output=True, text=True, check=True
    ).stdout
    assert out == text


def test_one_entry_is_enough(tmp_path: Path) -> None:
    """A new operator, added to a copy of the schema: everything that is generated has it."""
    import shutil

    schema = tmp_path / "schema"
    shutil.copytree(ROOT / "src" / "infiniop" / "schema", schema)
    entry = schema / "functions.py"
    text = entry.read_text().replace(
        "OPERATORS: tuple[Operator, ...] = (",
        'OPERATORS: tuple[Operator, ...] = (\n    unary("Cube", "x * x * x", lambda np, x: x * x * x, "`x * x * x`.", dtypes=FLOATS, published=False),',
    )
    entry.write_text(text)
    subprocess.run([sys.executable, str(schema / "generate.py"), "--out", str(tmp_path / "out")], check=True)
    assert "infiniopCube(" in (tmp_path / "out/include/infiniop/ops/cube.h").read_text()
    assert "x * x * x" in (tmp_path / "out/build/infiniop/generated/maps.inc").read_text()
    assert "kCube" in (tmp_path / "out/build/infiniop/generated/operators.cpp").read_text()
    assert "    infiniopCube;" in (tmp_path / "out/build/infiniop.map").read_text()
