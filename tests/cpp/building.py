"""Builds the C++ tests, variant after variant, beside the tests in Python: `python building.py ROOT VARIANT...`.

What became of a variant stands in ROOT/VARIANT.outcome: an empty file is success.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent


def outcome_file(root: Path, variant: str) -> Path:
    return root / f"{variant}.outcome"


def build(root: Path, variant: str) -> str:
    """What failed, or nothing."""
    from installed import directory, program

    cmake = program("cmake")
    if cmake is None:
        return "cmake is not installed: the C++ tests need it (pip install cmake ninja)"
    folder = root / variant
    configure = [
        cmake,
        f"-S{ROOT}",
        f"-B{folder}",
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",  # compiles in two thirds of the time; the package has -O2
        "-DINFINIRT_BUILD_TESTS=ON",
        "-DINFINIRT_BUILD_PYTHON=OFF",
        "-DINFINIRT_WERROR=ON",
        f"-DINFINIRT_SANITIZE={'' if variant == 'release' else variant}",
        f"-DPython_EXECUTABLE={sys.executable}",
        # What was installed has been built with all its operators; they are the larger part.
        f"-DINFINIRT_OPERATORS_FROM={directory('--lib-dir').parent if variant == 'release' else ''}",
    ]
    ninja = program("ninja")
    if not (folder / "CMakeCache.txt").exists() and ninja is not None:
        configure += ["-GNinja", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
    compile_all = [
        cmake, "--build", str(folder), "--parallel", os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", "2"),
    ]  # fmt: skip
    for command in (configure, compile_all):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            return f"{' '.join(command)}\n{done.stdout[-20000:]}"
    return ""


class Background:
    """One process that builds; tests wait for the variant that they need."""

    def __init__(self, root: Path, variants: list[str]) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        for variant in variants:
            outcome_file(root, variant).unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(root), *variants], stdin=subprocess.DEVNULL, start_new_session=True
        )

    def wait(self, variant: str) -> str:
        file = outcome_file(self.root, variant)
        while not file.exists() and self.process.poll() is None:
            time.sleep(0.1)
        return file.read_text() if file.exists() else f"the build of {variant} ended without a word"

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, 15)
            self.process.wait()


background = pytest.StashKey[Background]()


def main() -> None:
    sys.path.insert(0, str(TESTS))
    root = Path(sys.argv[1])
    for variant in sys.argv[2:]:
        said = build(root, variant)
        file = outcome_file(root, variant)
        file.with_suffix(".new").write_text(said)
        file.with_suffix(".new").rename(file)


if __name__ == "__main__":
    main()
