"""Programs for PaddlePaddle with this project's plugin, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from installed import directory

# What a process that ends badly leaves behind, whatever its exit status says.
SIGNS_OF_A_CRASH = (
    "Segmentation fault",
    "FatalError",
    "terminate called",
    "C++ Traceback",
    "Aborted",
    "Exception ignored",
)

# PaddlePaddle imports tvm_ffi where that is installed, which imports PyTorch, whose classes have the names of some of
# PaddlePaddle's own: the two do not survive one another in a process.
BEGINNING = """
import json
import sys
sys.modules["tvm_ffi"] = None
import numpy as np
import paddle

def say(value):
    print("answer", json.dumps(value), flush=True)
"""


def environment(**more: str) -> dict[str, str]:
    """CPU devices in memory that the host cannot reach; default flags. Failing calls of the runtime say so."""
    plugin = str(directory("--paddle-plugin-dir"))
    ours = {"INFINIRT_DEVICE": "cpu", "INFINIRT_CPU_MEMORY": "isolated", "INFINIRT_LOG": "error"}
    flags = [name for name in os.environ if name.startswith("FLAGS_")]
    inherited = {name: value for name, value in os.environ.items() if name not in flags}
    return {**inherited, "CUSTOM_DEVICE_ROOT": plugin, **ours, **more}


def start(program: str, *arguments: str, first: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Runs the program; `first` stands before PaddlePaddle is imported, `more` are settings."""
    command = [sys.executable, "-c", first + BEGINNING + program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment(**more))


def answers(program: str, *arguments: str, first: str = "", **more: str) -> list[Any]:
    """What the program said, in order. It must have ended cleanly, and no call of the runtime may have failed."""
    done = start(program, *arguments, first=first, **more)
    everything = f"{done.stdout}\n{done.stderr}"
    assert done.returncode == 0, f"exit status {done.returncode}\n{everything[-8000:]}"
    assert not [sign for sign in SIGNS_OF_A_CRASH if sign in everything], everything[-8000:]
    assert "[infinirt " not in done.stderr, everything[-8000:]
    lines = [line.removeprefix("answer ") for line in done.stdout.splitlines() if line.startswith("answer ")]
    return [json.loads(line) for line in lines]
