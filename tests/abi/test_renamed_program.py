"""A host program in the renamed API is, renamed back, a CUDA program: it compiles against NVIDIA's headers and runs on their
library with the same output."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from installed import directory, program

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "examples" / "c" / "pipeline.c"


def build_and_run(source: Path, flags: list[str], tmp_path: Path) -> str:
    compiler = os.environ.get("CC") or program("cc", "gcc")
    assert compiler is not None
    executable = tmp_path / source.stem
    command = [
        compiler,
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        str(source),
        "-o",
        str(executable),
        *flags,
    ]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([executable], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ours(tmp_path: Path) -> str:
    library = directory("--lib-dir")
    return build_and_run(
        PROGRAM,
        [f"-I{directory('--include-dir')}", f"-L{library}", f"-Wl,-rpath,{library}", "-linfinirt"],
        tmp_path,
    )


def renamed(tmp_path: Path) -> Path:
    text = (
        PROGRAM.read_text()
        .replace("#include <infinirt.h>", "#include <cuda_runtime_api.h>")
        .replace("infinirt", "cuda")
    )
    path = tmp_path / "renamed.c"
    path.write_text(text)
    return path


def test_on_our_library(tmp_path: Path) -> None:
    assert ours(tmp_path).splitlines()[-1] == "ok"


@pytest.mark.peer("nvidia-cuda-runtime-cu12", "nvidia-cuda-nvcc-cu12")
def test_compiles_against_the_original_headers(tmp_path: Path) -> None:
    include = [
        f"-I{Path(entry) / 'nvidia' / package / 'include'}"
        for entry in sys.path
        for package in ("cuda_runtime", "cuda_nvcc")
        if (Path(entry) / "nvidia" / package / "include").is_dir()
    ]
    compiler = os.environ.get("CC") or program("cc", "gcc")
    done = subprocess.run(
        [
            str(compiler),
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsyntax-only",
            *include,
            str(renamed(tmp_path)),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.gpu
def test_gives_the_same_on_the_original_library(tmp_path: Path) -> None:
    compiler = shutil.which("nvcc")
    assert compiler is not None, "nvcc tells where CUDA is"
    root = Path(compiler).resolve().parents[1]
    flags = [f"-I{root / 'include'}", f"-L{root / 'lib64'}", f"-Wl,-rpath,{root / 'lib64'}", "-lcudart"]
    theirs = build_and_run(renamed(tmp_path), flags, tmp_path)
    names = ours(tmp_path).replace("infinirt", "cuda")
    assert theirs == names
