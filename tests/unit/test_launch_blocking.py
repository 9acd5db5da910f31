"""INFINIRT_LAUNCH_BLOCKING=1: a failure is reported by the call that caused it, also when a graph launched it."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import ctypes, infinirt

@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def broken(block, arguments):
    return 719

kernel = infinirt.Kernel.from_address(ctypes.cast(broken, ctypes.c_void_p).value, [], name="broken")
stream = infinirt.Device("cpu").create_stream()
config = infinirt.LaunchConfig(grid=1, block=1)
graph = None
if GRAPH:
    with infinirt.capture(stream) as recording:
        infinirt.launch(stream, config, kernel)
    graph = recording.graph.instantiate()
try:
    graph.launch(stream) if graph else infinirt.launch(stream, config, kernel)
    print("launched")
    stream.sync()
    print("synchronised")
except infinirt.InfiniRTError as error:
    print("failed", int(error.code))
"""


def run(blocking: str, graph: bool) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("GRAPH", str(graph))],
        env={**os.environ, "INFINIRT_LAUNCH_BLOCKING": blocking, "INFINIRT_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_a_failure_surfaces_at_the_launch() -> None:
    assert run("1", graph=False) == ["failed 719"]
    assert run("1", graph=True) == ["failed 719"]


def test_without_it_a_failure_surfaces_later() -> None:
    assert run("0", graph=False) == ["launched", "failed 719"]
    assert run("0", graph=True) == ["launched", "failed 719"]


AFTER_A_FUNCTION = """
import time, infinirt
stream = infinirt.Device("cpu").create_stream()
seen = []
buffer = infinirt.Device("cpu").allocate(1 << 20, stream=stream)
stream.launch_host_func(lambda: (time.sleep(0.05), seen.append("ran")))
buffer.fill(1, stream=stream)
print(seen)
"""


def test_a_blocking_call_lets_python_functions_before_it_run() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AFTER_A_FUNCTION],
        env={**os.environ, "INFINIRT_LAUNCH_BLOCKING": "1", "INFINIRT_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "['ran']\n", done.stderr
