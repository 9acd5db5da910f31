"""What the flat API accepts as arguments, and what it says when it does not."""

from __future__ import annotations

import ctypes
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flat_support import SUCCESS, ok, rt

INVALID_VALUE = rt.infinirtError_t.infinirtErrorInvalidValue


class WithInt:
    def __init__(self, value: int) -> None:
        self.value = value

    def __int__(self) -> int:
        return self.value


class WithIndex(WithInt):
    def __index__(self) -> int:
        return self.value


class WithStream:
    def __init__(self, answer: object) -> None:
        self.answer = answer

    def __cuda_stream__(self) -> object:
        return self.answer


@pytest.mark.parametrize("zero", [0, False, np.int32(0), np.uint64(0), WithInt(0), WithIndex(0), 0.0])
def test_numbers(zero: object) -> None:
    assert rt.infinirtSetDevice(zero) == (SUCCESS,)


@pytest.mark.parametrize("wrong", ["0", None, b"0", [0], object(), 1j])
def test_not_numbers(wrong: object) -> None:
    with pytest.raises(TypeError, match="device"):
        rt.infinirtSetDevice(wrong)


@pytest.mark.parametrize(
    "fraction", [1.5, -0.25, np.float32(0.5), np.float64(0.5), Fraction(1, 2), np.array([0.5])]
)
def test_fractions(fraction: object) -> None:
    for function, parameter in ((rt.infinirtMalloc, "size"), (rt.infinirtSetDevice, "device")):
        with pytest.raises(TypeError, match=f"{parameter}: an integer is required"):
            function(fraction)
    with pytest.raises(TypeError, match="an integer is required"):
        rt.infinirtStreamQuery(fraction)


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_floats_that_are_no_numbers(odd: float) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        rt.infinirtMalloc(odd)


@pytest.mark.parametrize("wide", [2**31, -(2**31) - 1, 2**63, 2**200])
def test_numbers_that_do_not_fit(wide: int) -> None:
    with pytest.raises(OverflowError, match="device"):
        rt.infinirtSetDevice(wide)


def test_unsigned_numbers() -> None:
    with pytest.raises(OverflowError, match="size"):
        rt.infinirtMalloc(-1)
    with pytest.raises(OverflowError, match="size"):
        rt.infinirtMalloc(2**64)
    with pytest.raises(OverflowError, match="flags"):
        rt.infinirtStreamCreateWithFlags(2**32)
    # The largest value is no sentinel.
    assert rt.infinirtMalloc(2**64 - 1)[0] == rt.infinirtError_t.infinirtErrorMemoryAllocation
    assert rt.infinirtSetDevice(-1)[0] == rt.infinirtError_t.infinirtErrorInvalidDevice


def test_an_exception_in_the_argument_is_passed_on() -> None:
    class Bad:
        def __index__(self) -> int:
            raise RuntimeError("no number today")

    for function in (rt.infinirtSetDevice, rt.infinirtFree, rt.infinirtEventQuery):
        with pytest.raises(RuntimeError, match="no number today"):
            function(Bad())


def test_pointers() -> None:
    error, pointer = rt.infinirtMalloc(16)
    assert error == SUCCESS
    array = np.arange(4, dtype=np.float32)
    sources = [
        array,
        array.tobytes(),
        bytearray(array.tobytes()),
        memoryview(array.tobytes()),
        array.ctypes.data,
        ctypes.c_float * 4,
        np.uint64(array.ctypes.data),
        WithInt(array.ctypes.data),
    ]
    sources[5] = (ctypes.c_float * 4)(*array)
    for source in sources:
        assert rt.infinirtMemset(pointer, 0, 16) == (SUCCESS,)
        assert rt.infinirtMemcpy(pointer, source, 16, 1) == (SUCCESS,)
        back = np.empty_like(array)
        assert rt.infinirtMemcpy(back, pointer, 16, 2) == (SUCCESS,)
        assert back.tolist() == array.tolist(), type(source)
    assert rt.infinirtFree(pointer) == (SUCCESS,)


def test_an_array_with_one_element_is_memory_not_a_number() -> None:
    error, pointer = rt.infinirtMalloc(8)
    assert error == SUCCESS
    one = np.array([3.5])
    assert rt.infinirtMemcpy(pointer, one, 8, 1) == (SUCCESS,)
    back = np.zeros(1)
    assert rt.infinirtMemcpy(back, pointer, 8, 2) == (SUCCESS,)
    assert back[0] == 3.5
    rt.infinirtFree(pointer)


@pytest.mark.parametrize("wrong", ["text", object(), {}, [1]])
def test_not_pointers(wrong: object) -> None:
    with pytest.raises(TypeError, match="devPtr"):
        rt.infinirtFree(wrong)


def test_memory_that_is_not_contiguous_is_refused() -> None:
    with pytest.raises((BufferError, ValueError)):
        rt.infinirtMemcpy(0, np.zeros((4, 4))[:, ::2], 4, 1)


def test_a_buffer_is_held_only_during_the_call() -> None:
    data = bytearray(16)
    assert rt.infinirtPointerGetAttributes(data)[0] == SUCCESS
    data.append(1)  # BufferError while a buffer is exported


def test_streams() -> None:
    error, stream = rt.infinirtStreamCreate()
    assert error == SUCCESS
    accepted = [
        stream,
        int(stream),
        np.uint64(int(stream)),
        WithInt(int(stream)),
        WithStream((0, int(stream))),
    ]
    for value in accepted:
        assert rt.infinirtStreamQuery(value) == (SUCCESS,), value
        assert rt.infinirtStreamGetId(value) == rt.infinirtStreamGetId(stream)
    for wrong in ("s", object(), 1j):
        with pytest.raises(TypeError, match="stream"):
            rt.infinirtStreamQuery(wrong)
    with pytest.raises(OverflowError, match="stream"):
        rt.infinirtStreamQuery(-1)
    with pytest.raises(TypeError):
        rt.infinirtStreamQuery(WithStream("nonsense"))
    assert rt.infinirtStreamDestroy(stream) == (SUCCESS,)
    assert rt.infinirtStreamQuery(stream)[0] == rt.infinirtError_t.infinirtErrorInvalidResourceHandle


def test_text() -> None:
    for name in ("cpu", b"cpu", bytearray(b"cpu")):
        assert rt.infinirtXSetDeviceType(name) == (SUCCESS,)
    for wrong in (None, 3, ["cpu"]):
        with pytest.raises(TypeError, match="type"):
            rt.infinirtXSetDeviceType(wrong)
    assert rt.infinirtXGetDeviceType() == (SUCCESS, "cpu")


def test_lists() -> None:
    _, graph = rt.infinirtGraphCreate(0)
    _, first = rt.infinirtGraphAddEmptyNode(graph, None, 0)
    _, second = rt.infinirtGraphAddEmptyNode(graph, [], 0)
    assert rt.infinirtGraphAddEmptyNode(graph, (first, int(second)), 2)[0] == SUCCESS
    # Fewer than the list holds is fine, more is not.
    assert rt.infinirtGraphAddEmptyNode(graph, [first, second], 1)[0] == SUCCESS
    with pytest.raises(RuntimeError, match="List is too small: 1 < 2"):
        rt.infinirtGraphAddEmptyNode(graph, [first], 2)
    for wrong in (first, {first}, "ab", 7):
        with pytest.raises(TypeError, match="pDependencies"):
            rt.infinirtGraphAddEmptyNode(graph, wrong, 1)
    with pytest.raises(TypeError, match="pDependencies"):
        rt.infinirtGraphAddEmptyNode(graph, ["node"], 1)
    many = [rt.infinirtGraphAddEmptyNode(graph, None, 0)[1] for _ in range(40)]
    error, join = rt.infinirtGraphAddEmptyNode(graph, many, len(many))
    assert error == SUCCESS
    error, nodes, _, count = rt.infinirtGraphNodeGetDependencies(join, 100)
    assert (error, count) == (SUCCESS, 40)
    assert set(nodes[:40]) == set(many)
    assert [int(node) for node in nodes[40:]] == [0] * 60
    rt.infinirtGraphDestroy(graph)


def test_structs() -> None:
    assert rt.infinirtMemcpy3D(None)[0] == INVALID_VALUE
    for wrong in (1, rt.infinirtExtent(), "x"):
        with pytest.raises(TypeError, match=r"p: expected .*infinirtMemcpy3DParms"):
            rt.infinirtMemcpy3D(wrong)
    with pytest.raises(TypeError, match="extent"):
        rt.infinirtMalloc3D(None)


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((), {}, "missing argument 'devPtr'"),
        ((1, 2, 3, 4), {}, "exactly 3 positional"),
        ((1, 2), {}, "missing argument 'count'"),
        ((1, 2, 3), {"count": 3}, "multiple values for argument 'count'"),
        ((1, 2), {"size": 3}, "unexpected keyword argument 'size'"),
        ((), {"devPtr": 0, "value": 1}, "missing argument 'count'"),
    ],
)
def test_wrong_calls(arguments: tuple[Any, ...], keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        rt.infinirtMemset(*arguments, **keywords)


def test_keywords_in_any_order_and_mixed() -> None:
    _, pointer = rt.infinirtMalloc(16)
    assert rt.infinirtMemset(count=16, value=1, devPtr=pointer) == (SUCCESS,)
    assert rt.infinirtMemset(pointer, count=8, value=2) == (SUCCESS,)
    back = bytearray(16)
    rt.infinirtMemcpy(back, pointer, kind=2, count=16)
    assert back == b"\2" * 8 + b"\1" * 8
    rt.infinirtFree(pointer)


def test_functions_without_parameters_take_none() -> None:
    with pytest.raises(TypeError):
        rt.infinirtGetDevice(0)
    with pytest.raises(TypeError):
        rt.infinirtGetDevice(device=0)
    with pytest.raises(TypeError):
        rt.getLocalRuntimeVersion(0)


def test_older_shapes_are_told_apart() -> None:
    """12.9's arguments, for functions that 13 reshaped."""
    _, graph = rt.infinirtGraphCreate(0)
    _, one = rt.infinirtGraphAddEmptyNode(graph, None, 0)
    _, two = rt.infinirtGraphAddEmptyNode(graph, None, 0)
    assert rt.infinirtGraphAddDependencies(graph, [one], [two], 1) == (SUCCESS,)
    assert rt.infinirtGraphRemoveDependencies(graph, [one], [two], 1) == (SUCCESS,)
    assert rt.infinirtGraphAddDependencies(graph, [one], [two], [rt.infinirtGraphEdgeData()], 1) == (SUCCESS,)
    assert rt.infinirtGraphRemoveDependencies(
        graph, from_=[one], to=[two], edgeData=None, numDependencies=1
    ) == (SUCCESS,)
    params = rt.infinirtGraphNodeParams()
    params.type = rt.infinirtGraphNodeType.infinirtGraphNodeTypeEmpty
    assert rt.infinirtGraphAddNode(graph, [one], 1, params)[0] == SUCCESS
    assert rt.infinirtGraphAddNode(graph, [one], None, 1, params)[0] == SUCCESS
    rt.infinirtGraphDestroy(graph)
    _, managed = rt.infinirtMallocManaged(4096, rt.infinirtMemAttachGlobal)
    advice = rt.infinirtMemoryAdvise.infinirtMemAdviseSetReadMostly
    assert rt.infinirtMemAdvise(managed, 4096, advice, 0) == (SUCCESS,)
    assert rt.infinirtMemPrefetchAsync(managed, 4096, 0, None) == (SUCCESS,)
    location = rt.infinirtMemLocation()
    location.type = rt.infinirtMemLocationType.infinirtMemLocationTypeDevice
    assert rt.infinirtMemAdvise(managed, 4096, advice, location) == (SUCCESS,)
    assert rt.infinirtMemPrefetchAsync(managed, 4096, location, 0, None) == (SUCCESS,)
    rt.infinirtDeviceSynchronize()
    rt.infinirtFree(managed)


def test_objects_with_a_buffer_have_a_size() -> None:
    """Their memory is known to the interpreter: a copy past its end is an error, and no crash."""
    device = ok(rt.infinirtMalloc(1 << 20))
    kind = rt.infinirtMemcpyKind
    small, text = np.zeros(16, np.uint8), b"A" * 16
    with pytest.raises(ValueError, match=r"dst: numpy\.ndarray has 16 bytes, and 1048576 were asked for"):
        rt.infinirtMemcpy(small, device, 1 << 20, kind.infinirtMemcpyDeviceToHost)
    with pytest.raises(ValueError, match=r"src: numpy\.ndarray has 16 bytes, and 17 were asked for"):
        rt.infinirtMemcpyAsync(device, small, 17, kind.infinirtMemcpyHostToDevice, 0)
    with pytest.raises(ValueError, match="dst: the memory of bytes is read-only"):
        rt.infinirtMemcpy(text, device, 16, kind.infinirtMemcpyDeviceToHost)
    with pytest.raises(ValueError, match=r"devPtr: numpy\.ndarray has 16 bytes"):
        rt.infinirtMemset(small, 0, 17)
    with pytest.raises(ValueError, match=r"src: the memory of this numpy\.ndarray is not in one piece"):
        rt.infinirtMemcpy(device, np.zeros((4, 4), np.uint8)[:, ::2], 8, kind.infinirtMemcpyHostToDevice)
    ok(rt.infinirtMemcpy(device, text, 16, kind.infinirtMemcpyHostToDevice))
    ok(rt.infinirtMemcpy(small, device, 16, kind.infinirtMemcpyDeviceToHost))
    assert small.tobytes() == text
    ok(rt.infinirtFree(device))
