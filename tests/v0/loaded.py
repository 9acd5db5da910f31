"""Loads libraries into this process in the given order and works with both generations through ctypes.

Arguments are WHAT:SCOPE:PATH, with WHAT of core, v0, neighbour and SCOPE of local, global. Prints "both work".
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import byref, c_float, c_int, c_size_t, c_void_p
from typing import Any

MODES = {"local": ctypes.RTLD_LOCAL, "global": ctypes.RTLD_GLOBAL}
SIZE = c_size_t(8 << 20)
D2H = 2


def work_with_core(core: Any) -> None:
    device, stream, event, memory = c_int(-1), c_void_p(), c_void_p(), c_void_p()
    status = c_int(-1)
    assert core.infinirtGetDevice(byref(device)) == 0
    assert device.value == 0
    assert core.infinirtGetDevice(None) == 1  # InvalidValue, which v0 calls INTERNAL_ERROR
    assert core.infinirtStreamCreate(byref(stream)) == 0
    assert core.infinirtMallocAsync(byref(memory), SIZE, stream) == 0
    assert core.infinirtMemsetAsync(memory, 7, SIZE, stream) == 0
    assert core.infinirtEventCreateWithFlags(byref(event), 2) == 0  # DisableTiming
    assert core.infinirtEventRecord(event, stream) == 0
    assert core.infinirtStreamWaitEvent(stream, event, 0) == 0
    assert core.infinirtEventSynchronize(event) == 0
    assert core.infinirtEventQuery(event, byref(status)) == 0
    assert status.value == -1  # v0 would have written the answer
    assert core.infinirtEventElapsedTime(byref(c_float()), event, event) == 400
    result = ctypes.create_string_buffer(SIZE.value)
    assert core.infinirtMemcpyAsync(result, memory, SIZE, D2H, stream) == 0
    assert core.infinirtStreamSynchronize(stream) == 0
    assert result.raw == b"\x07" * SIZE.value
    assert core.infinirtFreeAsync(memory, stream) == 0
    assert core.infinirtEventDestroy(event) == 0
    assert core.infinirtStreamDestroy(stream) == 0


def work_with_v0(v0: Any) -> None:
    device, number, stream, event, memory = c_int(-1), c_int(-1), c_void_p(), c_void_p(), c_void_p()
    status = c_int(-1)
    assert v0.infinirtInit() == 0
    assert v0.infinirtSetDevice(0, 0) == 0
    assert v0.infinirtGetDevice(byref(device), byref(number)) == 0
    assert (device.value, number.value) == (0, 0)
    assert v0.infinirtGetDevice(None, None) == 4  # NULL_POINTER
    assert v0.infinirtStreamCreate(byref(stream)) == 0
    assert v0.infinirtMallocAsync(byref(memory), SIZE, stream) == 0
    assert v0.infinirtMemsetAsync(memory, 9, SIZE, stream) == 0
    assert v0.infinirtEventCreateWithFlags(byref(event), 2) == 0  # BLOCKING_SYNC
    assert v0.infinirtEventRecord(event, stream) == 0
    assert v0.infinirtStreamWaitEvent(stream, event) == 0
    assert v0.infinirtEventQuery(event, byref(status)) == 0
    assert status.value == 0
    assert v0.infinirtEventElapsedTime(byref(c_float()), event, event) == 0
    result = ctypes.create_string_buffer(SIZE.value)
    assert v0.infinirtMemcpyAsync(result, memory, SIZE, D2H, stream) == 0
    assert result.raw == b"\x09" * SIZE.value
    assert v0.infinirtFreeAsync(memory, stream) == 0
    assert v0.infinirtEventDestroy(event) == 0
    assert v0.infinirtStreamDestroy(stream) == 0


def main() -> None:
    libraries: dict[str, Any] = {}
    for argument in sys.argv[1:]:
        what, scope, path = argument.split(":", 2)
        libraries[what] = ctypes.CDLL(path, mode=MODES[scope])
    for _ in range(2):
        for what, library in libraries.items():
            if what == "core":
                work_with_core(library)
            elif what == "v0":
                work_with_v0(library)
            else:
                assert library.infinirtMalloc() == 77
    print("both work" if {"core", "v0"} <= libraries.keys() else "works")


if __name__ == "__main__":
    main()
