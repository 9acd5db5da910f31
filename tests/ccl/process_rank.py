"""One rank of a communicator between processes; what it does is named by the first argument. Run by test_processes.py."""

from __future__ import annotations

import os
import sys
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from collective_support import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    OPERATIONS,
    REDUCING,
    REDUCTIONS,
    Array,
    agree,
    expected,
    issue,
    numpy_dtype,
    on_device,
    random_array,
    read,
    send_count,
    varied_counts,
)

import infiniccl
import infinirt
from infiniccl import Communicator


def right(out: Array, answer: Array) -> bool:
    """The same bits; but MPI adds in an order of its own."""
    if "PMI_RANK" not in os.environ or out.dtype.kind in "biu":
        return agree(out, answer)
    wide = np.complex128 if out.dtype.kind == "c" else np.float64
    tolerance = {1: 0.13, 2: 1e-2}.get(out.dtype.itemsize, 1e-5)
    return bool(np.allclose(out.astype(wide), answer.astype(wide), rtol=tolerance, atol=1e-6, equal_nan=True))


def check(
    comm: Communicator, operation: str, count: int, dtype: str, op: str = "sum", captured: bool = False
) -> None:
    """Every rank makes the input of all, and knows what it must get. Eager with memory of the host, captured with a device's."""
    rng = np.random.default_rng(zlib.crc32(repr((operation, count, dtype, op)).encode()))
    ranks, root = comm.size, comm.size // 2
    counts = varied_counts(count, ranks) if operation.endswith("_v") else [count] * ranks
    sends = [random_array(rng, send_count(operation, count, counts, r), dtype) for r in range(ranks)]
    if operation == "scatter":
        sends = [each if r == root else each[:0] for r, each in enumerate(sends)]
    answer = expected(operation, sends, op, root, counts)[comm.rank]
    kind = numpy_dtype(dtype)
    size = count * ranks if operation == "gather" else count if operation == "reduce" else answer.size
    out = np.full(size * kind.itemsize, 0xA5, np.uint8).view(kind)
    options: dict[str, Any] = {"op": op, "root": root, "counts": counts}
    if captured:
        stream = comm.device.create_stream()
        send, recv = (on_device(each, comm.device, stream) for each in (sends[comm.rank], out))
        with infinirt.capture(stream, mode="relaxed") as graph, infiniccl.group():
            issue(comm, operation, send, recv, dtype=dtype, stream=stream, **options)
        ready = graph.graph.instantiate()
        for _ in range(2):
            ready.launch(stream)
        stream.sync()
        out = read(recv, kind)
    else:
        with infiniccl.group():
            issue(comm, operation, sends[comm.rank].copy(), out, **options)
    if operation not in ("reduce", "gather") or comm.rank == root:
        assert right(out, answer), f"{operation} of {count} {dtype}, {op}, on rank {comm.rank}, {captured=}"


def matrix(comm: Communicator) -> None:
    for operation in OPERATIONS:
        for count in (0, 1, 7, 5000, 300_001):  # up to several chunks
            check(comm, operation, count, "float32")
        for dtype in ("bfloat16", "int8", "float64"):
            for op in ("avg", "max") if operation in REDUCING else ("sum",):
                check(comm, operation, 1000, dtype, op)
    check(comm, "all_reduce", 1_100_003, "float32", "avg")  # long enough for a way of its own
    check(comm, "all_reduce", 600_000, "int64", "max")


def graphs(comm: Communicator) -> None:
    """Every operation, captured."""
    for operation in OPERATIONS:
        for count in (0, 1, 7, 5000):
            check(comm, operation, count, "float32", captured=True)
    check(comm, "all_reduce", 300_001, "bfloat16", "avg", captured=True)


def everything(comm: Communicator) -> None:
    """All operations, types and reductions; and sizes from nothing to 64 MiB, eager and captured."""
    for operation in OPERATIONS:
        for dtype in (*FLOATS, *INTEGERS, *COMPLEX, "bool"):
            for op in REDUCTIONS if operation in REDUCING else ("sum",):
                if (dtype in COMPLEX and op in ("max", "min")) or (dtype == "bool" and op == "avg"):
                    continue
                for count in (1, 37):
                    check(comm, operation, count, dtype, op)
                check(comm, operation, 37, dtype, op, captured=dtype in ("float32", "int8", "bfloat16"))
        for count in (0, 1, 3, 257, 8191, 262_144):
            for captured in (False, True):
                check(comm, operation, count, "float32", captured=captured)
    for operation in ("all_reduce", "broadcast", "all_gather", "reduce_scatter", "send_recv"):
        parts = comm.size if operation in ("all_gather", "reduce_scatter") else 1
        check(comm, operation, 16 * 2**20 // parts, "float32")  # 64 MiB
    check(comm, "all_reduce", 16 * 2**20, "float32", captured=True)


def streams(comm: Communicator) -> None:
    """Several operations under way at once, on several streams; ranks choose different ones. And in graphs."""
    device = infinirt.Device("cpu")
    all_streams = [device.create_stream() for _ in range(3)]
    buffers = []
    for number in range(40):
        stream = all_streams[(number * (comm.rank + 1)) % 3]
        buffer = on_device(np.full(100, number + comm.rank, np.int32), device, stream)
        comm.all_reduce(buffer, dtype="int32", op="max", stream=stream)
        buffers.append(buffer)
    device.sync()
    for number, buffer in enumerate(buffers):
        assert set(read(buffer, np.dtype(np.int32))) == {number + comm.size - 1}
    left, right = (on_device(np.full(1000, 1, np.int64), device, all_streams[0]) for _ in range(2))
    with infinirt.capture(all_streams[0], mode="relaxed") as captured:
        all_streams[1].wait(all_streams[0])
        comm.all_reduce(left, dtype="int64", stream=all_streams[0])
        comm.all_reduce(right, dtype="int64", stream=all_streams[1])
        all_streams[0].wait(all_streams[1])
    ready = captured.graph.instantiate()
    for _ in range(5):
        ready.launch(all_streams[0])
        comm.barrier(stream=all_streams[0])
    device.sync()
    for buffer in (left, right):
        assert set(read(buffer, np.dtype(np.int64))) == {comm.size**5}


def report(comm: Communicator, call: Callable[[], None]) -> None:
    """Prints how long the call took to fail and what it said, and shows that this process can go on."""
    begin = time.monotonic()
    try:
        call()
    except infinirt.InfiniRTError as error:
        print(f"rank {comm.rank} after {time.monotonic() - begin:.1f} s: {error}", flush=True)
    else:
        print(f"rank {comm.rank} saw nothing", flush=True)
    comm.abort()
    comm.close()
    alone = infiniccl.init_rank(1, infiniccl.unique_id(), 0, "cpu")
    array = np.ones(3)
    alone.all_reduce(array)
    assert list(array) == [1, 1, 1]


def die(comm: Communicator) -> None:
    """The last rank is killed in the middle of many large operations; the others find out."""
    array = np.ones(1_000_000, np.float32)

    def call() -> None:
        for number in range(1000):
            comm.all_reduce(array, op="max")
            if number == 0 and comm.rank == comm.size - 1:
                print("ready", flush=True)

    report(comm, call)


def hang(comm: Communicator) -> None:
    """The last rank never comes to the second operation."""
    comm.barrier()
    comm.device.sync()
    comm.timeout = 0.5
    if comm.rank == comm.size - 1:
        print("ready", flush=True)
        time.sleep(30)
        os._exit(0)
    report(comm, lambda: comm.all_reduce(np.ones(5)))


def mismatch(comm: Communicator) -> None:
    report(comm, lambda: comm.all_reduce(np.ones(5 + comm.rank)))


def mismatch_only(comm: Communicator) -> None:
    try:
        comm.all_reduce(np.ones(5 + comm.rank))
    except infinirt.InfiniRTError as error:
        print(error, flush=True)


def leave(comm: Communicator) -> None:
    """The last rank destroys its communicator; the others still call."""
    if comm.rank == comm.size - 1:
        comm.close()
        time.sleep(2)
        return
    report(comm, lambda: comm.all_reduce(np.ones(5)))


def main() -> None:
    role = sys.argv[1]
    if "PMI_RANK" in os.environ:  # started by MPI's launcher
        comm = infiniccl.init_process_group(transport="mpi", device="cpu")
    else:
        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        comm = infiniccl.init_rank(size, infiniccl.named_id(os.environ["NAME"]), rank, "cpu")
    {f.__name__: f for f in (matrix, graphs, everything, streams, die, hang, mismatch, mismatch_only, leave)}[
        role
    ](comm)
    if role in ("matrix", "graphs", "everything", "streams"):
        comm.close()
        print("agrees", flush=True)


if __name__ == "__main__":
    main()
