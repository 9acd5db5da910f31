"""Runs flat_program.py's checks, each as a test. `INFINIRT_FLAT_MODULE=cuda` runs them on `cuda.bindings.runtime`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import flat_program  # noqa: E402
from flat_api import CHOICE  # noqa: E402


@pytest.mark.parametrize("name", sorted(flat_program.CHECKS))
def test_flat_program(name: str) -> None:
    flat_program.CHECKS[name]()


def run_program(**environment: str) -> str:
    command = [sys.executable, str(HERE / "flat_program.py")]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def test_as_a_program_with_enough_functions() -> None:
    assert " functions" in run_program()


@pytest.mark.skipif(CHOICE != "infinirt", reason="modes of the CPU device")
@pytest.mark.parametrize(
    "mode",
    [
        {"INFINIRT_CPU_SCHEDULE": "random:7", "INFINIRT_FLAT_SKIP": "work_that_is_not_finished"},
        {"INFINIRT_CPU_SCHEDULE": "inline", "INFINIRT_FLAT_SKIP": "work_that_is_not_finished"},
        {"INFINIRT_CPU_MEMORY": "isolated"},
        {"INFINIRT_PYTHON_PER_THREAD_DEFAULT_STREAM": "1"},
        {"INFINIRT_LAUNCH_BLOCKING": "1", "INFINIRT_FLAT_SKIP": "work_that_is_not_finished"},
    ],
    ids=lambda mode: "=".join(next(iter(mode.items()))),
)
def test_in_other_modes(mode: dict[str, str]) -> None:
    run_program(**mode)


@pytest.mark.gpu
@pytest.mark.memcheck
def test_on_a_gpu() -> None:
    run_program(INFINIRT_DEVICE="nvidia", INFINIRT_FLAT_MODULE="infinirt")


@pytest.mark.gpu
@pytest.mark.peer("cuda-bindings")
def test_on_the_module_that_it_was_written_for() -> None:
    run_program(INFINIRT_FLAT_MODULE="cuda")
