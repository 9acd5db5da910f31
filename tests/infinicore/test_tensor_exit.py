"""A program may end with anything alive: tensors, graphs, recordings, work on its way, arrays that share memory."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import threading, time
import infinicore

x = infinicore.ones([1000])
called = []
with infinicore.record() as recorded:
    y = x * 2 + 1
    recorded.call(lambda stream: called.append(1))
for _ in range(100):
    recorded.graph.run()
    z = x + y
x._place.stream.launch_host_func(time.sleep, 0.02)
for _ in range(100):
    z = z + y
array, capsule = x.numpy(), y.__dlpack__()

def never_ends():
    w = infinicore.ones([100])
    w._place.start_recording()
    while True:
        w = w + w

threading.Thread(target=never_ends, daemon=True).start()
x._place.start_recording()
unfinished = x + x
time.sleep(0.01)
"""


def test_a_program_ends_quietly() -> None:
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


THREADS = """
import threading, time
import infinicore, infinirt
from infinirt import runtime as rt

def never_ends():
    device = infinirt.Device("cpu")
    device.set_current()
    stream = device.create_stream()
    buffer = device.allocate(1 << 16, stream=stream)
    w = infinicore.ones([100])
    while True:
        w = w + w
        infinicore.sync_stream()
        buffer.fill(b"abcd", stream=stream)
        stream.sync()
        w.numpy()
        rt.infinirtFree(rt.infinirtMalloc(64)[1])

for _ in range(12):
    threading.Thread(target=never_ends, daemon=True).start()
time.sleep(0.03)
"""


def test_threads_that_never_end_are_left_where_they_wait() -> None:
    """An interpreter that ends unwinds those that want its lock: what they hold is not to be dropped without it."""
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
