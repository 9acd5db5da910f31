"""Programs of the earlier generation, alone: in C against the old header and link name, and in ctypes by library name."""

from __future__ import annotations

import os
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
    library_dir,
    readelf,
    run,
    v0_flags,
    v0_root,
)

from installed import output_of


@pytest.fixture(scope="module")
def v0_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("program.c", tmp_path_factory.mktemp("program") / "program", *v0_flags())


@pytest.mark.parametrize("schedule", ["async", "inline", "random:7"])
def test_c_program(v0_program: Path, schedule: str) -> None:
    output = run(v0_program, INFINIRT_CPU_DEVICES="2", INFINIRT_CPU_SCHEDULE=schedule)
    assert output == "v0 program ok\n"


def test_c_program_finds_its_library_by_its_own_path(tmp_path: Path) -> None:
    built = build("program.c", tmp_path / "program", *v0_flags(), f"-Wl,-rpath,{v0_root() / 'lib'}")
    assert run(built, INFINIRT_CPU_DEVICES="2", LD_LIBRARY_PATH="") == "v0 program ok\n"


@pytest.mark.peer("readelf")
def test_program_built_against_the_original_library(tmp_path: Path) -> None:
    """Its references carry no version and it asks for libinfinirt.so."""
    original = tmp_path / "original"
    original.mkdir()
    build_neighbour(original / "libinfinirt.so")
    built = build(
        "program.c", tmp_path / "program", f"-I{v0_root() / 'include'}", f"-L{original}", "-linfinirt"
    )
    assert "[libinfinirt.so]" in readelf(built)
    assert run(built, INFINIRT_CPU_DEVICES="2") == "v0 program ok\n"
    # And it is what finds the library that decides: beside the original, the same program fails.
    assert (
        subprocess.run([built], env={"LD_LIBRARY_PATH": str(original)}, capture_output=True).returncode != 0
    )


def test_core_loaded_first_does_not_take_the_program_over(v0_program: Path) -> None:
    preloaded = str(library_dir() / "libinfinirt.so.1")
    assert run(v0_program, INFINIRT_CPU_DEVICES="2", LD_PRELOAD=preloaded) == "v0 program ok\n"


@pytest.mark.parametrize(
    "flags", [["-xc", "-std=c99"], ["-xc", "-std=c11"], ["-xc++", "-std=c++11"]], ids=" ".join
)
def test_headers_stand_alone(flags: list[str]) -> None:
    include = v0_root() / "include"
    for header in sorted(include.glob("*.h")):
        output_of(compiler(), *STRICT[1:], "-pedantic", "-fsyntax-only", f"-I{include}", *flags, header)


def test_ctypes_program_loads_the_library_by_name() -> None:
    assert run(sys.executable, HERE / "loaded.py", "v0:local:libinfinirt.so") == "works\n"


def test_ctypes_program_loads_the_library_from_infini_root() -> None:
    library = os.path.join(v0_root(), "lib", "libinfinirt.so")
    assert run(sys.executable, HERE / "loaded.py", f"v0:global:{library}", LD_LIBRARY_PATH="") == "works\n"
