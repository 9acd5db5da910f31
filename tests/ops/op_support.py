"""Drives the C functions of libinfiniop on arrays of NumPy, and knows what the schema says each operator gives."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

import infinirt
from infiniop.conformance import calls
from infiniop.schema import OPERATORS, Operator
from infiniop.schema.emit.header import in_create_order, repeats_dimensions
from infiniop.schema.model import FLOATS
from infinirt import runtime as rt
from infinirt.__main__ import part_path

BY_NAME = {operator.name: operator for operator in OPERATORS}
# Complex numbers of two narrow halves are only copied and filled: their bytes are all that matters.
NUMPY = {
    "BYTE": np.uint8, "BOOL": np.bool_, "I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64,
    "U8": np.uint8, "U16": np.uint16, "U32": np.uint32, "U64": np.uint64, "F8": ml_dtypes.float8_e4m3fn,
    "F16": np.float16, "BF16": ml_dtypes.bfloat16, "F32": np.float32, "F64": np.float64, "C16": np.uint16,
    "C32": np.uint32, "C64": np.complex64, "C128": np.complex128,
}  # fmt: skip
DTYPE_NUMBERS = {
    "BYTE": 1, "BOOL": 2, "I8": 3, "I16": 4, "I32": 5, "I64": 6, "U8": 7, "U16": 8, "U32": 9, "U64": 10, "F8": 11,
    "F16": 12, "F32": 13, "F64": 14, "C16": 15, "C32": 16, "C64": 17, "C128": 18, "BF16": 19,
}  # fmt: skip
SUCCESS, INTERNAL, NOT_IMPLEMENTED, BAD_PARAM, NULL_POINTER, TYPE_NOT_SUPPORTED = 0, 1, 2, 3, 4, 5
BAD_DTYPE, BAD_SHAPE, BAD_STRIDES, INSUFFICIENT_WORKSPACE = 10, 11, 12, 13
Array = Any


@cache
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(part_path("--lib-dir") / "libinfiniop.so.1"))


def message() -> str:
    return rt.infinirtXGetLastErrorMessage()[1]


def ok(status: int) -> None:
    assert status == SUCCESS, (status, message())


def pointer(value: int | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(value)


def create_tensor(
    dtype: str | int, shape: Sequence[int], strides: Sequence[int] | None = None
) -> tuple[int, ctypes.c_void_p]:
    """Status and descriptor; strides in elements."""
    result = ctypes.c_void_p()
    number = DTYPE_NUMBERS[dtype] if isinstance(dtype, str) else dtype
    sizes = (ctypes.c_size_t * len(shape))(*shape)
    steps = None if strides is None else (ctypes.c_ssize_t * len(strides))(*strides)
    status = library().infiniopCreateTensorDescriptor(
        ctypes.byref(result), ctypes.c_size_t(len(shape)), sizes, steps, ctypes.c_int(number)
    )
    return status, result


def tensor_of(array: Array, dtype: str) -> ctypes.c_void_p:
    steps = [stride // array.itemsize for stride in array.strides]
    status, descriptor = create_tensor(dtype, array.shape, steps)
    ok(status)
    return descriptor


@contextmanager
def handle() -> Iterator[ctypes.c_void_p]:
    made = ctypes.c_void_p()
    ok(library().infiniopCreateHandle(ctypes.byref(made)))
    try:
        yield made
    finally:
        ok(library().infiniopDestroyHandle(made))


def numbers_of(operator: Operator, values: dict[str, Any], at_compute: bool) -> list[Any]:
    if operator.written:
        return calls.numbers(operator, values, at_compute)
    convert = {"float": ctypes.c_float, "double": ctypes.c_double, "int": ctypes.c_int, "bool": ctypes.c_bool}
    again = at_compute and repeats_dimensions(operator)
    given = [
        convert[a.ctype](values[a.name]) for a in operator.attributes if again or a.at_compute == at_compute
    ]
    if operator.rows is None or operator.rows.along == "last":
        return given
    if operator.rows.along == "axis":
        return given if at_compute else [ctypes.c_int(values.get("axis", -1)), *given]
    dims = values.get("dims", ())
    listed = (ctypes.c_size_t * len(dims))(*dims)
    return [listed, ctypes.c_size_t(len(dims)), *given, ctypes.c_bool(values.get("keepdim", False))]


def create(
    operator: Operator, owner: ctypes.c_void_p, tensors: dict[str, ctypes.c_void_p], **values: Any
) -> tuple[int, ctypes.c_void_p]:
    result = ctypes.c_void_p()
    function = getattr(library(), f"infiniopCreate{operator.name}Descriptor")
    given = in_create_order(operator, tensors, numbers_of(operator, values, False))
    status = function(owner, ctypes.byref(result), *given)
    return status, result


def compute(
    operator: Operator,
    descriptor: ctypes.c_void_p,
    addresses: dict[str, int | None],
    stream: int = 0,
    element: Array = None,
    workspace: tuple[int | None, int] = (None, 0),
    **values: Any,
) -> int:
    function = getattr(library(), f"infiniop{operator.name}")
    scratch = [pointer(workspace[0]), ctypes.c_size_t(workspace[1])] if operator.has_workspace else []
    given = [pointer(addresses[tensor.name]) for tensor in operator.tensors]
    filler = (
        [pointer(element.ctypes.data if element is not None else None)] if operator.kind == "fill" else []
    )
    return int(
        function(descriptor, *scratch, *given, *numbers_of(operator, values, True), *filler, pointer(stream))
    )


def destroy(operator: Operator, descriptor: ctypes.c_void_p) -> int:
    return int(getattr(library(), f"infiniopDestroy{operator.name}Descriptor")(descriptor))


_current = "cpu"


@contextmanager
def using(device_type: str) -> Iterator[None]:
    """The thread's device type, and where `run` computes."""
    global _current
    before = rt.infinirtXGetDeviceType()[1]
    assert int(rt.infinirtXSetDeviceType(device_type)[0]) == 0, message()
    _current = device_type
    try:
        yield
    finally:
        _current = "cpu"
        rt.infinirtXSetDeviceType(before)


def root_of(array: Array) -> Array:
    """The array that owns the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class Memory:
    """Arrays where the current device reaches them: where they are, or copied there and back as a whole, gaps included."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self.copies: dict[int, tuple[Array, int]] = {}
        self.addresses = {
            name: None if array is None else self._address(array) for name, array in arrays.items()
        }

    def _address(self, array: Array) -> int:
        if _current == "cpu":
            return int(array.ctypes.data)
        root = root_of(array)
        if id(root) not in self.copies:
            assert root.flags.c_contiguous or root.flags.f_contiguous
            error, address = rt.infinirtMalloc(max(root.nbytes, 1))
            assert int(error) == 0, message()
            self.copies[id(root)] = (root, int(address))
            self._copy(
                int(address), root.ctypes.data, root.nbytes, rt.infinirtMemcpyKind.infinirtMemcpyHostToDevice
            )
        return self.copies[id(root)][1] + int(array.ctypes.data - root.ctypes.data)

    @staticmethod
    def _copy(to: int, source: int, size: int, kind: Any) -> None:
        assert int(rt.infinirtMemcpy(to, source, size, kind)[0]) == 0, message()

    def take_back(self) -> None:
        """After all work: the host's arrays are as the device's."""
        for root, address in self.copies.values():
            if root.flags.writeable:
                self._copy(
                    root.ctypes.data, address, root.nbytes, rt.infinirtMemcpyKind.infinirtMemcpyDeviceToHost
                )
            assert int(rt.infinirtFree(address)[0]) == 0, message()


def run(
    operator: Operator,
    arrays: dict[str, Array],
    dtypes: dict[str, str],
    element: Array = None,
    **values: Any,
) -> None:
    """The whole way, once, on arrays of the host."""
    stream = infinirt.Device(_current).default_stream
    with handle() as owner:
        tensors = {
            name: pointer(None) if array is None else tensor_of(array, dtypes[name])
            for name, array in arrays.items()
        }
        status, descriptor = create(operator, owner, tensors, **values)
        ok(status)
        # What it was made from may go first.
        for tensor in tensors.values():
            if tensor:
                ok(library().infiniopDestroyTensorDescriptor(tensor))
    memory = Memory(arrays)
    size = ctypes.c_size_t(0)
    if operator.has_workspace:
        ok(getattr(library(), f"infiniopGet{operator.name}WorkspaceSize")(descriptor, ctypes.byref(size)))
    workspace = None
    if size.value:
        error, workspace = rt.infinirtMalloc(size.value)
        assert int(error) == 0, message()
    ok(
        compute(
            operator, descriptor, memory.addresses, int(stream.handle), element,
            workspace=(None if workspace is None else int(workspace), size.value), **values,
        )
    )  # fmt: skip
    ok(destroy(operator, descriptor))
    stream.sync()
    memory.take_back()
    if workspace is not None:
        assert int(rt.infinirtFree(workspace)[0]) == 0, message()


def units(expected: Array, dtype: str) -> Array:
    """The distance between neighbouring numbers of the type at each value."""
    facts = ml_dtypes.finfo(NUMPY[dtype])
    smallest = float(facts.smallest_subnormal)
    with np.errstate(all="ignore"):
        exponents = np.floor(
            np.log2(np.abs(expected), where=expected != 0, out=np.full(expected.shape, -1e9))
        )
        return np.maximum(np.exp2(np.maximum(exponents - facts.nmant, -1100)), smallest)


def check(operator: Operator, got: Array, expected: Array, dtype: str, what: str) -> None:
    """Floating-point results may be off by some units of the last place beside the rounding; all others must be equal."""
    if dtype not in FLOATS:
        assert np.array_equal(got, expected.astype(NUMPY[dtype])), (what, got, expected)
        return
    expected = np.asarray(expected, dtype=np.float64)
    result = got.astype(np.float64)
    with np.errstate(all="ignore"):
        rounded = expected.astype(NUMPY[dtype]).astype(np.float64)
        near = np.abs(result - expected) <= operator.tolerance(units(expected, dtype), dtype)
        fits = np.where(
            np.isfinite(rounded), near, (result == rounded) | (np.isnan(result) & np.isnan(rounded))
        )
    wrong = ~fits
    assert not wrong.any(), (what, result[wrong][:5], expected[wrong][:5], np.argwhere(wrong)[:5].tolist())


def reference(operator: Operator, inputs: Sequence[Array], dtype: str, **values: float) -> Array:
    """What the schema says, in float64 for floating point and in the type itself for integers."""
    with np.errstate(all="ignore"):
        if operator.typed_reference and dtype in FLOATS:
            return operator.reference(np, *inputs, **values).astype(np.float64)
        if dtype in FLOATS:
            return operator.reference(np, *(array.astype(np.float64) for array in inputs), **values)
        return operator.reference(
            np, *inputs, **{name: nearest(value, dtype) for name, value in values.items()}
        )


def nearest(value: float, dtype: str) -> Any:
    """The nearest integer that there is, without a fraction."""
    facts = np.iinfo(NUMPY[dtype])
    return NUMPY[dtype](int(min(max(value, facts.min), facts.max)))
