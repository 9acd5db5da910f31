"""Compiling CUDA C++ without a GPU, and the cache on disk."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

import infinirt

pytestmark = pytest.mark.peer("nvidia-cuda-nvrtc")

SCALE = """
template <class T> __global__ void scale(T* x, T factor) { x[threadIdx.x] *= factor; }
namespace space { __global__ void plain(int* x) { *x = 1; } }
extern "C" __global__ void by_name(float* x, float a, long long n) { if (threadIdx.x < n) x[threadIdx.x] += a; }
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("INFINIRT_CACHE_DIR", str(folder))
    monkeypatch.delenv("INFINIRT_CACHE_DISABLE", raising=False)
    return folder


def compiled(
    source: str = SCALE, target: str = "cubin", names: tuple[str, ...] = (), **options: object
) -> infinirt.ObjectCode:
    options.setdefault("arch", "sm_90")
    return infinirt.Program(source, "c++", infinirt.ProgramOptions(**options)).compile(target, names)  # type: ignore[arg-type]


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "90"])
def test_machine_code(arch: str) -> None:
    code = compiled(arch=arch)
    assert code.code_type == "cubin"
    assert code.code.startswith(b"\x7fELF")
    assert b"by_name" in code.code
    assert code.compiler.startswith("NVRTC 1")
    assert "bytes of cubin" in repr(code)


@pytest.mark.parametrize("arch", ["sm_80", "compute_90"])
def test_ptx(arch: str) -> None:
    code = compiled(target="ptx", arch=arch).code
    assert code.lstrip().startswith(b"//")
    assert b".entry by_name(" in code
    assert f".target sm_{arch[-2:]}".encode() in code
    assert not code.endswith(b"\0")


def test_name_expressions() -> None:
    names = ("scale<float>", "scale<double>", "space::plain")
    code = compiled(names=names)
    mapping = code.symbol_mapping
    assert set(mapping) == set(names)
    assert mapping["space::plain"] == "_ZN5space5plainEPi"
    assert all(symbol.encode() in code.code for symbol in mapping.values())
    with pytest.raises(infinirt.CompileError, match="scale<no_such_type>"):
        compiled(names=("scale<no_such_type>",))


def test_a_wrong_program_is_explained() -> None:
    with pytest.raises(infinirt.CompileError) as caught:
        compiled("__global__ void f() { undeclared = 3; }\n", name="mine.cu")
    error = caught.value
    assert error.name == "infinirtErrorInvalidSource"
    assert 'mine.cu(1): error: identifier "undeclared" is undefined' in str(error)
    assert "1 error detected" in error.log
    many = "__global__ void f() {\n" + "\n".join(f"b{i} = 1;" for i in range(90)) + "\n}"
    with pytest.raises(infinirt.CompileError) as caught:
        compiled(many)
    assert len(str(caught.value)) < 1100
    assert "b0" in str(caught.value)
    assert "b60" in caught.value.log


def test_warnings_go_to_logs_from_the_cache_too() -> None:
    source = "__global__ void f() { int unused_here = 1; }"
    program = infinirt.Program(source, options=infinirt.ProgramOptions(arch="sm_90"))
    first, second = io.StringIO(), io.StringIO()
    assert not program.compile(logs=first).is_cached
    assert program.compile(logs=second).is_cached
    assert "unused_here" in first.getvalue() == second.getvalue()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"extra": ["--no-such-option"]}, "no-such-option"),
        ({"arch": "sm_1"}, "it knows sm_"),
        ({"arch": "compute_90"}, "a virtual one"),
    ],
)
def test_wrong_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(infinirt.InvalidValueError, match=message):
        compiled(**options)


def test_what_is_no_program() -> None:
    with pytest.raises(ValueError, match="code_type 'fortran'"):
        infinirt.Program("", "fortran")
    with pytest.raises(ValueError, match="target_type 'exe'"):
        infinirt.Program("").compile("exe")
    with pytest.raises(ValueError, match="code_type 'exe'"):
        infinirt.ObjectCode(b"", "exe")


def test_options_reach_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "on_disk.h").write_text("#define ON_DISK 1\n")
    source = """
    #include "on_disk.h"
    #include "given.h"
    static_assert(ON_DISK && GIVEN && N == 4 && DEFINED && PRE && __cplusplus >= 202002L);
    #ifdef __CUDACC_DEBUG__
    #error debug
    #endif
    """
    (tmp_path / "pre.h").write_text("#define PRE 1\n")
    compiled(
        source,
        std="c++20",
        include_path=tmp_path,
        define_macro=["DEFINED", ("N", "4")],
        headers={"given.h": "#define GIVEN 1"},
        pre_include=[tmp_path / "pre.h"],
        lineinfo=True,
        max_register_count=32,
        use_fast_math=True,
        fma=False,
    )
    options = infinirt.ProgramOptions(fma=False, ftz=True, debug=True, max_register_count=7)
    assert {"--fmad=false", "--ftz=true", "--device-debug", "--maxrregcount=7"} <= set(options.as_strings())


@pytest.mark.peer("nvidia-cuda-nvrtc-cu12")
def test_the_other_version() -> None:
    """A process has one compiler; INFINIRT_NVRTC_LIBRARY chooses it."""
    package = next(p for p in sys.path if (Path(p) / "nvidia/cuda_nvrtc/lib/libnvrtc.so.12").exists())
    said = run(
        """
        import infinirt
        code = infinirt.Program("__global__ void f() {}", options=infinirt.ProgramOptions(arch="sm_80")).compile()
        print(code.compiler, code.code[:4])
        """,
        INFINIRT_NVRTC_LIBRARY=f"{package}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
    )
    assert "NVRTC 12" in said
    assert "ELF" in said


def test_without_a_compiler() -> None:
    said = run(
        """
        import infinirt
        try:
            infinirt.Program("").compile()
        except infinirt.NotSupportedError as error:
            print(error)
        """,
        INFINIRT_NVRTC_LIBRARY="/nowhere/libnvrtc.so",
    )
    assert "/nowhere/libnvrtc.so" in said
    assert "pip install 'infinirt[cuda]'" in said


@pytest.mark.parametrize("name", ["Compile", "CompiledGetInfo", "CompiledGetLoweredName", "CompiledDestroy"])
def test_c_libraries_find_the_functions(name: str) -> None:
    error, address = infinirt.runtime.infinirtXGetProcAddress(f"infinirtX{name}")
    assert error == 0
    assert address


def test_compiling_touches_no_driver() -> None:
    said = run(
        """
        import sys, infinirt
        infinirt.Program("__global__ void f() {}", options=infinirt.ProgramOptions(arch="sm_80")).compile()
        loaded = open("/proc/self/maps").read()
        print("libnvrtc" in loaded, "libcudart" in loaded, "libcuda.so" in loaded, "torch" in sys.modules)
        """
    )
    assert said.split() == ["True", "False", "False", "False"]


# ---- the cache


def entries(cache: Path) -> list[Path]:
    return sorted(cache.iterdir()) if cache.exists() else []


def test_the_same_is_compiled_once(cache: Path) -> None:
    first = compiled(names=("scale<float>",))
    second = compiled(names=("scale<float>",))
    assert (first.is_cached, second.is_cached) == (False, True)
    assert (first.code, first.symbol_mapping) == (second.code, second.symbol_mapping)
    assert len(entries(cache)) == 1
    assert cache.stat().st_mode & 0o777 == 0o700


def test_whatever_differs_is_compiled_anew(cache: Path) -> None:
    variants: list[dict[str, object]] = [
        {},
        {"source": SCALE + " "},
        {"arch": "sm_80"},
        {"target": "ptx"},
        {"names": ("scale<float>",)},
        {"names": ("scale<int>",)},
        {"define_macro": "A"},
        {"define_macro": "B"},
        {"name": "other.cu"},
        {"headers": {"a.h": "1"}},
        {"headers": {"a.h": "2"}},
    ]
    for variant in variants:
        assert not compiled(**variant).is_cached, variant  # type: ignore[arg-type]
    assert len(entries(cache)) == len(variants)
    for variant in variants:
        assert compiled(**variant).is_cached, variant  # type: ignore[arg-type]


def test_included_files_count(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    (second / "outer.h").write_text('#pragma once\n#include "inner.h"\n')
    (second / "inner.h").write_text("#define N 1\n")
    source = "#include <outer.h>\n__global__ void f(int* x) { *x = N; }"

    def code() -> infinirt.ObjectCode:
        return compiled(source, target="ptx", include_path=[first, second])

    before = code()
    assert code().is_cached
    (second / "inner.h").write_text("#define N 2\n")
    after = code()
    assert not after.is_cached
    assert after.code != before.code
    # A file that stands before the one that was found.
    (first / "outer.h").write_text("#define N 3\n")
    assert not code().is_cached
    assert code().is_cached


@pytest.mark.parametrize(
    "source",
    ['#define NAME "a.h"\n#include NAME\n', "__device__ const char when[] = __TIME__;\n"],
    ids=["named by a macro", "time"],
)
def test_what_cannot_be_known_is_not_kept(source: str, cache: Path) -> None:
    for _ in range(2):
        assert not compiled(source, headers={"a.h": ""}).is_cached
    assert entries(cache) == []


def test_a_failure_is_not_kept(cache: Path) -> None:
    for _ in range(2):
        with pytest.raises(infinirt.CompileError):
            compiled("wrong")
    assert entries(cache) == []


def test_a_damaged_entry_is_compiled_again(cache: Path) -> None:
    whole = compiled().code
    (entry,) = entries(cache)
    good = entry.read_bytes()
    for bad in (good[:-100], b"", good[:500] + b"\xff" + good[501:], os.urandom(len(good))):
        entry.write_bytes(bad)
        again = compiled()
        assert not again.is_cached
        assert again.code == whole
        assert compiled().is_cached


def test_an_unusable_folder_means_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    for folder in (tmp_path / "file", tmp_path / "file" / "below", open_to_all, Path("/proc/nowhere")):
        monkeypatch.setenv("INFINIRT_CACHE_DIR", str(folder))
        for _ in range(2):
            assert not compiled().is_cached
    assert entries(open_to_all) == []
    if os.geteuid() != 0:  # root may write everywhere
        closed = tmp_path / "closed"
        closed.mkdir(0o500)
        monkeypatch.setenv("INFINIRT_CACHE_DIR", str(closed))
        assert not compiled().is_cached
        assert not compiled().is_cached


def test_switched_off(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINIRT_CACHE_DISABLE", "1")
    for _ in range(2):
        assert not compiled().is_cached
    assert entries(cache) == []


def test_two_processes_at_once(cache: Path) -> None:
    worker = f"""
    import infinirt, sys, time
    while time.time() < {time.time() + 1.0}: pass
    for n in range(12):
        options = infinirt.ProgramOptions(arch="sm_90", define_macro=("N", str(n)))
        source = "extern \\"C\\" __global__ void f(int* x) {{ *x = N; }}"
        code = infinirt.Program(source, options=options).compile("ptx").code
        assert f", {{n}};".encode() in code, code
    """
    said: list[str] = []
    threads = [threading.Thread(target=lambda: said.append(run(worker))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 2
    assert len(entries(cache)) == 12


def test_threads_at_once() -> None:
    results: list[bytes] = []

    def work() -> None:
        results.extend(compiled(define_macro=("N", str(n))).code for n in range(4))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 16


def test_the_log_says_what_was_found() -> None:
    code = """
    import infinirt
    infinirt.Program("__global__ void f() {}", options=infinirt.ProgramOptions(arch="sm_80")).compile()
    """
    assert "compile: compiled: " in run(code, INFINIRT_LOG="api")
    assert "compile: found in the cache: " in run(code, INFINIRT_LOG="api")
