"""Replace `infinirt` by `cuda` and our header is NVIDIA's: judged by the compiler, against NVIDIA's own 12.9 headers."""

from __future__ import annotations

import os
import re
from pathlib import Path

import cuda_compatibility
import pytest
from api_spec import ENUMS, FUNCTIONS, HEADER, STRUCTS
from c_text import bodies, compiles, preprocessed, prototypes

WHEELS = ("nvidia-cuda-runtime-cu12", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-profiler-api-cu12")
# A directory given by hand stands in for the wheels.
pytestmark = pytest.mark.peer(*(() if os.environ.get("INFINIRT_CUDA12_INCLUDE") else WHEELS))

INCLUDE_CUDA = "#include <cuda_runtime_api.h>\n#include <cuda_profiler_api.h>\n"


def check(header: str, folder: Path, cuda_includes: list[Path]) -> tuple[int, str]:
    """Compile the comparison of NVIDIA's headers with a header of this text."""
    (folder / "infinirt.h").write_text(header, encoding="utf-8")
    source = folder / "compare.c"
    source.write_text(cuda_compatibility.source(header), encoding="utf-8")
    done = compiles(source, "-std=gnu11", includes=[folder, *cuda_includes])
    return done.returncode, done.stderr


def test_functions_values_and_layouts_agree(tmp_path: Path, cuda_includes: list[Path]) -> None:
    header = HEADER.read_text(encoding="utf-8")
    assert set(cuda_compatibility.declared_functions(header)) == {f.name for f in FUNCTIONS}
    status, messages = check(header, tmp_path, cuda_includes)
    assert status == 0, messages


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        (
            "infinirtStreamQuery(infinirtStream_t stream);",
            "infinirtStreamQuery(int stream);",
            "infinirtStreamQuery",
        ),
        ("const char* infinirtGetErrorName", "char* infinirtGetErrorName", "infinirtGetErrorName"),
        ("infinirtMemcpyDeviceToHost = 2", "infinirtMemcpyDeviceToHost = 7", "infinirtMemcpyDeviceToHost"),
        ("infinirtEventDisableTiming 0x02", "infinirtEventDisableTiming 0x04", "infinirtEventDisableTiming"),
        (
            "  void* devicePointer;\n  void* hostPointer;\n",
            "  void* hostPointer;\n  void* devicePointer;\n",
            "infinirtPointerAttributes.devicePointer",
        ),
        ("  float hitRatio;\n", "  int hitRatio;\n", "infinirtAccessPolicyWindow.hitRatio"),
        ("  int reserved[63];\n", "  int reserved[62];\n", "infinirtDeviceProp.reserved"),
    ],
)
def test_a_planted_difference_is_found_and_named(
    tmp_path: Path, cuda_includes: list[Path], before: str, after: str, named: str
) -> None:
    header = HEADER.read_text(encoding="utf-8")
    # Alignment of the defines is none of our business here.
    header = re.sub(r"(#define \w+) +", r"\1 ", header)
    assert header.count(before) == 1
    status, messages = check(header.replace(before, after), tmp_path, cuda_includes)
    assert status != 0
    failed = set(re.findall(r'static assertion failed: "([^"]+)"', messages))
    assert named in failed, messages[:2000]
    assert all(name.split(".")[0] == named.split(".")[0] for name in failed), failed


@pytest.fixture(scope="module")
def cuda_text(cuda_includes: list[Path]) -> str:
    return preprocessed(INCLUDE_CUDA, "c++", cuda_includes)


@pytest.fixture(scope="module")
def our_text(cuda_includes: list[Path]) -> str:
    """Our header as C++, renamed. CUDA's vector types come first, so that dim3 is CUDA's."""
    text = preprocessed(
        "#include <vector_types.h>\n" + '#include "infinirt.h"\n', "c++", [HEADER.parent, *cuda_includes]
    )
    return text.replace("infinirt", "cuda")


def test_parameters_agree_to_the_letter(cuda_text: str, our_text: str) -> None:
    """Names, enum types and C++ default arguments, which compatible pointer types say nothing about."""
    theirs, ours = prototypes(cuda_text, "cuda"), prototypes(our_text, "cuda")
    # 12.9 declares these under the name that its macro gives the plain one.
    for plain in ("cudaGetDeviceProperties", "cudaStreamGetCaptureInfo"):
        theirs[plain] = theirs[plain + "_v2"]
    differing = {
        name: (theirs.get(name), ours[name])
        for name in ours
        if _spelling(theirs.get(name)) != _spelling(ours[name])
    }
    assert len(ours) == len(FUNCTIONS)
    assert differing == {}


def _spelling(parameters: str | None) -> str | None:
    """A null default argument may be written in several ways."""
    return None if parameters is None else re.sub(r"=(__null|NULL)\b", "=0", parameters)


def test_no_enumerator_is_missing(cuda_text: str) -> None:
    theirs = bodies(cuda_text, "enum", "cuda")
    missing = {}
    for enum in ENUMS:
        names = set(re.findall(r"(?:^|,)(\w+)", theirs[enum.tag.replace("infinirt", "cuda")]))
        if lacking := names - {entry.name.replace("infinirt", "cuda", 1) for entry in enum.enumerators}:
            missing[enum.tag] = lacking
    assert missing == {}


def test_struct_bodies_agree_to_the_letter(cuda_text: str, our_text: str) -> None:
    """No member is missing, not even of a union, where layouts cannot tell."""
    differing = {}
    for struct in STRUCTS:
        tag = struct.tag.replace("infinirt", "cuda")
        their_tag = "CUuuid_st" if tag == "cudaUUID_st" else tag
        theirs = bodies(cuda_text, struct.kind, "(?:cuda|CU)")[their_tag]
        theirs = theirs.replace("8-sizeof(cudaLaunchAttributeID)", "4")
        ours = bodies(our_text, struct.kind, "cuda")[tag]
        if theirs != ours:
            differing[tag] = (theirs, ours)
    assert differing == {}


@pytest.mark.parametrize("suffix", [".c", ".cpp"])
def test_both_headers_in_one_file(tmp_path: Path, cuda_includes: list[Path], suffix: str) -> None:
    source = tmp_path / f"both{suffix}"
    source.write_text(INCLUDE_CUDA + '#include "infinirt.h"\n', encoding="utf-8")
    done = compiles(source, "-Wall", "-Werror", includes=[HEADER.parent, *cuda_includes])
    assert done.returncode == 0, done.stderr


def test_per_thread_forms_are_those_of_cuda(cuda_includes: list[Path]) -> None:
    """Exactly the functions that NVIDIA redirects, to names with the same ending."""
    text = "#define CUDA_API_PER_THREAD_DEFAULT_STREAM\n" + INCLUDE_CUDA
    declared = set(prototypes(preprocessed(text, "c", cuda_includes), "cuda"))
    # The header redirects the plain name to a form of the symbol that 12.9 exports for it.
    declared.add("cudaStreamGetCaptureInfo_ptsz" if "cudaStreamGetCaptureInfo_v2_ptsz" in declared else "")
    for function in FUNCTIONS:
        forms = {ending for ending in ("_ptsz", "_ptds") if function.cuda_name + ending in declared}
        assert forms == ({function.per_thread_suffix} - {""}), function.name
