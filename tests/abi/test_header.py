"""The committed header: complete, current, and clean in every language it promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from api_spec import FUNCTIONS, GENERATOR, HEADER
from c_text import compiles
from cuda_compatibility import declared_functions

PEDANTIC = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror")


@pytest.mark.parametrize("per_thread", [False, True], ids=["legacy", "per-thread"])
@pytest.mark.parametrize(("standard", "suffix"), [("c11", ".c"), ("c++17", ".cpp"), ("c++20", ".cpp")])
def test_header_compiles_pedantically(tmp_path: Path, standard: str, suffix: str, per_thread: bool) -> None:
    source = tmp_path / f"alone{suffix}"
    source.write_text('#include "infinirt.h"\n#include "infinirt.h"\n', encoding="utf-8")
    define = ["-DINFINIRT_API_PER_THREAD_DEFAULT_STREAM"] if per_thread else []
    done = compiles(source, f"-std={standard}", *PEDANTIC, *define, includes=[HEADER.parent])
    assert done.returncode == 0, done.stderr


def test_default_arguments_and_dim3_in_cpp(tmp_path: Path) -> None:
    source = tmp_path / "defaults.cpp"
    source.write_text(
        """
        #include "infinirt.h"
        static_assert(dim3(4).x == 4 && dim3(4).y == 1 && dim3(4).z == 1);
        infinirtError_t use(void* a, const void* b, infinirtEvent_t event) {
          void* managed = nullptr;
          infinirtMallocManaged(&managed, 8);
          infinirtEventRecord(event);
          return infinirtMemcpyAsync(a, b, 8, infinirtMemcpyDefault);
        }
        """,
        encoding="utf-8",
    )
    done = compiles(source, "-std=c++17", *PEDANTIC, includes=[HEADER.parent])
    assert done.returncode == 0, done.stderr


def test_per_thread_macro_redirects_calls(tmp_path: Path) -> None:
    """Taking the address of the plain name must give the per-thread function, so its type carries another name."""
    source = tmp_path / "redirect.c"
    source.write_text(
        '#define INFINIRT_API_PER_THREAD_DEFAULT_STREAM\n#include "infinirt.h"\n'
        "#define TEXT(x) #x\n#define NAME(x) TEXT(x)\n"
        '_Static_assert(sizeof(NAME(infinirtStreamQuery)) == sizeof("infinirtStreamQuery_ptsz"), "ptsz");\n'
        '_Static_assert(sizeof(NAME(infinirtMemcpy)) == sizeof("infinirtMemcpy_ptds"), "ptds");\n'
        '_Static_assert(sizeof(NAME(infinirtMalloc)) == sizeof("infinirtMalloc"), "neither");\n',
        encoding="utf-8",
    )
    done = compiles(source, "-std=c11", includes=[HEADER.parent])
    assert done.returncode == 0, done.stderr


def run_check(out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", str(GENERATOR), "--what", "header", "--check", "--out", str(out)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_committed_header_is_what_the_specification_says() -> None:
    done = run_check(HEADER)
    assert done.returncode == 0, done.stderr


def test_check_notices_a_changed_header(tmp_path: Path) -> None:
    copy = tmp_path / "infinirt.h"
    text = HEADER.read_text(encoding="utf-8")
    copy.write_text(
        text.replace("infinirtMemcpyDeviceToHost = 2", "infinirtMemcpyDeviceToHost = 3"), encoding="utf-8"
    )
    done = run_check(copy)
    assert done.returncode == 1
    assert str(copy) in done.stderr
    assert run_check(tmp_path / "absent.h").returncode == 1


def test_the_surface_is_large_enough() -> None:
    names = set(declared_functions(HEADER.read_text(encoding="utf-8")))
    assert names == {f.name for f in FUNCTIONS}
    assert len(names) >= 170
