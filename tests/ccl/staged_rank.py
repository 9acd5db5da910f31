"""Ranks on devices whose memory the host cannot reach and that have no collectives of their own; what they do is named by the first
argument. Run by test_staged.py with the plugin in INFINIRT_PLUGIN_PATH: all ranks in one process, or one of several processes, whose
devices STAGED_DEVICES names in the order of ranks."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from collective_support import (
    OPERATIONS,
    REDUCING,
    Array,
    agree,
    allocate,
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

IN_PLACE = ("all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter")
SEVERAL_CHUNKS = 2_500_001  # of four bytes: chunks are of 4 MiB


class Rank:
    """A rank of this process with the buffers of one operation."""

    def __init__(self, comm: Communicator) -> None:
        self.comm = comm
        self.stream = comm.device.create_stream()

    def prepare(self, operation: str, send: Array, elements: int, in_place: bool) -> None:
        kind, device = send.dtype, self.comm.device
        self.given, self.elements = send, elements
        if not in_place:
            self.send = on_device(send, device, self.stream)
            self.recv = allocate(device, elements * kind.itemsize)
            self.source = self.send
        elif operation == "all_gather":
            self.recv = allocate(device, elements * kind.itemsize)
            begin = self.comm.rank * send.nbytes
            self.send = self.source = self.recv[begin : begin + send.nbytes]
        else:
            self.send = self.source = allocate(device, send.nbytes)
            size = elements * kind.itemsize
            begin = self.comm.rank * size if operation == "reduce_scatter" else 0
            self.recv = self.send[begin : begin + size]
        self.refill()

    def refill(self) -> None:
        if self.given.nbytes:
            self.source.copy_from(self.given.view(np.uint8), stream=self.stream)


def right(out: Array, answer: Array) -> bool:
    """The same bits; but MPI adds in an order of its own."""
    if "PMI_RANK" not in os.environ or out.dtype.kind in "biu":
        return agree(out, answer)
    tolerance = {1: 0.13, 2: 1e-2}.get(out.dtype.itemsize, 1e-5)
    return bool(np.allclose(out.astype(np.float64), answer.astype(np.float64), rtol=tolerance, atol=1e-6))


def check(
    ranks: Sequence[Rank],
    operation: str,
    count: int,
    dtype: str,
    op: str = "sum",
    *,
    captured: bool = False,
    in_place: bool = False,
) -> None:
    """Every process makes the input of all ranks, and knows what its own must get."""
    rng = np.random.default_rng(zlib.crc32(repr((operation, count, dtype, op)).encode()))
    size = ranks[0].comm.size
    root = size // 2
    counts = varied_counts(count, size) if operation.endswith("_v") else [count] * size
    sends = [random_array(rng, send_count(operation, count, counts, r), dtype) for r in range(size)]
    answers = expected(operation, sends, op, root, counts)
    kind = numpy_dtype(dtype)
    for rank in ranks:
        answer = answers[rank.comm.rank]
        elements = count if operation == "reduce" else count * size if operation == "gather" else answer.size
        rank.prepare(operation, sends[rank.comm.rank], elements, in_place)

    def call(rank: Rank) -> None:
        options: dict[str, Any] = {"op": op, "root": root, "counts": counts, "dtype": dtype}
        issue(rank.comm, operation, rank.send, rank.recv, stream=rank.stream, **options)

    def compare() -> None:
        for rank in ranks:
            rank.stream.sync()
            if operation not in ("reduce", "gather") or rank.comm.rank == root:
                out = read(rank.recv, kind)
                assert right(out, answers[rank.comm.rank]), (
                    f"{operation} of {count} {dtype}, {op}, rank {rank.comm.rank}, {captured=}, {in_place=}"
                )

    if not captured:
        with infiniccl.group():
            for rank in ranks:
                call(rank)
        compare()
        return
    graphs = []
    for rank in ranks:
        with infinirt.capture(rank.stream, mode="relaxed") as made, infiniccl.group():
            call(rank)
        graphs.append(made.graph.instantiate())
    for _ in range(2):
        for rank, graph in zip(ranks, graphs, strict=True):
            rank.refill()
            graph.launch(rank.stream)
        compare()


def matrix(ranks: Sequence[Rank]) -> None:
    for operation in OPERATIONS:
        for captured in (False, True):
            for count in (0, 1, 1003):
                check(ranks, operation, count, "float32", captured=captured)
            if operation in IN_PLACE:
                check(ranks, operation, 1003, "int32", captured=captured, in_place=True)
        for dtype in ("bfloat16", "int8", "float64"):
            for op in ("avg", "max") if operation in REDUCING else ("sum",):
                check(ranks, operation, 777, dtype, op)
        check(ranks, operation, SEVERAL_CHUNKS // (1 if operation in IN_PLACE[:3] else 2), "int32")
    for operation in IN_PLACE:
        check(ranks, operation, SEVERAL_CHUNKS, "int32", in_place=True)
    for operation in ("all_reduce", "all_to_all", "send_recv"):
        check(ranks, operation, SEVERAL_CHUNKS, "int32", captured=True)


def streams(ranks: Sequence[Rank]) -> None:
    """Many operations under way at once, on several streams; and sends that only one group of two could meet."""
    per_rank = []
    for rank in ranks:
        comm, several = rank.comm, [rank.comm.device.create_stream() for _ in range(3)]
        buffers = []
        for number in range(30):
            stream = several[(number * (comm.rank + 1)) % 3]
            buffer = on_device(np.full(100, number + comm.rank, np.int32), comm.device, stream)
            comm.all_reduce(buffer, dtype="int32", op="max", stream=stream)
            buffers.append(buffer)
        per_rank.append(buffers)
    for rank, buffers in zip(ranks, per_rank, strict=True):
        rank.comm.device.sync()
        for number, buffer in enumerate(buffers):
            assert set(read(buffer, np.dtype(np.int32))) == {number + rank.comm.size - 1}
    if ranks[0].comm.size != 2:
        return
    long, short = 4_000_000, 3
    jobs = []
    for rank in ranks:
        comm, stream = rank.comm, rank.stream
        buffers = [on_device(np.full(n, comm.rank, np.int32), comm.device, stream) for n in (long, short)]
        jobs.append((rank, buffers))
    for rank, (first, second) in jobs:
        comm, stream = rank.comm, rank.stream
        if comm.rank == 0:  # both in one group; the other rank has one after the other
            with infiniccl.group():
                comm.send(first, 1, dtype="int32", stream=stream)
                comm.recv(second, 1, dtype="int32", stream=stream)
        else:
            comm.recv(first, 0, dtype="int32", stream=stream)
            comm.send(second, 0, dtype="int32", stream=stream)
    for rank, (first, second) in jobs:
        rank.stream.sync()
        assert set(read(first, np.dtype(np.int32))) == {0}
        assert set(read(second, np.dtype(np.int32))) == {1}


def other_memory(ranks: Sequence[Rank]) -> None:
    """Memory of the host on CPU ranks; the default stream; buffers that are freed as soon as their last operation is issued."""
    for rank in ranks:
        comm, (device, me, size) = rank.comm, (rank.comm.device, rank.comm.rank, rank.comm.size)
        for count in (7, 1_500_000):
            mine = np.full(count, me, np.int32)
            if device.type == "cpu":
                everybody = np.zeros(count * size, np.int32)
                comm.all_gather(mine, everybody)
                comm.all_reduce(mine, op="max")
            else:
                send = on_device(mine, device, device.default_stream)
                recv = device.allocate(mine.nbytes * size)
                comm.all_gather(send, recv, dtype="int32")
                comm.all_reduce(send, dtype="int32", op="max")
                device.default_stream.sync()
                everybody, mine = read(recv, mine.dtype), read(send, mine.dtype)
            assert np.array_equal(everybody, np.repeat(np.arange(size), count))
            assert set(mine) == {size - 1}
        kept = on_device(np.zeros(1_500_000, np.int32), device, rank.stream)
        for number in range(10):
            passing = device.allocate(6_000_000, stream=rank.stream)
            passing.copy_from(kept, stream=rank.stream)
            comm.all_reduce(passing, dtype="int32", op="max", stream=rank.stream)
            kept.copy_from(passing, stream=rank.stream)
            passing.close()
            comm.all_reduce(kept, dtype="int32", op="sum" if number == 5 else "max", stream=rank.stream)
        rank.stream.sync()
        assert set(read(kept, np.dtype(np.int32))) == {0}


def report(comm: Communicator, call: Callable[[], None]) -> None:
    begin = time.monotonic()
    try:
        call()
    except infinirt.InfiniRTError as error:
        print(f"rank {comm.rank} after {time.monotonic() - begin:.1f} s: {error}", flush=True)
    else:
        print(f"rank {comm.rank} saw nothing", flush=True)
    print(f"rank {comm.rank} is told: {comm.error}", flush=True)
    comm.close()
    stream = comm.device.create_stream()
    buffer = on_device(np.arange(9, dtype=np.int32), comm.device, stream)
    stream.sync()
    assert read(buffer, np.dtype(np.int32)).tolist() == list(range(9)), "the device works as before"


def die(ranks: Sequence[Rank]) -> None:
    """The last rank is killed in the middle of many long operations."""
    (rank,) = ranks
    buffer = on_device(np.ones(3_000_000, np.float32), rank.comm.device, rank.stream)

    def call() -> None:
        for number in range(1000):
            rank.comm.all_reduce(buffer, dtype="float32", op="max", stream=rank.stream)
            rank.stream.sync()
            if number == 0 and rank.comm.rank == rank.comm.size - 1:
                threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGKILL)).start()

    report(rank.comm, call)


def hang(ranks: Sequence[Rank]) -> None:
    """The last rank never comes to the second operation."""
    (rank,) = ranks
    rank.comm.barrier(stream=rank.stream)
    rank.stream.sync()
    rank.comm.timeout = 0.5
    if rank.comm.rank == rank.comm.size - 1:
        time.sleep(10)
        os._exit(0)
    buffer = rank.comm.device.allocate(12_000_000)

    def call() -> None:
        rank.comm.all_reduce(buffer, dtype="float32", stream=rank.stream)
        rank.stream.sync()

    report(rank.comm, call)


def late(ranks: Sequence[Rank]) -> None:
    """The last rank comes too late. Over MPI, where no rank may go before the others have ended."""
    (rank,) = ranks
    rank.comm.timeout = 0.3
    if rank.comm.rank == rank.comm.size - 1:
        time.sleep(5)
        rank.comm.timeout = 30
    rank.comm.barrier(stream=rank.stream)
    report(rank.comm, rank.stream.sync)


def mismatch(ranks: Sequence[Rank]) -> None:
    """Counts whose first chunks are alike."""
    for rank in ranks:
        buffer = rank.comm.device.allocate(4 * (2_000_000 + rank.comm.rank))
        rank.comm.all_reduce(buffer, dtype="float32", stream=rank.stream)
        rank.buffer = buffer  # type: ignore[attr-defined]
    for rank in ranks:
        report(rank.comm, rank.stream.sync)


def aborted(ranks: Sequence[Rank]) -> None:
    """One rank waits; another, on the same device or not, aborts."""
    buffer = ranks[0].comm.device.allocate(12_000_000)
    ranks[0].comm.all_reduce(buffer, dtype="float32", stream=ranks[0].stream)
    ranks[-1].comm.abort()
    report(ranks[0].comm, ranks[0].stream.sync)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def threads_and_files() -> tuple[int, int]:
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))


def leaks(ranks: Sequence[Rank]) -> None:
    """Communicators come and go, with work under way when they are closed, and graphs that outlive them."""
    devices = [rank.comm.device for rank in ranks]
    count = 1_500_000

    def once() -> None:
        own = [Rank(comm) for comm in infiniccl.init_all(devices)]
        buffers = [on_device(np.ones(count, np.int32), each.comm.device, each.stream) for each in own]
        graphs = []
        for each, buffer in zip(own, buffers, strict=True):
            with infinirt.capture(each.stream, mode="relaxed") as made:
                each.comm.all_reduce(buffer, dtype="int32", stream=each.stream)
            graphs.append(made.graph.instantiate())
        for each, graph in zip(own, graphs, strict=True):
            graph.launch(each.stream)
        for each in own:
            each.stream.sync()
        for each, buffer in zip(own, buffers, strict=True):
            each.comm.all_reduce(buffer, dtype="int32", stream=each.stream)
            each.comm.close()
        for each, buffer in zip(own, buffers, strict=True):
            each.stream.sync()
            assert set(read(buffer, np.dtype(np.int32))) == {len(own) ** 2}

    for _ in range(5):
        once()
    time.sleep(1)
    before, (threads, files) = resident(), threads_and_files()
    for _ in range(20):
        once()
    most = threads + 4  # the runtime's workers come and go
    deadline = time.monotonic() + 60  # threads that free things may have to wait for a core
    while (now := threads_and_files())[0] > most or now[1] > files or resident() - before >= 40 << 20:
        assert time.monotonic() < deadline, (
            f"after 20 communicators with some 50 MiB each: {(resident() - before) >> 20} MiB more, {now[0]} threads"
            f" instead of {threads}, {now[1]} files instead of {files}"
        )
        time.sleep(0.2)


def refusals(ranks: Sequence[Rank]) -> None:
    comm, stream = ranks[0].comm, ranks[0].stream
    buffer = comm.device.allocate(64)
    calls: list[Callable[[], object]] = [
        lambda: comm.all_reduce(np.ones(4), stream=stream),
        lambda: comm.all_reduce(infinirt.Device("cpu").allocate(4), dtype="uint8", stream=stream),
        lambda: infiniccl.init_rank(1, bytes(128), 0, comm.device),
        lambda: infiniccl.init_all([f"{comm.device.type}:7"]),
    ]
    for call in calls:
        try:
            call()
        except (infinirt.InfiniRTError, ValueError) as error:
            print(error)
    comm.all_reduce(buffer, dtype="uint8", stream=stream)
    stream.sync()


def unjoined(ranks: Sequence[Rank]) -> None:
    """Ranks that share a stream: one after the other is refused, together they work."""
    stream = ranks[0].stream
    buffers = [
        on_device(np.full(5, each.comm.rank + 1, np.int32), each.comm.device, stream) for each in ranks
    ]
    with infiniccl.group():
        for each, buffer in zip(ranks, buffers, strict=True):
            each.comm.all_reduce(buffer, dtype="int32", stream=stream)
    stream.sync()
    assert all(set(read(buffer, np.dtype(np.int32))) == {3} for buffer in buffers)
    ranks[0].comm.timeout = 2
    ranks[0].comm.all_reduce(buffers[0], dtype="int32", stream=stream)
    try:
        ranks[1].comm.all_reduce(buffers[1], dtype="int32", stream=stream)
    except infinirt.InfiniRTError as error:
        print(error)


ROLES = (matrix, streams, other_memory, die, hang, late, mismatch, aborted, leaks, refusals, unjoined)


def join(devices: Sequence[str]) -> list[Communicator]:
    """This process's ranks: one if it was started as one, else all."""
    size, group = len(devices), "STAGED_GROUP" in os.environ
    if "PMI_RANK" in os.environ:  # started by MPI's launcher
        rank = int(os.environ["PMI_RANK"])
        if group:
            return [infiniccl.init_process_group(transport="mpi", device=devices[rank])]
        return [infiniccl.init_rank(size, infiniccl.mpi_id(), rank, devices[rank])]
    if "RANK" in os.environ:
        rank, name = int(os.environ["RANK"]), os.environ["NAME"]
        if group:
            return [infiniccl.init_process_group(rank=rank, size=size, name=name, device=devices[rank])]
        return [infiniccl.init_rank(size, infiniccl.named_id(name), rank, devices[rank])]
    return infiniccl.init_all(devices)


def main() -> None:
    comms = join(os.environ["STAGED_DEVICES"].split(","))
    {each.__name__: each for each in ROLES}[sys.argv[1]]([Rank(comm) for comm in comms])
    for comm in comms:
        comm.close()
    print("agrees", flush=True)


if __name__ == "__main__":
    main()
