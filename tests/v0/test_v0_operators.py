"""Programs for InfiniCore's operator library run on this one, in C and in ctypes, beside the earlier generation of the runtime."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from v0_build import (
    HERE,
    STRICT,
    build,
    build_neighbour,
    compiler,
    declared_functions,
    operator_headers,
    readelf,
    run,
    v0_flags,
    v0_root,
)

from infiniop.schema import OPERATORS
from infiniop.schema.emit.header import signatures
from installed import output_of

# Name, header and types of the parameters of every function in InfiniCore's include/infiniop, and the values of its enums.
PUBLISHED = json.loads((HERE.parent / "ops" / "published_functions.json").read_text())
VALUES = json.loads((HERE / "published_values.json").read_text())
WITH_OPERATORS = ["-linfiniop", "-lm", "-pthread"]


def library() -> Path:
    return v0_root() / "lib" / "libinfiniop.so"


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(
        "operators.c", tmp_path_factory.mktemp("operators") / "operators", *v0_flags(), *WITH_OPERATORS
    )


@pytest.mark.parametrize("schedule", ["async", "inline", "random:7"])
def test_c_program(operators: Path, schedule: str) -> None:
    output = run(operators, INFINIRT_CPU_DEVICES="2", INFINIRT_CPU_SCHEDULE=schedule)
    assert output == "v0 operators ok\n"


def test_c_program_finds_the_libraries_by_its_own_path(tmp_path: Path) -> None:
    path = f"-Wl,-rpath,{v0_root() / 'lib'}"
    built = build("operators.c", tmp_path / "operators", *v0_flags(), *WITH_OPERATORS, path)
    assert run(built, INFINIRT_CPU_DEVICES="2", LD_LIBRARY_PATH="") == "v0 operators ok\n"


@pytest.mark.peer("readelf")
def test_program_built_against_the_original_libraries(tmp_path: Path) -> None:
    """Its references carry no version, and it asks for the libraries by the names that they are linked by."""
    original = tmp_path / "original"
    original.mkdir()
    build_neighbour(original / "libinfinirt.so")
    build_neighbour(original / "libinfiniop.so", *operator_headers())
    flags = [f"-I{v0_root() / 'include'}", f"-L{original}", "-linfinirt", *WITH_OPERATORS]
    built = build("operators.c", tmp_path / "operators", *flags)
    assert "[libinfiniop.so]" in readelf(built)
    assert run(built, INFINIRT_CPU_DEVICES="2") == "v0 operators ok\n"
    # And it is what finds the libraries that decides: beside the original ones, the same program fails.
    beside = subprocess.run([built], env={"LD_LIBRARY_PATH": str(original)}, capture_output=True)
    assert beside.returncode != 0


@pytest.mark.parametrize("arguments", [["v0_op"], ["v0", "v0_op"], ["v0_op", "v0"]], ids="-".join)
def test_ctypes_program_loads_the_libraries_by_name(arguments: list[str]) -> None:
    names = {"v0": "libinfinirt.so", "v0_op": "libinfiniop.so"}
    libraries = [f"{what}:local:{names[what]}" for what in arguments]
    assert run(sys.executable, HERE / "loaded_operators.py", *libraries) == "v0_op\n"


@pytest.mark.peer("nm", "readelf")
def test_library_exports_the_declared_functions_under_their_own_version() -> None:
    lines = output_of("nm", "--dynamic", "--format=posix", "--with-symbol-versions", library()).splitlines()
    exported = {line.split()[0] for line in lines if line.split()[1] in "TDBR"}
    assert exported == {f"{name}@@INFINIOP_0" for name in declared_functions(*operator_headers())}
    # Names that both generations have are not imported, so that they cannot be bound to the wrong one.
    imported = {name for line in lines if (name := line.split()[0]).startswith("infinirt")}
    private = "infinirtV0CurrentType@INFINIRT_0_PRIVATE"
    assert private in imported
    assert [name for name in imported - {private} if not name.startswith("infinirtX")] == []
    output = readelf(library())
    for expected in (
        "soname: [libinfiniop.so]",
        "[libinfinirt_v0.so.0]",
        "[libinfinirt.so.1]",
        "SYMBOLIC",
        "NODELETE",
    ):
        assert expected in output


def test_declarations_are_the_published_ones(tmp_path: Path) -> None:
    """The compiler compares the type of each function, and each value, with what InfiniCore published."""
    frame = {name for name, function in PUBLISHED.items() if "/ops/" not in function["header"]}
    published = {name for o in OPERATORS if o.published for name in signatures(o)}
    lines = [
        f"#include <{header}>" for header in sorted({PUBLISHED[name]["header"] for name in frame | published})
    ]
    for name in sorted(frame | published):
        kind = f"infiniStatus_t (*)({', '.join(PUBLISHED[name]['params'])})"
        lines.append(f'_Static_assert(_Generic(&{name}, {kind}: 1, default: 0), "{name}");')
    values = {name: value for members in VALUES.values() for name, value in members.items()}
    lines += [f'_Static_assert((int){name} == {value}, "{name}");' for name, value in values.items()]
    source = tmp_path / "published.c"
    source.write_text("\n".join([*lines, ""]))
    output_of(compiler(), *STRICT, "-fsyntax-only", f"-I{v0_root() / 'include'}", source)
    # Beside them stand only operators that InfiniCore does not have.
    declared = set(declared_functions(*operator_headers()))
    own = {name for o in OPERATORS if not o.published for name in signatures(o)}
    assert declared == frame | published | own
    assert own.isdisjoint(PUBLISHED)


@pytest.mark.full
@pytest.mark.parametrize("flags", [["-xc", "-std=c99"], ["-xc++", "-std=c++11"]], ids=" ".join)
def test_operator_headers_stand_alone(flags: list[str]) -> None:
    headers = operator_headers()
    assert len(headers) > len(OPERATORS)
    output_of(
        compiler(), *STRICT[1:], "-pedantic", "-fsyntax-only", f"-I{v0_root() / 'include'}", *flags, *headers
    )
