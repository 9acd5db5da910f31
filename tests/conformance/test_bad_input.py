"""Wrong arguments to every function: an error with a message, never a crash, and the device works afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from installed import directory

MAIN = Path(__file__).with_name("bad_input_main.py")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "memory",
    [
        "",
        pytest.param("isolated", marks=pytest.mark.full),
        pytest.param("guarded", marks=pytest.mark.full),
    ],
)
def test_every_function_survives_wrong_arguments(seed: int, memory: str) -> None:
    library = directory("--lib-dir") / "libinfinirt.so.1"
    done = subprocess.run(
        [sys.executable, str(MAIN), str(library), "40", str(seed)],
        env={
            **os.environ,
            "INFINIRT_DEVICE": "cpu",
            "INFINIRT_CPU_DEVICES": "2",
            "INFINIRT_CPU_MEMORY": memory,
        },
        capture_output=True,
        text=True,
        timeout=200,
    )
    last = done.stderr.strip().split("\n")[-12:]
    assert done.returncode == 0, f"exit status {done.returncode} after {last}"
    assert " calls, " in done.stdout
