"""Programs for InfiniCore's operator library run on this one, in C and in ctypes, beside the earlier generation of the runtime."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from v0_build import STRICT, build, readelf, run, v0_flags, v0_root


@pytest.mark.parametrize("schedule", ["async", "random:7"])
def test_c_program(tmp_path: Path, schedule: str) -> None:
    built = build("operators.c", tmp_path / "operators", *STRICT, *v0_flags(), "-linfiniop")
    output = run(built, INFINIRT_CPU_DEVICES="2", INFINIRT_CPU_SCHEDULE=schedule, INFINIRT_DEVICE="cpu")
    assert output == "v0 operators ok\n"


@pytest.mark.peer("readelf")
def test_programs_ask_for_it_by_the_originals_name(tmp_path: Path) -> None:
    built = build("operators.c", tmp_path / "operators", *v0_flags(), "-linfiniop")
    assert "[libinfiniop.so]" in readelf(built)


def test_both_generations_in_one_process() -> None:
    """Each library knows its own handles, and each is complete when it says so."""
    code = f"""
import ctypes
import infinicore
x = infinicore.ones([4], device="cpu")
lib = ctypes.CDLL({str(v0_root() / "lib" / "libinfiniop.so")!r})
handle = ctypes.c_void_p()
assert lib.infiniopCreateHandle(ctypes.byref(handle)) == 0
other = ctypes.c_void_p(x._place.operator_handle)
assert lib.infiniopDestroyHandle(other) == 3  # not one of its own
assert lib.infiniopDestroyHandle(handle) == 0
assert (x + x).tolist() == [2.0] * 4
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
