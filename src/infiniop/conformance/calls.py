"""The C functions of the operators, called by name, and what their answers mean to a case."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from infinirt import runtime
from infinirt.__main__ import part_path
from infinirt.conformance.check import Failed, Limit

from ..schema import Attribute, Operator
from ..schema.emit.header import declarations, in_create_order, repeats_dimensions

# infiniDtype_t and infiniStatus_t of infinicore.h.
DTYPES = {
    "BYTE": 1, "BOOL": 2, "I8": 3, "I16": 4, "I32": 5, "I64": 6, "U8": 7, "U16": 8, "U32": 9, "U64": 10, "F8": 11,
    "F16": 12, "F32": 13, "F64": 14, "C16": 15, "C32": 16, "C64": 17, "C128": 18, "BF16": 19,
}  # fmt: skip
STATUSES = {
    0: "SUCCESS", 1: "INTERNAL_ERROR", 2: "NOT_IMPLEMENTED", 3: "BAD_PARAM", 4: "NULL_POINTER",
    5: "DEVICE_TYPE_NOT_SUPPORTED", 6: "DEVICE_NOT_FOUND", 7: "DEVICE_NOT_INITIALIZED",
    8: "DEVICE_ARCHITECTURE_NOT_SUPPORTED", 10: "BAD_TENSOR_DTYPE", 11: "BAD_TENSOR_SHAPE", 12: "BAD_TENSOR_STRIDES",
    13: "INSUFFICIENT_WORKSPACE",
}  # fmt: skip
# What a device type answers that has no operators, or not this one.
LIMITS = ("NOT_IMPLEMENTED", "DEVICE_TYPE_NOT_SUPPORTED", "DEVICE_ARCHITECTURE_NOT_SUPPORTED")

Pointer = ctypes.c_void_p


@cache
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(part_path("--lib-dir") / "libinfiniop.so.1"))


def call(name: str, *arguments: Any) -> int:
    """The status of one call. Everything goes through here, so that a test can stand in between."""
    return int(getattr(library(), name)(*arguments))


def answer(name: str, *arguments: Any) -> tuple[str, str]:
    """The status by its name, and the sentence of a failure; the thread's last error is taken away."""
    status = call(name, *arguments)
    if status == 0:
        return "SUCCESS", ""
    text = str(runtime.infinirtXGetLastErrorMessage()[1])
    runtime.infinirtGetLastError()
    return STATUSES.get(status, str(status)), text


def succeeds(name: str, *arguments: Any, may_be_absent: bool = False) -> None:
    """With `may_be_absent` the answer that there is no such thing here is a limit of the device type."""
    status, text = answer(name, *arguments)
    if may_be_absent and status in LIMITS:
        raise Limit(name, text.removeprefix(f"{name}: "))
    if status != "SUCCESS":
        raise Failed(f"{name} to succeed", f"INFINI_STATUS_{status}: {text}")


def refused(wanted: str, what: str, name: str, *arguments: Any) -> None:
    """The call has to fail with this status, and to leave a sentence that begins with its name."""
    status, text = answer(name, *arguments)
    if status != wanted:
        raise Failed(
            f"{name} to return INFINI_STATUS_{wanted}: {what}",
            f"INFINI_STATUS_{status}" + (f": {text}" if text else ""),
        )
    if not text.startswith(f"{name}: "):
        raise Failed(f"a message that begins with {name}: {what}", text or "none")


@contextmanager
def handle() -> Iterator[Pointer]:
    """Of the thread's current device. Where there are no operators that is the case's result."""
    made = Pointer()
    succeeds("infiniopCreateHandle", ctypes.byref(made), may_be_absent=True)
    try:
        yield made
    finally:
        call("infiniopDestroyHandle", made)


@contextmanager
def tensor(dtype: str, shape: Sequence[int], strides: Sequence[int] | None = None) -> Iterator[Pointer]:
    """A tensor descriptor; strides count elements."""
    made = Pointer()
    sizes = (ctypes.c_size_t * len(shape))(*shape)
    steps = None if strides is None else (ctypes.c_ssize_t * len(strides))(*strides)
    succeeds(
        "infiniopCreateTensorDescriptor",
        ctypes.byref(made),
        ctypes.c_size_t(len(shape)),
        sizes,
        steps,
        ctypes.c_int(DTYPES[dtype]),
    )
    try:
        yield made
    finally:
        call("infiniopDestroyTensorDescriptor", made)


def numbers(operator: Operator, values: Mapping[str, Any], at_compute: bool) -> list[Any]:
    """The arguments beside the tensors, of one of the two calls. Of rows, `values` may have `dims` and `keepdim`."""
    kinds: dict[str, Callable[[Any], Any]] = {
        "float": ctypes.c_float, "double": ctypes.c_double, "int": lambda value: ctypes.c_int(int(value)),
        "bool": lambda value: ctypes.c_bool(bool(value)), "size_t": lambda value: ctypes.c_size_t(int(value)),
        "int64_t": lambda value: ctypes.c_int64(int(value)), "char": lambda value: ctypes.c_char(int(value)),
        "uint8_t": lambda value: ctypes.c_uint8(int(value)),
    }  # fmt: skip
    again = at_compute and repeats_dimensions(operator)

    def number(attribute: Attribute) -> Any:
        return kinds.get(attribute.plain_type, kinds["int"])(
            values[attribute.name]
        )  # others are enumerations

    if at_compute:
        given = [number(a) for a in operator.attributes if again or a.at_compute or a.repeated]
    else:
        given = [create_value(members, values, number) for _, members in declarations(operator)]
    along = operator.rows.along if operator.rows else "last"
    dims: Sequence[int] = values.get("dims", (-1,))
    if along == "axis":
        return given if at_compute else [ctypes.c_int(dims[0]), *given]
    if along == "dims":
        listed = (ctypes.c_size_t * len(dims))(*dims)
        return [listed, ctypes.c_size_t(len(dims)), *given, ctypes.c_bool(values.get("keepdim", False))]
    return given


def create_value(
    members: list[Attribute], values: Mapping[str, Any], number: Callable[[Attribute], Any]
) -> Any:
    """What the call that creates takes for one of its parameters: an attribute, or a list of them."""
    first = members[0]
    if first.in_list:
        count = int(values[first.in_list.length]) if first.in_list.length else len(members)
        elements = [number(each) for each in members][-count:] if count else []
        return (type(number(first)) * len(elements))(*elements)
    if first.names:
        place = int(values[first.name])
        return ctypes.c_char_p(first.names[place].encode() if 0 <= place < len(first.names) else b"")
    if first.ctype == "void*":
        return ctypes.create_string_buffer(64) if values[first.name] else None
    return number(first)


def create_name(operator: Operator) -> str:
    return f"infiniopCreate{operator.name}Descriptor"


def create_arguments(
    operator: Operator,
    owner: Pointer,
    result: Pointer,
    tensors: Mapping[str, Pointer | None],
    values: Mapping[str, Any],
) -> list[Any]:
    return [
        owner,
        ctypes.byref(result),
        *in_create_order(operator, tensors, numbers(operator, values, False)),
    ]


def compute_arguments(
    operator: Operator,
    descriptor: Pointer,
    workspace: tuple[int | None, int],
    addresses: Mapping[str, int | None],
    values: Mapping[str, Any],
    element: bytes,
    stream: Any,
) -> list[Any]:
    scratch = [Pointer(workspace[0]), ctypes.c_size_t(workspace[1])] if operator.has_workspace else []
    given = [Pointer(addresses[each.name]) for each in operator.tensors]
    filler = [ctypes.create_string_buffer(element, len(element))] if operator.kind == "fill" else []
    late = numbers(operator, values, True)
    return [descriptor, *scratch, *given, *late, *filler, Pointer(int(stream))]


def workspace_size(operator: Operator, descriptor: Pointer) -> int:
    size = ctypes.c_size_t(0)
    if operator.has_workspace:
        succeeds(f"infiniopGet{operator.name}WorkspaceSize", descriptor, ctypes.byref(size))
    return size.value
