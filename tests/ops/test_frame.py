"""Handles, descriptors, streams and graphs; and what is said when something is wrong with them."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from op_support import (
    BAD_DTYPE,
    BAD_PARAM,
    BAD_SHAPE,
    BAD_STRIDES,
    BY_NAME,
    NULL_POINTER,
    compute,
    create,
    create_tensor,
    destroy,
    handle,
    library,
    message,
    ok,
)

import infinirt

ADD, RELU, EQUAL, FILL = (BY_NAME[name] for name in ("Add", "Relu", "Equal", "Fill"))
Tensor = ctypes.c_void_p


@pytest.fixture
def owner() -> Iterator[ctypes.c_void_p]:
    with handle() as made:
        yield made


@pytest.fixture
def tensor() -> Iterator[Callable[..., Tensor]]:
    made: list[Tensor] = []

    def make(*shape: int, dtype: str = "F32", strides: list[int] | None = None) -> Tensor:
        status, descriptor = create_tensor(dtype, shape, strides)
        ok(status)
        made.append(descriptor)
        return descriptor

    yield make
    for descriptor in made:
        ok(library().infiniopDestroyTensorDescriptor(descriptor))


def refused(status: int, expected: int, *words: str) -> None:
    assert status == expected, (status, message())
    for word in words:
        assert word in message()


@pytest.mark.parametrize(
    ("dtype", "shape", "strides", "status", "words"),
    [
        (0, [2], None, BAD_DTYPE, ["dtype 0"]),
        (20, [2], None, BAD_DTYPE, ["dtype 20"]),
        (-1, [2], None, BAD_DTYPE, ["dtype -1"]),
        (13, [2] * 65, None, BAD_SHAPE, ["ndim is 65", "64"]),
        (13, [1 << 40, 1 << 40], None, BAD_SHAPE, ["shape", "memory"]),
        (13, [(1 << 64) - 1], None, BAD_SHAPE, ["shape"]),
        (13, [2, 3], [1 << 62, 1], BAD_STRIDES, ["strides[0]"]),
        (13, [2, 3], [-(1 << 62), 1], BAD_STRIDES, ["strides[0]"]),
    ],
)
def test_bad_tensors(dtype, shape, strides, status, words) -> None:
    refused(create_tensor(dtype, shape, strides)[0], status, "infiniopCreateTensorDescriptor", *words)


def test_empty_tensors_may_be_large_elsewhere() -> None:
    status, descriptor = create_tensor("F64", [0, 1 << 62, 1 << 62])
    ok(status)
    ok(library().infiniopDestroyTensorDescriptor(descriptor))


def test_nulls(owner, tensor) -> None:
    lib = library()
    refused(lib.infiniopCreateHandle(None), NULL_POINTER, "handle_ptr")
    refused(lib.infiniopDestroyHandle(None), NULL_POINTER, "handle")
    refused(lib.infiniopDestroyTensorDescriptor(None), NULL_POINTER, "desc")
    refused(lib.infiniopCreateTensorDescriptor(None, 0, None, None, 13), NULL_POINTER, "desc_ptr")
    result = ctypes.c_void_p()
    refused(
        lib.infiniopCreateTensorDescriptor(ctypes.byref(result), 2, None, None, 13), NULL_POINTER, "shape"
    )
    refused(create(ADD, None, dict.fromkeys("cab", tensor(2)))[0], NULL_POINTER, "handle")
    refused(create(ADD, owner, {"c": tensor(2), "a": tensor(2), "b": None})[0], NULL_POINTER, "b:")
    refused(lib.infiniopCreateReluDescriptor(owner, None, tensor(2), tensor(2)), NULL_POINTER, "desc_ptr")
    refused(lib.infiniopGetAddWorkspaceSize(None, ctypes.byref(ctypes.c_size_t())), NULL_POINTER, "desc")
    refused(destroy(ADD, ctypes.c_void_p()), NULL_POINTER, "infiniopDestroyAddDescriptor")


def test_bad_combinations_name_tensor_and_dimension(owner, tensor) -> None:
    t = tensor

    def add(c, a, b) -> int:
        return create(ADD, owner, {"c": c, "a": a, "b": b})[0]

    refused(
        add(t(2, 3), t(2, 3), t(2, 4)),
        BAD_SHAPE,
        "b has shape (2, 4)",
        "dimension 1",
        "size 4",
        "(2, 3)",
        "1 was",
    )
    refused(add(t(3), t(2, 3), t(3)), BAD_SHAPE, "a has shape (2, 3)", "more dimensions than c")
    refused(add(t(1), t(3), t(3)), BAD_SHAPE, "a has shape (3)")
    refused(add(t(3), t(3, dtype="F64"), t(3)), BAD_DTYPE, "F64", "F32", "must be the same")
    refused(add(*[t(3, dtype="C64")] * 3), BAD_DTYPE, "a has type C64", "F32", "I64")
    refused(add(t(2, 3, strides=[0, 1]), t(3), t(3)), BAD_STRIDES, "c has stride 0 in dimension 0")
    refused(
        create(EQUAL, owner, {"c": t(3, dtype="I64"), "a": t(3), "b": t(3)})[0],
        BAD_DTYPE,
        "c has type I64",
        "BOOL",
    )
    nine = [2] * 9
    backwards = [1 << (2 * d) for d in range(9)]
    refused(add(t(*nine, strides=backwards), t(*nine), t(*nine)), BAD_STRIDES, "more than 8", "Rearrange")


def test_destroyed_and_invented_pointers_are_told_apart(owner, tensor) -> None:
    status, dead = create_tensor("F32", [2])
    ok(status)
    ok(library().infiniopDestroyTensorDescriptor(dead))
    refused(
        library().infiniopDestroyTensorDescriptor(dead),
        BAD_PARAM,
        "not a tensor descriptor, or was destroyed",
    )
    refused(create(RELU, owner, {"y": tensor(2), "x": dead})[0], BAD_PARAM, "x:")
    refused(create(RELU, tensor(2), dict.fromkeys("yx", tensor(2)))[0], BAD_PARAM, "handle")
    for invented in (8, 0xDEADBEEF, ctypes.addressof(ctypes.c_int()), (1 << 64) - 1, (dead.value or 0) + 1):
        refused(library().infiniopDestroyHandle(ctypes.c_void_p(invented)), BAD_PARAM)
        refused(destroy(RELU, ctypes.c_void_p(invented)), BAD_PARAM)
    status, relu = create(RELU, owner, dict.fromkeys("yx", tensor(2)))
    ok(status)
    refused(destroy(ADD, relu), BAD_PARAM, "a descriptor of infiniopRelu, not of infiniopAdd")
    ok(destroy(RELU, relu))
    refused(destroy(RELU, relu), BAD_PARAM, "destroyed")
    refused(compute(RELU, relu, {"y": 8, "x": 8}), BAD_PARAM, "destroyed")
    # Its place is used again, and its old name still is not known.
    status, other = create(RELU, owner, dict.fromkeys("yx", tensor(2)))
    ok(status)
    refused(destroy(RELU, relu), BAD_PARAM)
    ok(destroy(RELU, other))


def test_compute_refuses_what_it_can_see(owner, tensor) -> None:
    status, relu = create(RELU, owner, dict.fromkeys("yx", tensor(2)))
    ok(status)
    memory = np.zeros(2, dtype=np.float32)
    refused(compute(RELU, relu, {"y": memory.ctypes.data, "x": None}), NULL_POINTER, "x is null")
    refused(compute(RELU, relu, {"y": None, "x": memory.ctypes.data}), NULL_POINTER, "y is null")
    with infinirt.Device().create_stream() as stream:
        gone = int(stream.handle)
    refused(compute(RELU, relu, {"y": 8, "x": 8}, gone), BAD_PARAM, "infiniopRelu", "destroyed")
    ok(destroy(RELU, relu))
    status, fill = create(FILL, owner, {"y": tensor(2)})
    ok(status)
    refused(compute(FILL, fill, {"y": memory.ctypes.data}), NULL_POINTER, "value")
    ok(destroy(FILL, fill))
    # An empty tensor has no address.
    status, relu = create(RELU, owner, dict.fromkeys("yx", tensor(0)))
    ok(status)
    ok(compute(RELU, relu, {"y": None, "x": None}))
    ok(destroy(RELU, relu))


def test_descriptors_know_their_device_and_need_no_workspace(owner, tensor) -> None:
    status, relu = create(RELU, owner, dict.fromkeys("yx", tensor(2)))
    ok(status)
    kind, number, size = ctypes.c_int(-1), ctypes.c_int(-1), ctypes.c_size_t(99)
    ok(library().infiniopGetDescriptorDeviceType(relu, ctypes.byref(kind)))
    ok(library().infiniopGetDescriptorDeviceId(relu, ctypes.byref(number)))
    ok(library().infiniopGetReluWorkspaceSize(relu, ctypes.byref(size)))
    assert (kind.value, number.value, size.value) == (0, 0, 0)
    refused(library().infiniopGetDescriptorDeviceId(relu, None), NULL_POINTER, "device_id")
    ok(destroy(RELU, relu))


def test_operators_can_be_captured_and_replayed(owner, tensor) -> None:
    """y = relu(x + x), with new input for every launch."""
    device = infinirt.Device()
    x, y = (np.zeros(5000, dtype=np.float32) for _ in range(2))
    status, add = create(ADD, owner, dict.fromkeys("cab", tensor(5000)))
    ok(status)
    status, relu = create(RELU, owner, dict.fromkeys("yx", tensor(5000)))
    ok(status)
    with device.create_stream() as stream:
        with infinirt.capture(stream) as captured:
            ok(
                compute(
                    ADD, add, {"c": y.ctypes.data, "a": x.ctypes.data, "b": x.ctypes.data}, int(stream.handle)
                )
            )
            ok(compute(RELU, relu, {"y": y.ctypes.data, "x": y.ctypes.data}, int(stream.handle)))
        # A graph holds what it needs.
        ok(destroy(ADD, add))
        ok(destroy(RELU, relu))
        with captured.graph.instantiate() as program:
            for seed in range(3):
                x[:] = np.random.default_rng(seed).normal(size=x.shape)
                program.launch(stream)
                stream.sync()
                assert np.array_equal(y, np.maximum(x + x, 0))


ELSEWHERE = """
import ctypes, sys
sys.path[:0] = sys.argv[1:]
from op_support import *
import infinirt
from infinirt import runtime as rt
result = ctypes.c_void_p()
"""


def elsewhere(code: str, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE + code, os.path.dirname(__file__)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_device_types_without_operators_say_so() -> None:
    elsewhere(
        "assert library().infiniopCreateHandle(ctypes.byref(result)) == TYPE_NOT_SUPPORTED\n"
        "assert \"device type 'cpu-min'\" in message() and 'only for: cpu' in message(), message()",
        INFINIRT_CPU_MIN="1",
        INFINIRT_DEVICE="cpu-min",
    )


def test_descriptors_belong_to_one_device() -> None:
    elsewhere(
        "relu = BY_NAME['Relu']\n"
        "with handle() as owner:\n"
        "    x = create_tensor('F32', [4])[1]\n"
        "    status, made = create(relu, owner, {'y': x, 'x': x}); ok(status)\n"
        "    rt.infinirtSetDevice(1)\n"
        "    assert compute(relu, made, {'y': 8, 'x': 8}) == BAD_PARAM\n"
        "    assert 'cpu:1' in message() and 'made for cpu:0' in message(), message()\n"
        "    assert create(relu, owner, {'y': x, 'x': x})[0] == BAD_PARAM\n"
        "    assert 'made for cpu:0' in message() and 'cpu:1' in message(), message()\n",
        INFINIRT_CPU_DEVICES="2",
    )


def test_every_instruction_set_gives_the_same() -> None:
    """Sums and products are not contracted, so that results do not depend on the machine."""
    code = (
        "import hashlib, itertools\n"
        "bits = hashlib.sha256()\n"
        "for dtype in ('F32', 'F16', 'BF16', 'F8'):\n"
        "    x = np.random.default_rng(1).normal(0, 3, 3001).astype(NUMPY[dtype])\n"
        "    for name in ('Tanh', 'Silu', 'Gelu', 'GeluTanh', 'Softplus', 'Selu', 'Hypot', 'Addcmul', 'SwiGLU'):\n"
        "        op = BY_NAME[name]\n"
        "        out = np.zeros_like(x)\n"
        "        arrays = {op.output.name: out, **{t.name: x for t in op.inputs}}\n"
        "        run(op, arrays, dict.fromkeys(arrays, dtype), **{a.name: 1.5 for a in op.attributes})\n"
        "        bits.update(out.tobytes())\n"
        "for dtype, shape in itertools.product(('F32', 'F16', 'BF16', 'F64'), ((7, 3001), (70, 33), (40, 130))):\n"
        "    x = np.random.default_rng(2).normal(0, 3, shape).astype(NUMPY[dtype])\n"
        "    for name in ('Softmax', 'LogSoftmax', 'RMSNorm'):\n"
        "        op = BY_NAME[name]\n"
        "        out = np.zeros_like(x)\n"
        "        arrays = {op.output.name: out, **{t.name: x if t.place == 'element' else x[0] for t in op.inputs}}\n"
        "        run(op, arrays, dict.fromkeys(arrays, dtype), **{a.name: 1.5 for a in op.attributes})\n"
        "        bits.update(out.tobytes())\n"
        "print(bits.hexdigest())\n"
    )
    answers = set()
    for level in ("plain", "v3", "v4"):
        done = subprocess.run(
            [sys.executable, "-c", ELSEWHERE + code, os.path.dirname(__file__)],
            env={**os.environ, "INFINIOP_CPU_LEVEL": level},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        answers.add(done.stdout)
    assert len(answers) == 1
