"""infiniopXChain: several element-wise operators in one pass, from C. What recorded graphs make of it is tested with infinicore."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import op_support as ops
import pytest
from op_support import BY_NAME, library, message, ok

import infinirt


class Step(ctypes.Structure):
    _fields_ = (
        ("operation", ctypes.c_void_p),
        ("inputs", ctypes.c_int * 3),
        ("output", ctypes.c_int),
        ("attributes", ctypes.c_double * 2),
        ("element", ctypes.c_ubyte * 16),
    )


class Bench:
    """A handle, descriptors of three operators on float32, and of tensors."""

    def __init__(self, owner: ctypes.c_void_p) -> None:
        self.handle = owner
        self.kept: list[tuple[Any, ctypes.c_void_p]] = []
        self.vector = self.tensor("F32", [1000])
        self.add = self.operator("Add", c=self.vector, a=self.vector, b=self.vector)
        self.relu = self.operator("Relu", y=self.vector, x=self.vector)

    def tensor(
        self, dtype: str, shape: Sequence[int], strides: Sequence[int] | None = None
    ) -> ctypes.c_void_p:
        status, made = ops.create_tensor(dtype, shape, strides)
        ok(status)
        return made

    def operator(self, name: str, **tensors: ctypes.c_void_p) -> ctypes.c_void_p:
        names = [tensor.name for tensor in BY_NAME[name].tensors]
        status, made = ops.create(BY_NAME[name], self.handle, dict(zip(names, tensors.values(), strict=True)))
        ok(status)
        self.kept.append((BY_NAME[name], made))
        return made

    def create(self, operands: Sequence[Any], steps: Sequence[Step]) -> tuple[int, ctypes.c_void_p]:
        made = ctypes.c_void_p()
        status = library().infiniopXCreateChainDescriptor(
            self.handle, ctypes.byref(made), (ctypes.c_void_p * len(operands))(*(o.value for o in operands)),
            ctypes.c_size_t(len(operands)), (Step * len(steps))(*steps), ctypes.c_size_t(len(steps)),
        )  # fmt: skip
        return status, made


def step(operation: ctypes.c_void_p, inputs: Sequence[int], output: int = -1) -> Step:
    return Step(operation.value, (ctypes.c_int * 3)(*inputs), output)


@pytest.fixture
def bench(device: str) -> Iterator[Bench]:
    with ops.handle() as owner:
        made = Bench(owner)
        yield made
        for operator, descriptor in made.kept:
            ok(ops.destroy(operator, descriptor))


def test_a_chain_on_its_stream(bench: Bench, device: str) -> None:
    status, chain = bench.create(
        [bench.vector] * 3, [step(bench.add, [0, 1]), step(bench.relu, [3], 2), step(bench.add, [4, 0], 0)]
    )
    ok(status)
    place = infinirt.Device(device)
    x = np.linspace(-2, 2, 1000, dtype="float32")
    a, b, c = (place.allocate(4000) for _ in range(3))
    stream = place.create_stream()
    a.copy_from(x, stream=stream)
    b.copy_from(x[::-1].copy(), stream=stream)
    addresses = (ctypes.c_void_p * 3)(a.ptr, b.ptr, c.ptr)
    ok(library().infiniopXChain(chain, addresses, ctypes.c_void_p(int(stream.handle))))
    got = [np.empty_like(x) for _ in range(2)]
    a.copy_to(got[0], stream=stream)
    c.copy_to(got[1], stream=stream)
    stream.sync()
    total = np.maximum(x + x[::-1], 0)
    np.testing.assert_array_equal(got[1], total)
    np.testing.assert_array_equal(got[0], total + x)
    assert library().infiniopXChain(chain, None, ctypes.c_void_p(int(stream.handle))) == ops.NULL_POINTER
    ok(library().infiniopXDestroyChainDescriptor(chain))
    assert library().infiniopXDestroyChainDescriptor(chain) == ops.BAD_PARAM
    assert "was destroyed" in message()
    assert library().infiniopXChain(chain, addresses, ctypes.c_void_p(int(stream.handle))) == ops.BAD_PARAM


def test_bad_input_is_refused_with_reasons(bench: Bench) -> None:
    vector, short, wide = bench.vector, bench.tensor("F32", [999]), bench.tensor("F64", [1000])
    repeated, complex_ = bench.tensor("F32", [1000], [0]), bench.tensor("C64", [1000])
    matrix = bench.tensor("F32", [8, 8])
    product = bench.operator("Gemm", c=matrix, a=matrix, b=matrix)
    good = [step(bench.add, [0, 1], 2)]
    cases = [
        ([vector] * 9, good, ops.BAD_PARAM, "9 operands and 1 steps; 1 to 8 operands and 1 to 16"),
        ([vector] * 3, good * 17, ops.BAD_PARAM, "3 operands and 17 steps"),
        ([vector] * 3, [step(bench.add, [0, 3], 2)], ops.BAD_PARAM, "input 1 is value 3; .* are 0 to 2"),
        ([vector] * 3, [step(bench.add, [0, 1], 3)], ops.BAD_PARAM, "output is 3; -1 to 2"),
        ([vector] * 3, [step(bench.add, [0, 1])], ops.BAD_PARAM, "no step writes"),
        ([vector] * 3, good * 2, ops.BAD_PARAM, "operand 2 is written by two steps"),
        ([vector, wide, vector], good, ops.BAD_DTYPE, "step 0: input 1 has type F64, but the operation takes F32"),
        ([vector, vector, wide], good, ops.BAD_DTYPE, "operand 2 has type F64, but the result is F32"),
        ([vector, short, vector], good, ops.BAD_SHAPE, r"operand 1 has shape \(999\), and what is written \(1000\)"),
        ([vector, vector, repeated], good, ops.BAD_STRIDES, "operand 2 is written, but has stride 0"),
        ([vector, complex_, vector], good, ops.NOT_IMPLEMENTED, "operand 1 has type C64"),
        ([matrix] * 3, [step(product, [0, 1], 2)], ops.NOT_IMPLEMENTED, "infiniopGemm|Gemm is not element-wise"),
        ([vector] * 3, [step(ctypes.c_void_p(64), [0, 1], 2)], ops.BAD_PARAM, "is not an operator descriptor"),
        ([vector, ctypes.c_void_p(64), vector], good, ops.BAD_PARAM, "operand 1: 0x40 is not a tensor descriptor"),
    ]  # fmt: skip
    wide_copy = bench.operator("Rearrange", y=complex_, x=complex_)
    cases.append(
        ([vector] * 3, [step(wide_copy, [0]), *good], ops.NOT_IMPLEMENTED, "step 0: .*Rearrange of type C64")
    )
    for operands, steps, expected, words in cases:
        status, _ = bench.create(operands, steps)
        assert status == expected, (words, message())
        with pytest.raises(AssertionError, match=words):
            raise AssertionError(message())


def test_nothing_is_done_to_tensors_without_elements(bench: Bench, device: str) -> None:
    empty = bench.tensor("F32", [0])
    status, chain = bench.create([empty] * 3, [step(bench.add, [0, 1], 2)])
    ok(status)
    stream = infinirt.Device(device).create_stream()
    ok(library().infiniopXChain(chain, (ctypes.c_void_p * 3)(), ctypes.c_void_p(int(stream.handle))))
    ok(library().infiniopXDestroyChainDescriptor(chain))
