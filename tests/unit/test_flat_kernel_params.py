"""Arguments of a kernel as values and ctypes types: what arrives is what ctypes itself would pass."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flat_support import ok, rt

BLOCK = ctypes.c_void_p
ARGUMENTS = ctypes.POINTER(ctypes.c_void_p)
KERNEL = ctypes.CFUNCTYPE(ctypes.c_int, BLOCK, ARGUMENTS)

INTEGERS = [
    *("c_byte", "c_ubyte", "c_short", "c_ushort", "c_int", "c_uint", "c_long", "c_ulong"),
    *("c_longlong", "c_ulonglong", "c_size_t"),
]
CASES: list[tuple[object, Any]] = [
    *(
        (value, getattr(ctypes, name))
        for name in INTEGERS
        for value in (0, 5, -1, 255, -129, 1 << 31, (1 << 64) - 1, -(1 << 63), 1 << 70, True, False)
    ),
    *((value, ctypes.c_void_p) for value in (None, 0, 0x7F0011223344, -1, (1 << 64) - 1, True)),
    *((value, kind) for kind in (ctypes.c_float, ctypes.c_double) for value in (2.5, -0.0, 1e30, 7, True)),
    (float("inf"), ctypes.c_float),
    *((value, ctypes.c_bool) for value in (True, False, 0, 3, None, "x", [])),
    (ctypes.c_int(7), ctypes.c_int),
    (ctypes.c_short(-3), ctypes.c_int),
    (ctypes.c_float(1.5), ctypes.c_double),
]


class Tagged(ctypes.c_int):
    """A type of the user's own."""


class Wide(ctypes.Structure):
    _fields_ = [("values", ctypes.c_double * 40)]


def expected(value: Any, kind: Any) -> bytes:
    if kind is None:
        return bytes(value)
    if isinstance(value, ctypes._SimpleCData):
        return bytes(value if isinstance(value, kind) else kind(value.value))
    return bytes(kind(value))


@pytest.fixture(scope="module")
def received() -> Iterator[Callable[..., list[bytes]]]:
    """A function that launches a kernel with such arguments and gives back the bytes that it received."""
    kept: list[Any] = []

    def launch(values: tuple[Any, ...], kinds: tuple[Any, ...]) -> list[bytes]:
        sizes = [len(expected(value, kind)) for value, kind in zip(values, kinds, strict=True)]
        found: list[bytes] = []

        def body(_: Any, arguments: Any) -> int:
            found.extend(ctypes.string_at(arguments[i], size) for i, size in enumerate(sizes))
            return 0

        kernel = KERNEL(body)
        kept.append(kernel)
        ok(rt.infinirtXRegisterKernel(f"received_{len(kept)}", kernel, sizes))
        address = ctypes.cast(kernel, ctypes.c_void_p).value
        ok(rt.infinirtLaunchKernel(address, 1, 1, (values, kinds), 0, stream))
        ok(rt.infinirtStreamSynchronize(stream))
        return found

    stream = ok(rt.infinirtStreamCreate())
    yield launch
    ok(rt.infinirtStreamDestroy(stream))


@pytest.mark.parametrize(("value", "kind"), CASES)
def test_every_simple_type(received: Callable[..., list[bytes]], value: object, kind: Any) -> None:
    assert received((value,), (kind,)) == [expected(value, kind)]


def test_many_and_large_arguments(received: Callable[..., list[bytes]]) -> None:
    wide = Wide((ctypes.c_double * 40)(*range(40)))
    values = (*range(-20, 20), 1.5, wide, Tagged(4), 9)
    kinds = (*(ctypes.c_long,) * 40, ctypes.c_float, None, Tagged, Tagged)
    assert received(values, kinds) == [expected(v, k) for v, k in zip(values, kinds, strict=True)]


def test_arguments_of_a_struct_outlive_the_assignment() -> None:
    params = rt.infinirtKernelNodeParams()
    params.kernelParams = ((1, 2.5, None), (ctypes.c_int, ctypes.c_double, ctypes.c_void_p))
    array = ctypes.cast(int(params.kernelParams), ARGUMENTS)
    assert ctypes.c_int.from_address(array[0]).value == 1
    assert ctypes.c_double.from_address(array[1]).value == 2.5
    assert ctypes.c_void_p.from_address(array[2]).value is None


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        ((1, 2), (ctypes.c_int,)),
        ((1.5,), (ctypes.c_int,)),
        (("text",), (ctypes.c_void_p,)),
        ((1,), (int,)),
        ((1,), (None,)),
        ((1,), (Wide,)),
        ((object(),), (ctypes.c_double,)),
    ],
)
def test_wrong_arguments(values: Any, kinds: Any) -> None:
    with pytest.raises(TypeError):
        rt.infinirtLaunchKernel(1234, 1, 1, (values, kinds), 0, 0)
