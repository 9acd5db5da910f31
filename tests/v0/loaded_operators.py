"""Loads libraries into this process in the given order and computes with the operators of each generation through ctypes.

Arguments are WHAT:SCOPE:PATH, with WHAT of core, v0, core_op, v0_op, neighbour and SCOPE of local, global. Prints which operators
work. Those of the new generation need `core` among the libraries, and INFINIRT_CPU_MIN=1.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from ctypes import byref, c_void_p
from typing import Any

from loaded import MODES

COUNT = 100_000
F32 = 13
BAD_PARAM, TYPE_NOT_SUPPORTED = 3, 5


def add(library: Any, finish: Callable[[], None]) -> c_void_p:
    """Adds in memory of this process; the handle that it was done with."""
    handle, vector, descriptor = c_void_p(), c_void_p(), c_void_p()
    shape = (ctypes.c_size_t * 1)(COUNT)
    x = (ctypes.c_float * COUNT)(*range(COUNT))
    y = (ctypes.c_float * COUNT)()
    assert library.infiniopCreateHandle(byref(handle)) == 0
    assert library.infiniopCreateTensorDescriptor(byref(vector), ctypes.c_size_t(1), shape, None, F32) == 0
    assert library.infiniopCreateAddDescriptor(handle, byref(descriptor), vector, vector, vector) == 0
    assert library.infiniopAdd(descriptor, None, ctypes.c_size_t(0), y, x, x, None) == 0
    finish()
    assert list(y) == list(range(0, 2 * COUNT, 2))
    assert library.infiniopDestroyAddDescriptor(descriptor) == 0
    assert library.infiniopDestroyTensorDescriptor(vector) == 0
    return handle


def main() -> None:
    libraries: dict[str, Any] = {}
    for argument in sys.argv[1:]:
        what, scope, path = argument.split(":", 2)
        libraries[what] = ctypes.CDLL(path, mode=MODES[scope])
    core, operators, earlier = (libraries.get(what) for what in ("core", "core_op", "v0_op"))
    for _ in range(2):
        handles: dict[Any, c_void_p] = {}
        if operators is not None:
            assert core is not None
            assert core.infinirtXSetDeviceType(b"cpu") == 0

            def synchronise() -> None:
                assert core.infinirtStreamSynchronize(None) == 0

            handles[operators] = add(operators, synchronise)
            # Here the new generation has no operators, and v0, with a device type of its own, has.
            assert core.infinirtXSetDeviceType(b"cpu-min") == 0
            assert operators.infiniopCreateHandle(byref(c_void_p())) == TYPE_NOT_SUPPORTED
        if earlier is not None:
            handles[earlier] = add(earlier, lambda: None)
        for owner, handle in handles.items():
            for library in handles:
                if library is not owner:
                    assert library.infiniopDestroyHandle(handle) == BAD_PARAM
            assert owner.infiniopDestroyHandle(handle) == 0
    if "neighbour" in libraries:
        assert libraries["neighbour"].infiniopAdd() == 77
    print(", ".join(what for what in ("core_op", "v0_op") if what in libraries))


if __name__ == "__main__":
    main()
