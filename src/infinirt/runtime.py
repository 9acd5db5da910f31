"""The flat API: every function of the C API, one Python function each, call-compatible with `cuda.bindings.runtime` 13.

A program written for that module runs on this one after replacing `cuda` by `infinirt` in its names::

    from infinirt.runtime import *

    err, pointer = infinirtMalloc(1024)
    assert err == infinirtError_t.infinirtSuccess

Every function returns a tuple that begins with an `infinirtError_t`; the results follow, and are None after a failure.
Pointers are ints, or objects with the buffer protocol where memory is passed in. Handles, structs and enums are the
classes of this module; handles may be given as ints too, and None is the null handle.

Beyond that module: the `infinirtX` functions of infinirt_ext.h, the launch functions, and Python functions wherever the C
API takes a host function. Where CUDA 13 changed a function's arguments, 12.9's are accepted as well if their number or
type tells them apart. `INFINIRT_PYTHON_PER_THREAD_DEFAULT_STREAM=1` in the environment makes the per-thread default stream
the one that stream 0 means.
"""

from __future__ import annotations

from . import _runtime

__all__ = [name for name in dir(_runtime) if not name.startswith("_")]

globals().update({name: getattr(_runtime, name) for name in __all__})
