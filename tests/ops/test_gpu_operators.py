"""What only a GPU can show: capture, addresses of every alignment, workspaces, very long tensors, many devices' worth of descriptors."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest
from op_support import (
    BAD_PARAM,
    BY_NAME,
    INSUFFICIENT_WORKSPACE,
    NULL_POINTER,
    NUMPY,
    Array,
    compute,
    create,
    create_tensor,
    destroy,
    handle,
    library,
    message,
    ok,
    using,
)

import infinirt
from infinirt import runtime as rt

pytestmark = pytest.mark.gpu
ADD, RELU, GEMM, FILL = (BY_NAME[name] for name in ("Add", "Relu", "Gemm", "Fill"))
TO_DEVICE, TO_HOST = (
    rt.infinirtMemcpyKind.infinirtMemcpyHostToDevice,
    rt.infinirtMemcpyKind.infinirtMemcpyDeviceToHost,
)


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with using("nvidia"):
        yield


class Memory:
    """Bytes of the GPU."""

    def __init__(self, size: int) -> None:
        error, address = rt.infinirtMalloc(size)
        assert int(error) == 0, message()
        self.address = int(address)

    def put(self, array: Array, offset: int = 0) -> int:
        assert (
            int(rt.infinirtMemcpy(self.address + offset, array.ctypes.data, array.nbytes, TO_DEVICE)[0]) == 0
        )
        return self.address + offset

    def get(self, like: Array, offset: int = 0) -> Array:
        result = np.empty_like(like)
        assert (
            int(rt.infinirtMemcpy(result.ctypes.data, self.address + offset, result.nbytes, TO_HOST)[0]) == 0
        )
        return result

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        rt.infinirtFree(self.address)


def descriptor(operator, dtype: str, **shapes: list[int]) -> ctypes.c_void_p:
    with handle() as owner:
        tensors = {name: create_tensor(dtype, shape)[1] for name, shape in shapes.items()}
        status, made = create(operator, owner, tensors)
        ok(status)
        for tensor in tensors.values():
            ok(library().infiniopDestroyTensorDescriptor(tensor))
    return made


def workspace_of(gemm: ctypes.c_void_p) -> int:
    size = ctypes.c_size_t()
    ok(library().infiniopGetGemmWorkspaceSize(gemm, ctypes.byref(size)))
    return size.value


@pytest.mark.parametrize("dtype", ["F8", "BF16", "F32", "F64"])
def test_addresses_of_every_alignment(dtype: str) -> None:
    count = 4099
    add = descriptor(ADD, dtype, c=[count], a=[count], b=[count])
    size = np.dtype(NUMPY[dtype]).itemsize
    x = np.random.default_rng(0).integers(-8, 8, count).astype(NUMPY[dtype])
    with Memory(count * size + 64) as c, Memory(count * size + 64) as a, Memory(count * size + 64) as b:
        for shifts in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 3), (16 // size, 0, 16 // size)):
            places = [memory.put(x, shift * size) for memory, shift in zip((c, a, b), shifts, strict=True)]
            ok(compute(ADD, add, dict(zip("cab", places, strict=True))))
            got = c.get(x, shifts[0] * size)
            assert np.array_equal(got.astype(np.float64), (x.astype(np.float64) * 2)), (dtype, shifts)
        if size > 1:
            places = {"c": c.address + 1, "a": a.address, "b": b.address}
            assert compute(ADD, add, places) == BAD_PARAM
            assert "c is at" in message()
            assert "multiple" in message()
    ok(destroy(ADD, add))


def test_capture_and_replay() -> None:
    """relu(a b + c) in a graph, with new input for every launch; creating and computing allocate nothing in a capture."""
    m, n, k = 256, 512, 128
    gemm = descriptor(GEMM, "BF16", c=[m, n], a=[m, k], b=[k, n])
    relu = descriptor(RELU, "BF16", y=[m, n], x=[m, n])
    needed = workspace_of(gemm)
    bf16 = NUMPY["BF16"]
    with (
        Memory(m * n * 2) as c,
        Memory(m * k * 2) as a,
        Memory(k * n * 2) as b,
        Memory(max(needed, 1)) as space,
    ):
        addresses = {"c": c.address, "a": a.address, "b": b.address}
        device = infinirt.Device("nvidia")
        with device.create_stream() as stream:
            where = int(stream.handle)

            def enqueue() -> None:
                ok(
                    compute(
                        GEMM, gemm, addresses, where, workspace=(space.address, needed), alpha=1.0, beta=1.0
                    )
                )
                ok(compute(RELU, relu, {"y": c.address, "x": c.address}, where))

            enqueue()  # the library loads its kernel with the first call
            stream.sync()
            with infinirt.capture(stream) as captured:
                enqueue()
            with captured.graph.instantiate() as program:
                for seed in range(3):
                    random = np.random.default_rng(seed)
                    x, y, z = (random.normal(size=s).astype(bf16) for s in ((m, k), (k, n), (m, n)))
                    a.put(x), b.put(y), c.put(z)
                    program.launch(stream)
                    stream.sync()
                    wide = [array.astype(np.float64) for array in (x, y, z)]
                    expected = np.maximum(wide[0] @ wide[1] + wide[2], 0)
                    assert np.allclose(c.get(z).astype(np.float64), expected, rtol=2e-2, atol=2e-1)
    ok(destroy(GEMM, gemm))
    ok(destroy(RELU, relu))


def test_workspaces_that_do_not_suffice() -> None:
    with handle() as owner:
        tensors = {
            "c": create_tensor("F32", [64, 64])[1],
            "a": create_tensor("F32", [64, 64], [256, 2])[1],  # has to be copied
            "b": create_tensor("F32", [64, 64])[1],
        }
        status, gemm = create(GEMM, owner, tensors)
        ok(status)
        for tensor in tensors.values():
            ok(library().infiniopDestroyTensorDescriptor(tensor))
    needed = workspace_of(gemm)
    assert needed >= 64 * 64 * 4
    addresses = dict.fromkeys("cab", 256)
    assert (
        compute(GEMM, gemm, addresses, workspace=(256, needed - 1), alpha=1, beta=0) == INSUFFICIENT_WORKSPACE
    )
    assert f"needs {needed} bytes" in message()
    assert compute(GEMM, gemm, addresses, workspace=(None, needed), alpha=1, beta=0) == NULL_POINTER
    assert "workspace is null" in message()
    ok(destroy(GEMM, gemm))


@pytest.mark.parametrize("shift", [1, 3, 8])
@pytest.mark.parametrize("dtype", ["F16", "F32"])
def test_products_at_addresses_that_vectors_do_not_like(dtype: str, shift: int) -> None:
    m, n, k = 65, 33, 47
    gemm = descriptor(GEMM, dtype, c=[m, n], a=[m, k], b=[k, n])
    size = np.dtype(NUMPY[dtype]).itemsize
    random = np.random.default_rng(shift)
    x, y, z = (random.normal(size=s).astype(NUMPY[dtype]) for s in ((m, k), (k, n), (m, n)))
    needed = workspace_of(gemm)
    with Memory(1 << 16) as c, Memory(1 << 16) as a, Memory(1 << 16) as b, Memory(max(needed, 1)) as space:
        places = {"c": c.put(z, shift * size), "a": a.put(x, shift * size), "b": b.put(y, shift * size)}
        ok(compute(GEMM, gemm, places, workspace=(space.address, needed), alpha=1.0, beta=0.0))
        got = c.get(z, shift * size).astype(np.float64)
    expected = x.astype(np.float64) @ y.astype(np.float64)
    assert np.allclose(got, expected, rtol=1e-2, atol=5e-2)
    ok(destroy(GEMM, gemm))


def test_more_than_4_gib_of_elements() -> None:
    """Indices beyond 32 bits: the ends of a tensor of 2^32 + 1024 bytes, and rows that lie further apart than 2 GiB."""
    count = (1 << 32) + 1024
    fill = descriptor(FILL, "U8", y=[count])
    add = descriptor(ADD, "U8", c=[count], a=[count], b=[count])
    with Memory(count) as memory:
        ok(compute(FILL, fill, {"y": memory.address}, element=np.array([21], dtype=np.uint8)))
        ok(compute(ADD, add, dict.fromkeys("cab", memory.address)))
        for offset in (0, (1 << 31) - 512, (1 << 32) - 512, count - 1024):
            assert (memory.get(np.empty(1024, dtype=np.uint8), min(offset, count - 1024)) == 42).all()
        with handle() as owner:
            rows = create_tensor("U8", [2, 1000], [1 << 32, 1])[1]
            flat = create_tensor("U8", [2, 1000])[1]
            status, spread = create(RELU, owner, {"y": flat, "x": rows})
            ok(status)
        with Memory(2000) as out:
            memory.put(np.arange(1000, dtype=np.uint8), 1 << 32)
            ok(compute(RELU, spread, {"y": out.address, "x": memory.address}))
            got = out.get(np.empty((2, 1000), dtype=np.uint8))
        assert (got[0] == 42).all()
        assert np.array_equal(got[1], np.arange(1000, dtype=np.uint8))
    for operator, made in ((FILL, fill), (ADD, add), (RELU, spread)):
        ok(destroy(operator, made))
