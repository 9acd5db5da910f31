"""Builds the C++ tests, variant after variant, beside the tests in Python: `python building.py ROOT TREE OUTCOMES VARIANT...`.

TREE is the folder in which the package was built, if that is known: the release takes its objects.

What became of a variant stands in OUTCOMES/VARIANT.outcome: an empty file is success. Several runs of the tests may share ROOT and TREE: one builds, the
others wait for it and find that nothing is left to do.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent


def outcome_file(outcomes: Path, variant: str) -> Path:
    return outcomes / f"{variant}.outcome"


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """While no other process builds there. The system lets go of the lock if this one is killed."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "tests.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def folder_of(root: Path, tree: str, variant: str) -> Path:
    return Path(tree) if tree and variant == "release" else root / variant


def build(root: Path, tree: str, variant: str) -> str:
    """What failed, or nothing."""
    from installed import directory, program

    cmake = program("cmake")
    if cmake is None:
        return "cmake is not installed: the C++ tests need it (pip install cmake ninja)"
    folder = folder_of(root, tree, variant)
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
        cmake, "--build", str(folder), "--target", "cpp_tests", "--parallel", os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", "2"),
    ]  # fmt: skip
    with alone_in(folder):
        for command in (compile_all,) if folder == Path(tree) else (configure, compile_all):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                return f"{' '.join(command)}\n{done.stdout[-20000:]}"
    return ""


class Background:
    """One process that builds; tests wait for the variant that they need."""

    def __init__(self, root: Path, tree: str, variants: list[str]) -> None:
        self.root = root
        self.tree = tree
        self.outcomes = Path(tempfile.mkdtemp(prefix="infinirt-cpp-"))
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(root), tree, str(self.outcomes), *variants],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def wait(self, variant: str) -> str:
        file = outcome_file(self.outcomes, variant)
        while not file.exists() and self.process.poll() is None:
            time.sleep(0.1)
        return file.read_text() if file.exists() else f"the build of {variant} ended without a word"

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, 15)
            self.process.wait()
        shutil.rmtree(self.outcomes, ignore_errors=True)


background = pytest.StashKey[Background]()


def main() -> None:
    sys.path.insert(0, str(TESTS))
    root, tree, outcomes = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    for variant in sys.argv[4:]:
        said = build(root, tree, variant)
        file = outcome_file(outcomes, variant)
        file.with_suffix(".new").write_text(said)
        file.with_suffix(".new").rename(file)


if __name__ == "__main__":
    main()
