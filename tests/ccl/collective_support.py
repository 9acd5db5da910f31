"""What the tests of collectives share: random input, NumPy's answer, and a run on devices of this process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import ml_dtypes
import numpy as np

import infiniccl
import infinirt
from infiniccl import Communicator

FLOATS = ("float32", "float64", "float16", "bfloat16", "float8_e4m3fn")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")
REDUCTIONS = ("sum", "prod", "max", "min", "avg")
OPERATIONS = (
    "all_reduce", "broadcast", "reduce", "all_gather", "all_gather_v", "reduce_scatter", "reduce_scatter_v", "all_to_all",
    "gather", "scatter", "send_recv",
)  # fmt: skip
REDUCING = ("all_reduce", "reduce", "reduce_scatter", "reduce_scatter_v")

Array = np.ndarray[Any, np.dtype[Any]]


def numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def random_array(rng: np.random.Generator, count: int, dtype: str) -> Array:
    """Small numbers, so that products of eight stay finite and sums of narrow types differ from one another."""
    kind = numpy_dtype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, count).astype(bool)
    if dtype in INTEGERS:
        return rng.integers(0 if dtype[0] == "u" else -7, 8, count).astype(kind)
    values = rng.uniform(0.5, 2.0, count) * rng.choice([-1.0, 1.0], count)
    if dtype in COMPLEX:
        return (values + 1j * rng.uniform(-1, 1, count)).astype(kind)
    return values.astype(kind)


def reduced(arrays: Sequence[Array], op: str) -> Array:
    """In the order of ranks, in float32 for narrow types, rounded once."""
    kind = arrays[0].dtype
    if kind.kind == "b":
        return np.asarray(reduce(np.logical_or if op in ("sum", "max") else np.logical_and, arrays))
    narrow = kind.itemsize <= 2 and kind not in map(np.dtype, INTEGERS)
    wide = [array.astype(np.float32) if narrow else array for array in arrays]
    functions: dict[str, Any] = {
        "sum": np.add,
        "avg": np.add,
        "prod": np.multiply,
        "max": np.maximum,
        "min": np.minimum,
    }
    with np.errstate(all="ignore"):
        result = reduce(functions[op], wide)
        if op == "avg":
            if kind in map(np.dtype, INTEGERS):
                n = len(arrays)
                exact = [int(v) for v in result.reshape(-1)]
                result = np.array([abs(v) // n * (1 if v >= 0 else -1) for v in exact], dtype=kind)
            else:
                result = result / wide[0].dtype.type(len(arrays))
        return np.asarray(result.astype(kind))


def expected(
    operation: str, sends: Sequence[Array], op: str, root: int, counts: Sequence[int]
) -> list[Array]:
    """What each rank receives; None where it receives nothing is an empty array."""
    n = len(sends)
    nothing = sends[0][:0]
    starts = np.cumsum([0, *counts])
    match operation:
        case "all_reduce":
            return [reduced(sends, op)] * n
        case "reduce":
            return [reduced(sends, op) if r == root else nothing for r in range(n)]
        case "broadcast":
            return [sends[root]] * n
        case "all_gather" | "all_gather_v":
            return [np.concatenate(sends)] * n
        case "reduce_scatter" | "reduce_scatter_v":
            whole = reduced(sends, op)
            return [whole[starts[r] : starts[r + 1]] for r in range(n)]
        case "all_to_all":
            parts = [np.array_split(send, n) for send in sends]
            return [np.concatenate([parts[q][r] for q in range(n)]) for r in range(n)]
        case "gather":
            return [np.concatenate(sends) if r == root else nothing for r in range(n)]
        case "scatter":
            return list(np.array_split(sends[root], n))
        case "send_recv":  # to the next rank, from the one before
            return [sends[(r - 1) % n] for r in range(n)]
    raise AssertionError(operation)


def send_count(operation: str, count: int, counts: Sequence[int], rank: int) -> int:
    """Elements that a rank gives; `count` is what one part has."""
    if operation == "all_gather_v":
        return counts[rank]
    if operation in ("reduce_scatter", "all_to_all", "scatter"):
        return count * len(counts)
    return sum(counts) if operation == "reduce_scatter_v" else count


def varied_counts(count: int, ranks: int) -> list[int]:
    return [count + (rank * 3) % 5 - min(count, 2) for rank in range(ranks)]


def issue(
    comm: Communicator,
    operation: str,
    send: Any,
    recv: Any,
    *,
    op: str = "sum",
    root: int = 0,
    counts: Sequence[int] = (),
    dtype: Any = None,
    stream: infinirt.Stream | None = None,
) -> None:
    """One rank's call. `send_recv` needs a group around it."""
    options: dict[str, Any] = {"dtype": dtype, "stream": stream}
    if operation == "send_recv":
        comm.send(send, (comm.rank + 1) % comm.size, **options)
        comm.recv(recv, (comm.rank - 1) % comm.size, **options)
        return
    if operation in REDUCING:
        options["op"] = op
    if operation in ("reduce", "broadcast", "gather", "scatter"):
        options["root"] = root
    if operation.endswith("_v"):
        getattr(comm, operation)(send, recv, counts, **options)
        return
    getattr(comm, operation)(send, recv, **options)


def allocate(device: infinirt.Device, nbytes: int) -> infinirt.Buffer:
    """A Buffer of so many bytes; there are none without any."""
    return device.allocate(max(nbytes, 1))[:nbytes] if nbytes == 0 else device.allocate(nbytes)


def on_device(array: Array, device: infinirt.Device, stream: infinirt.Stream) -> infinirt.Buffer:
    buffer = allocate(device, array.nbytes)
    if array.nbytes:
        buffer.copy_from(array.view(np.uint8), stream=stream)
    return buffer


def read(buffer: infinirt.Buffer, dtype: np.dtype[Any]) -> Array:
    out = np.zeros(buffer.size, np.uint8)
    if buffer.size:
        buffer.copy_to(out)
    return out.view(dtype)


def agree(a: Array, b: Array) -> bool:
    """The same bits; but NumPy has ways of its own to multiply and divide complex numbers."""
    if a.dtype.kind == "c":
        return bool(np.allclose(a, b, rtol=1e-5, atol=1e-5))
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def make_communicators(ranks: int) -> list[Communicator]:
    """All on one device: what differs between devices is tested on its own."""
    return infiniccl.init_all([0] * ranks)
