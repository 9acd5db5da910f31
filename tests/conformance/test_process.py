"""Processes: leaving at any moment is clean, and a forked child can go on working."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXIT_MAIN = Path(__file__).with_name("exit_main.py")
FORK_MAIN = Path(__file__).with_name("fork_main.py")


def leave(seed: int) -> None:
    done = subprocess.run(
        [sys.executable, str(EXIT_MAIN), str(seed)],
        env={**os.environ, "INFINIRT_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, ""), f"seed {seed}: {done.returncode} {done.stderr[-4000:]}"


@pytest.mark.parametrize("seed", range(20))
def test_a_process_that_leaves_in_the_middle_ends_cleanly(seed: int) -> None:
    leave(seed)


@pytest.mark.soak
def test_two_hundred_exits() -> None:
    for seed in range(1000, 1200):
        leave(seed)


def test_a_forked_child_works() -> None:
    for schedule in ("async", "random:7", "inline"):
        done = subprocess.run(
            [sys.executable, str(FORK_MAIN)],
            env={**os.environ, "INFINIRT_DEVICE": "cpu", "INFINIRT_CPU_SCHEDULE": schedule},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, f"{schedule}: {done.stdout}\n{done.stderr[-4000:]}"
        assert done.stdout.split() == ["child", "ok", "parent", "ok"], done.stdout
