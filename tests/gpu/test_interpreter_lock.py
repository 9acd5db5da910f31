"""Calls on a GPU that stands still until another Python thread has done something: they must not hold the interpreter's lock.

Each in a process of its own, which would wait for ever."""

from __future__ import annotations

from pathlib import Path

import pytest
from gpu_support import run_python

pytestmark = pytest.mark.gpu

# The stream waits for a word of page-locked memory, which a Python thread writes: as a collective waits for a rank that has yet to come.
STANDING_STILL = """
import ctypes, sys, threading
sys.path.insert(0, {folder!r})
from gpu_support import ok, rt
from infinirt.__main__ import installed_root
ok(rt.infinirtXSetDeviceType("nvidia"))
library = ctypes.CDLL(str(installed_root() / "lib" / "libinfinirt.so.1"))
driver = ctypes.CDLL("libcuda.so.1")
pointer, other, small = ok(rt.infinirtMalloc(4096)), ok(rt.infinirtMalloc(4096)), ok(rt.infinirtMalloc(4096))
stream = ok(rt.infinirtStreamCreateWithFlags(1))
word = ctypes.c_uint.from_address(ok(rt.infinirtHostAlloc(64, 2)))
device_word = ok(rt.infinirtHostGetDevicePointer(ctypes.addressof(word), 0))
word.value = 0

def stand_still():
    wait = driver.cuStreamWaitValue32_v2
    assert wait(ctypes.c_void_p(int(stream)), ctypes.c_ulonglong(device_word), ctypes.c_uint(1), ctypes.c_uint(0)) == 0

def go_on():
    word.value = 1
"""

FULL_QUEUE = """
library.infinirtXExpectWaits(1)
stand_still()
threading.Timer(0.3, go_on).start()
for _ in range(5000):
    ok(rt.infinirtMemsetAsync(pointer, 1, 4096, stream))
assert word.value == 1, "the queue was never full: this shows nothing"
ok(rt.infinirtStreamSynchronize(stream))
library.infinirtXExpectWaits(-1)
print("went on")
"""

ALLOCATING_BESIDE_A_FREE = """
stand_still()
freeing = threading.Thread(target=lambda: ok(rt.infinirtFree(other)))
freeing.start()
threading.Timer(0.3, go_on).start()
more = [ok(rt.infinirtMalloc(size)) for size in (4096, 1 << 20, 8 << 20)]
freeing.join()
ok(rt.infinirtStreamSynchronize(stream))
for each in more:
    ok(rt.infinirtFree(each))
print("went on")
"""

FREEING_ALONE = """
stand_still()
threading.Timer(0.3, go_on).start()
ok(rt.infinirtFree(small))
assert word.value == 1, "the free did not wait: this shows nothing"
print("went on")
"""


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(FULL_QUEUE, id="full-queue"),
        pytest.param(ALLOCATING_BESIDE_A_FREE, id="allocating-beside-a-free"),
        pytest.param(FREEING_ALONE, id="freeing"),
    ],
)
def test_others_run_while_the_gpu_stands_still(program: str) -> None:
    assert run_python(STANDING_STILL.format(folder=str(Path(__file__).parent)) + program) == "went on\n"
