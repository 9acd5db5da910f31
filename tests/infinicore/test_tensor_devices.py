"""Tensors on several devices of one process."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import threading

import infinicore
import infinirt

infinirt.Device("cpu:1").set_current()  # whichever device is current, tensors are computed where they are
first = infinicore.arange(1000, dtype=infinicore.float32, device="cpu:0")
second = first.to("cpu:1") * 2
assert (first.device.index, second.device.index) == (0, 1)
assert infinicore.ones([1]).device.index == 1
try:
    first + second
except ValueError as error:
    assert "other is on cpu:1, but other tensors of the call are on cpu:0" in str(error), error
else:
    raise AssertionError
for turn in range(50):  # there and back, with nothing to wait for the host
    second.copy_(first)
    second += 1.0
    first.copy_(second)
assert first[0].item() == 50.0
assert infinirt.current_device().ordinal == 1

with infinicore.record("cpu:0") as recorded:
    third = first + 1.0
    elsewhere = second + 1.0  # another device's work is not recorded
assert elsewhere[0].item() == 51.0
recorded.graph.run()
assert third[0].item() == 51.0

def work(device):
    infinirt.Device(device).set_current()
    x = infinicore.ones([100])
    for _ in range(200):
        x = x + 1.0
    results.append((x.device.index, x[0].item()))

results = []
threads = [threading.Thread(target=work, args=(f"cpu:{n % 2}",)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert sorted(results) == [(0, 201.0)] * 2 + [(1, 201.0)] * 2, results
"""


def test_two_devices() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "INFINIRT_CPU_DEVICES": "2", "INFINIRT_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
