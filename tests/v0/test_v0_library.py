"""What the v0 root holds: the library's names and symbols, and one set of values in header and Python module."""

from __future__ import annotations

import enum
import re
from pathlib import Path

import pytest
from v0_build import STRICT, compiler, declared_functions, readelf, run, v0_root

import infinirt.v0 as v0
from installed import output_of

NAMES = ["libinfinirt.so", "libinfinirt_v0.so.0"]
ENUMS = [
    value
    for value in vars(v0).values()
    if isinstance(value, type) and issubclass(value, enum.IntEnum | enum.IntFlag)
]


def symbols(path: Path, which: str) -> set[str]:
    lines = output_of("nm", "--dynamic", which, "--format=posix", "--with-symbol-versions", path).splitlines()
    return {line.split()[0] for line in lines if line.startswith("infini")}


@pytest.mark.peer("nm")
def test_library_exports_the_declared_functions_under_their_own_version() -> None:
    functions = declared_functions()
    assert len(functions) == 35
    expected = {f"{name}@@INFINIRT_0" for name in functions}
    expected |= {f"infinirtV0{name}@@INFINIRT_0_PRIVATE" for name in ("TypeOfThread", "CurrentType")}
    for name in NAMES:
        assert symbols(v0_root() / "lib" / name, "--defined-only") == expected


@pytest.mark.peer("nm")
def test_library_imports_no_name_that_both_generations_have() -> None:
    imported = symbols(v0_root() / "lib" / "libinfinirt.so", "--undefined-only")
    assert imported
    assert [name for name in imported if not re.fullmatch(r"infinirtX\w+@INFINIRT_1", name)] == []


@pytest.mark.peer("readelf")
@pytest.mark.parametrize("name", NAMES)
def test_library_leads_back_to_the_root_and_to_the_core(name: str) -> None:
    path = v0_root() / "lib" / name
    assert path.is_file()
    assert not path.is_symlink()
    output = readelf(path)
    assert "Library soname: [libinfinirt_v0.so.0]" in output
    assert "[libinfinirt.so.1]" in output
    assert "[$ORIGIN/../../lib]" in output
    assert "SYMBOLIC" in output
    assert "NODELETE" in output


def test_python_module_has_every_function() -> None:
    assert sorted(
        name for name in vars(v0) if name.startswith("infinirt") and not name.endswith("_t")
    ) == sorted(declared_functions())
    assert set(declared_functions()) <= set(v0.__all__)


def test_values_and_layout_are_the_header_s(tmp_path: Path) -> None:
    """Printed by a C program, compared with the Python module."""
    members = [(kind, member) for kind in ENUMS for member in kind.__members__.values()]
    snapshot = v0.infinirtDeviceResourceSnapshot_t
    fields = [name for name, *_ in snapshot._fields_]
    source = tmp_path / "values.c"
    lines = [f'  printf("%d\\n", (int){member.name});' for _, member in members]
    lines += [f'  printf("%zu\\n", offsetof({snapshot.__name__}, {field}));' for field in fields]
    lines += [f'  printf("%zu\\n", sizeof({snapshot.__name__}));']
    source.write_text(
        "\n".join(["#include <infinirt.h>", "#include <stdio.h>", "int main(void) {", *lines, "}", ""])
    )
    output_of(compiler(), *STRICT, f"-I{v0_root() / 'include'}", source, "-o", tmp_path / "values")
    printed = [int(line) for line in run(tmp_path / "values").split()]
    expected = [int(member) for _, member in members]
    expected += [getattr(snapshot, field).offset for field in fields]
    assert printed == [*expected, v0.ctypes.sizeof(snapshot)]

    text = "".join(path.read_text() for path in (v0_root() / "include").glob("*.h"))
    enumerators = re.findall(r"^\s+(?:typedef enum \{ )?(INFINI(?:RT)?_\w+) = \d", text, re.MULTILINE)
    enumerators += re.findall(r"(INFINIRT_EVENT_COMPLETE|INFINIRT_EVENT_NOT_READY) = \d", text)
    assert set(enumerators) == {member.name for _, member in members}
