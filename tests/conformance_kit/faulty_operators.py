"""Stands between the operators' cases and libinfiniop on the CPU device, whose memory the host reaches. KIT_FAULT chooses."""

from __future__ import annotations

import ctypes
import math
import os
from typing import Any

from infiniop.conformance import calls
from infinirt import runtime

FAULT = os.environ.get("KIT_FAULT", "")
F32 = calls.DTYPES["F32"]
real = calls.call
last_tensor: dict[str, Any] = {}  # the cases describe the output last


def call(name: str, *arguments: Any) -> int:
    if name == "infiniopCreateTensorDescriptor":
        _, count, shape, strides, dtype = arguments
        last_tensor.update(shape=list(shape), strides=list(strides or ()), dtype=dtype.value)
        assert count.value == len(last_tensor["shape"])
    if FAULT == "operator-own-stream" and name == "infiniopAdd":
        status = real(name, *arguments[:-1], ctypes.c_void_p(0))
        runtime.infinirtStreamSynchronize(0)
        return status
    status = real(name, *arguments)
    if FAULT == "operator-takes-any-type" and name == "infiniopCreateTanhDescriptor" and status == 10:
        return 0
    if (
        FAULT == "operator-loses-nan"
        and name == "infiniopTanh"
        and status == 0
        and last_tensor["dtype"] == F32
    ):
        finish(arguments)
        results = (ctypes.c_float * math.prod(last_tensor["shape"])).from_address(arguments[3].value)
        results[:] = [0.0 if math.isnan(each) else each for each in results]
    if FAULT == "operator-writes-beside" and name == "infiniopFloor" and status == 0 and has_gaps():
        finish(arguments)
        ctypes.c_float.from_address(arguments[3].value + 4).value = 1.0
    return status


def has_gaps() -> bool:
    """An output of floats, backwards, of which every second one in a row is somebody else's."""
    strides = last_tensor["strides"]
    return last_tensor["dtype"] == F32 and strides[-1:] == [2] and strides[0] < 0


def finish(arguments: tuple[Any, ...]) -> None:
    runtime.infinirtStreamSynchronize(arguments[-1].value)


calls.call = call
