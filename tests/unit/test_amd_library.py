"""AMD's real HIP runtime on a machine without an AMD GPU, and the header that its numbers come from.

`make test-full` unpacks Debian's packages with tools/fetch_hip.sh; where they cannot be had the tests skip and say so.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from test_vendors import report

from installed import program

pytestmark = pytest.mark.full

# As tests/vendors/cuda_like.c has them.
FACTS = """
#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>
#define SAME(function, ...) \\
  _Static_assert(__builtin_types_compatible_p(__typeof__(&function), hipError_t (*)(__VA_ARGS__)), #function)
SAME(hipGetDeviceCount, int*);
SAME(hipSetDevice, int);
SAME(hipDeviceSynchronize, void);
SAME(hipGetLastError, void);
SAME(hipMalloc, void**, size_t);
SAME(hipFree, void*);
SAME(hipMemcpyAsync, void*, const void*, size_t, hipMemcpyKind, hipStream_t);
SAME(hipMemcpyPeerAsync, void*, int, const void*, int, size_t, hipStream_t);
SAME(hipMemsetAsync, void*, int, size_t, hipStream_t);
SAME(hipStreamCreate, hipStream_t*);
SAME(hipStreamCreateWithFlags, hipStream_t*, unsigned int);
SAME(hipStreamSynchronize, hipStream_t);
SAME(hipMemGetInfo, size_t*, size_t*);
SAME(hipHostMalloc, void**, size_t, unsigned int);
SAME(hipHostFree, void*);
SAME(hipGetDeviceProperties, hipDeviceProp_t*, int);
SAME(hipRuntimeGetVersion, int*);
_Static_assert(__builtin_types_compatible_p(__typeof__(&hipGetErrorString), const char* (*)(hipError_t)), "text");
_Static_assert(hipMemcpyHostToDevice == 1 && hipMemcpyDeviceToHost == 2 && hipMemcpyDeviceToDevice == 3, "kinds");
_Static_assert(hipErrorInvalidValue == 1 && hipErrorOutOfMemory == 2 && hipErrorNotInitialized == 3, "errors");
_Static_assert(hipErrorNoDevice == 100 && hipErrorIllegalAddress == 700 && hipErrorLaunchFailure == 719, "errors");
_Static_assert(hipStreamNonBlocking == 1, "flag");
_Static_assert(__builtin_offsetof(hipDeviceProp_t, name) == 0 && sizeof(((hipDeviceProp_t*)0)->name) == 256, "name");
_Static_assert(sizeof(hipDeviceProp_t) <= 16384 && sizeof(hipError_t) == sizeof(int), "room");
"""


@pytest.fixture
def unpacked(pytestconfig: pytest.Config) -> Path:
    folder = pytestconfig.rootpath / "build" / "peers" / "hip" / "usr"
    if not folder.is_dir():
        pytest.skip(
            "AMD's HIP runtime is not here: tools/fetch_hip.sh build/peers/hip fetches it, or says why not"
        )
    return folder


def test_the_real_library_resolves_and_finds_no_device(unpacked: Path) -> None:
    (library,) = unpacked.glob("lib/*/libamdhip64.so.5")
    environment = {"INFINIRT_AMD_LIBRARY": str(library), "LD_LIBRARY_PATH": str(library.parent)}
    count, origin, problem, use = report("amd", **environment)
    if count != "0":
        pytest.skip("there is an AMD GPU here")
    assert origin.startswith(str(library.resolve()))
    assert "without" not in origin  # which would name what it lacks
    assert "it finds no device (error 100: hipErrorNoDevice)" in problem
    assert problem in use


def test_the_numbers_are_those_of_the_header(unpacked: Path, tmp_path: Path) -> None:
    compiler = program("cc", "gcc", "clang")
    assert compiler is not None
    source = tmp_path / "facts.c"
    source.write_text(FACTS)
    done = subprocess.run(
        [compiler, "-std=gnu11", "-w", "-fsyntax-only", f"-I{unpacked / 'include'}", str(source)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
