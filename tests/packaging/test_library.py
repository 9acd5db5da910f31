"""What the built library shows to the world: its name, its symbols and their version, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from installed import directory, output_of

pytestmark = pytest.mark.peer("nm")


def dynamic_symbols(path: Path, which: str) -> list[str]:
    """Names in the dynamic symbol table; `which` is nm's --defined-only or --undefined-only."""
    lines = output_of("nm", "--dynamic", which, "--format=posix", "--with-symbol-versions", path).splitlines()
    return [line.split()[0] for line in lines]


def test_library_exports_only_versioned_infinirt_names() -> None:
    exported = dynamic_symbols(directory("--lib-dir") / "libinfinirt.so.1", "--defined-only")
    functions = [name for name in exported if not name.startswith("INFINIRT_1")]
    assert len(functions) > 100
    assert [name for name in functions if not name.startswith("infinirt") or "@@INFINIRT_1" not in name] == []


def test_every_declared_function_is_exported() -> None:
    include_dir = directory("--include-dir")
    headers = "".join(
        (include_dir / name).read_text() for name in ("infinirt.h", "infinirt_ext.h", "infinirt_observe.h")
    )
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", headers, flags=re.DOTALL)
    declared = set(re.findall(r"^INFINIRT_API [^;(]*\b(infinirt\w+)\(", code, re.MULTILINE))
    exported = {
        name.split("@")[0]
        for name in dynamic_symbols(directory("--lib-dir") / "libinfinirt.so.1", "--defined-only")
    }
    assert len(declared) > 100
    assert sorted(declared - exported) == []


def test_library_name_is_the_versioned_one() -> None:
    output = output_of("readelf", "--dynamic", directory("--lib-dir") / "libinfinirt.so.1")
    assert "Library soname: [libinfinirt.so.1]" in output
    assert "SYMBOLIC" in output
    assert "NODELETE" in output


def test_our_own_binaries_import_no_aligned_name() -> None:
    """A library of the earlier generation may define the same names: ours must never be bound to it."""
    modules = sorted(directory("--lib-dir").parent.glob("*.so"))
    assert modules, "no extension module is installed"
    for module in modules:
        imported = [
            name for name in dynamic_symbols(module, "--undefined-only") if name.startswith("infinirt")
        ]
        assert [name for name in imported if not name.startswith("infinirtX")] == [], module.name
