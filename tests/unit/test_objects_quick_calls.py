"""Calls of the object API that hold the interpreter's lock: none of them waits for a Python function."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, threading
import infinirt

@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def nothing(block, arguments):
    return 0

kernel = infinirt.Kernel.from_address(ctypes.cast(nothing, ctypes.c_void_p).value, ["pointer"])
config = infinirt.LaunchConfig(grid=1)
device = infinirt.Device("cpu")
gate, started = threading.Event(), threading.Event()
stream = device.create_stream()
source, target = (device.allocate(1 << 20, stream=stream) for _ in range(2))
stream.launch_host_func(lambda: (started.set(), gate.wait(LONGEST)))
started.wait()
for used in (stream, device.default_stream):
    source.fill(1, stream=used)
    target.copy_from(source, stream=used)
    source[:4096].copy_to(target[4096:8192], stream=used)
    infinirt.launch(used, config, kernel, target)
    used.record()
    used.query()
gate.set()
device.sync()
print("passed")
"""


@pytest.mark.parametrize("blocking", ["0", "1"])
def test_they_never_wait_for_a_python_function(blocking: str) -> None:
    """One that waited, holding the lock, would wait for ever; hence in a process of its own."""
    longest = "0.2" if blocking == "1" else "30"  # with blocking launches every call waits for its work
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("LONGEST", longest)],
        env={**os.environ, "INFINIRT_LAUNCH_BLOCKING": blocking, "INFINIRT_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "passed\n", done.stdout + done.stderr
