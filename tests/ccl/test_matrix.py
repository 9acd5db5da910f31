"""All operations, types, reductions and sizes on devices of this process, against NumPy, bit for bit."""

from __future__ import annotations

import zlib
from contextlib import ExitStack

import numpy as np
import pytest
from collective_support import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    OPERATIONS,
    REDUCING,
    REDUCTIONS,
    agree,
    allocate,
    expected,
    issue,
    make_communicators,
    numpy_dtype,
    on_device,
    random_array,
    read,
    send_count,
    varied_counts,
)

import infiniccl
import infinirt

SIZES = (0, 1, 7, 256, 5000)
RANKS = (1, 2, 3, 5, 8)


def run(operation: str, ranks: int, count: int, dtype: str, op: str = "sum", captured: bool = False) -> None:
    rng = np.random.default_rng(zlib.crc32(repr((operation, ranks, count, dtype, op)).encode()))
    root = ranks // 2
    counts = varied_counts(count, ranks) if operation.endswith("_v") else [count] * ranks
    sends = [random_array(rng, send_count(operation, count, counts, r), dtype) for r in range(ranks)]
    if operation == "scatter":
        sends = [each if r == root else each[:0] for r, each in enumerate(sends)]
    answers = expected(operation, sends, op, root, counts)
    device = infinirt.Device("cpu")
    comms = make_communicators(ranks)
    streams = [device.create_stream() for _ in comms]
    ins = [on_device(array, device, stream) for array, stream in zip(sends, streams, strict=True)]
    # All buffers of a rank that receives have its size, those of others one, too: operations check them.
    size = max(answer.nbytes for answer in answers)
    outs = [
        allocate(device, size if operation in ("reduce", "gather") else answer.nbytes) for answer in answers
    ]
    for out in outs:
        if out.size:
            out.fill(0xA5)
    device.sync()

    with ExitStack() as stack:
        captures = [
            stack.enter_context(infinirt.capture(stream, mode="relaxed")) for stream in streams if captured
        ]
        with infiniccl.group():
            for comm, send, recv, stream in zip(comms, ins, outs, streams, strict=True):
                issue(
                    comm, operation, send, recv, op=op, root=root, counts=counts, dtype=dtype, stream=stream
                )
    graphs = [each.graph.instantiate() for each in captures]
    for _ in range(2):
        for graph, stream in zip(graphs, streams, strict=False):
            graph.launch(stream)
    for stream in streams:
        stream.sync()
    kind = numpy_dtype(dtype)
    for rank, (out, answer) in enumerate(zip(outs, answers, strict=True)):
        if operation in ("reduce", "gather") and rank != root:
            assert set(bytes(out)) <= {0xA5}, f"rank {rank} is not the root, and was written to"
        else:
            assert agree(read(out, kind), answer), f"rank {rank}"
    for comm in comms:
        assert comm.error is None
        comm.close()


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("ranks", RANKS)
def test_every_size(operation: str, ranks: int) -> None:
    for count in SIZES:
        run(operation, ranks, count, "float32")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_captured(operation: str) -> None:
    """A graph for each rank, replayed twice."""
    for ranks in (1, 2, 3, 8):
        for count in (0, 7, 5000):
            run(operation, ranks, count, "float32", captured=True)


@pytest.mark.full
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("ranks", range(1, 9))
def test_every_number_of_ranks_up_to_large_sizes(operation: str, ranks: int) -> None:
    """From 1 KiB to 64 MiB in all buffers together, eager and captured."""
    for size in (1 << 10, 1 << 16, 1 << 20, 64 << 20):
        for captured in (False, True):
            run(operation, ranks, size // 4 // ranks**2 + 1, "float32", captured=captured)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, *COMPLEX, "bool"])
def test_every_type_and_reduction(dtype: str) -> None:
    for op in REDUCTIONS:
        if (dtype in COMPLEX and op in ("max", "min")) or (dtype == "bool" and op == "avg"):
            continue
        for operation in REDUCING:
            for ranks in (2, 3):
                run(operation, ranks, 1000, dtype, op)


@pytest.mark.parametrize("dtype", ["int8", "float16", "complex128"])
def test_movement_of_every_width(dtype: str) -> None:
    for operation in OPERATIONS:
        if operation not in REDUCING:
            run(operation, 3, 131, dtype)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_large(operation: str) -> None:
    """Shared out over the workers, and past the caches."""
    run(operation, 2, 300_001, "float32")
    if operation == "all_reduce":
        run(operation, 2, (64 << 20) // 4 // 3, "float32")
        run(operation, 3, 1_000_003, "bfloat16", "avg")


def test_in_place() -> None:
    device = infinirt.Device("cpu")
    ranks, count = 3, 1000
    rng = np.random.default_rng(5)
    kind = np.dtype(np.int32)
    for operation in (
        "all_reduce",
        "broadcast",
        "reduce",
        "all_gather",
        "reduce_scatter",
        "gather",
        "scatter",
    ):
        comms = make_communicators(ranks)
        stream = device.create_stream()
        whole = [random_array(rng, ranks * count, "int32") for _ in range(ranks)]
        buffers = [on_device(array, device, stream) for array in whole]
        part = count * 4
        with infiniccl.group():
            for rank, (comm, buffer) in enumerate(zip(comms, buffers, strict=True)):
                own = buffer[rank * part : (rank + 1) * part]
                if operation in ("all_gather", "gather"):
                    issue(comm, operation, own, buffer, root=1, dtype="int32", stream=stream)
                elif operation in ("reduce_scatter", "scatter"):
                    issue(comm, operation, buffer, own, root=1, dtype="int32", stream=stream)
                else:
                    issue(comm, operation, buffer, None, root=1, dtype="int32", stream=stream)
        stream.sync()
        parts = [array.reshape(ranks, count) for array in whole]
        total = np.sum(whole, axis=0, dtype=np.int32)
        for rank, buffer in enumerate(buffers):
            result = read(buffer, kind)
            own = result.reshape(ranks, count)[rank]
            match operation:
                case "all_reduce":
                    assert np.array_equal(result, total)
                case "broadcast":
                    assert np.array_equal(result, whole[1])
                case "reduce":
                    assert np.array_equal(result, total if rank == 1 else whole[rank])
                case "all_gather":
                    assert np.array_equal(result, np.concatenate([p[r] for r, p in enumerate(parts)]))
                case "gather":
                    gathered = np.concatenate([p[r] for r, p in enumerate(parts)])
                    assert np.array_equal(result, gathered if rank == 1 else whole[rank])
                case "reduce_scatter":
                    assert np.array_equal(own, total.reshape(ranks, count)[rank])
                case "scatter":
                    assert np.array_equal(own, parts[1][rank])


def test_not_a_number_wins_extremes() -> None:
    with np.errstate(all="ignore"):
        arrays = [np.array([1, np.nan, 3], np.float32), np.array([2, 5, np.nan], np.float32)]
        for op in ("max", "min"):
            comms = make_communicators(2)
            copies = [array.copy() for array in arrays]
            with infiniccl.group():
                for comm, array in zip(comms, copies, strict=True):
                    comm.all_reduce(array, op=op)
            assert np.array_equal(np.isnan(copies[0]), [False, True, True])
            assert copies[0][0] == (2 if op == "max" else 1)
