"""The collectives' cases: four ranks on as many devices as the type has, results, order, groups, graphs, and what goes wrong.

Where a device takes one rank only, as NCCL has it, there are as many ranks as devices.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from infinirt import InfiniRTError
from infinirt.conformance.bench import H2D, Bench, download, upload
from infinirt.conformance.case import Register
from infinirt.conformance.cases.capture import begin, end
from infinirt.conformance.cases.graph import instantiate
from infinirt.conformance.check import Failed, Inapplicable, holds, ok, rt, same

from .. import _core

case = Register("collective", "advanced")
ABOUT = "StreamSynchronize"
RULE = "contract of infiniccl.h: "
RANKS = 4
I32 = 5  # infiniDtype_t
SUM, PROD, MAX, MIN, AVG = range(5)


class Rank:
    """A communicator, a stream of its device, and vectors there."""

    def __init__(self, t: Bench, number: int, device: int, comm: int) -> None:
        self.t = t
        self.number = number
        self.device = device
        self.comm = comm
        self.stream: Any = t.on_device(device, t.stream)
        self.handle = int(self.stream)

    def vector(self, values: Sequence[int]) -> int:
        """Device memory with these numbers of 32 bits."""
        pointer: int = self.t.on_device(self.device, lambda: self.t.memory(max(4 * len(values), 4)))
        upload(pointer, struct.pack(f"{len(values)}i", *values))
        return pointer

    def sync(self) -> None:
        ok(rt.SetDevice(self.device))
        ok(rt.StreamSynchronize(self.stream))
        ok(rt.SetDevice(self.t.ordinal))


def numbers(pointer: int, count: int) -> list[int]:
    return list(struct.unpack(f"{count}i", download(pointer, 4 * count)))


def communicators(t: Bench, count: int) -> tuple[list[int], list[int]]:
    """The devices of the ranks, and their communicators."""
    devices = int(ok(rt.GetDeviceCount()))
    places = [rank % devices for rank in range(count)]
    try:
        return places, _core.init_all(t.type, places)
    except InfiniRTError as error:
        rt.GetLastError()
        if count <= devices:
            raise Inapplicable(f"there are no collectives for device type {t.type}: {error}") from None
    return communicators(t, devices)


def ranks(t: Bench, count: int = RANKS) -> list[Rank]:
    """The ranks of a new communicator, spread over the devices of the type; destroyed after the case."""
    places, comms = communicators(t, count)
    for comm in comms:
        t.later(partial(_core.destroy, comm))
    return [
        Rank(t, number, place, comm) for number, (place, comm) in enumerate(zip(places, comms, strict=True))
    ]


def two_ranks(t: Bench) -> list[Rank]:
    """For what takes two."""
    both = ranks(t, 2)
    if len(both) < 2:
        raise Inapplicable("there is one device, and it takes one rank")
    return both


def reduce_all(rank: Rank, send: int, recv: int, count: int, op: int = SUM) -> None:
    _core.all_reduce(send, recv, count, I32, op, rank.comm, rank.handle)


def message_of(call: Callable[[], object], what: str) -> str:
    """What the call says when it fails, as it has to."""
    try:
        call()
    except InfiniRTError as error:
        rt.GetLastError()
        return str(error)
    raise Failed(f"{what} to fail", "it succeeded")


def asynchronous_message(rank: Rank) -> str:
    """What synchronising says after an operation has failed."""
    ok(rt.SetDevice(rank.device))
    error = rt.StreamSynchronize(rank.stream)[0]
    text = str(rt.XGetLastErrorMessage()[1])
    rt.GetLastError()
    ok(rt.SetDevice(rank.t.ordinal))
    holds(int(error) != 0, "synchronising to report the failure", "it returned infinirtSuccess")
    return text


@case("collective.all-reduce", about=ABOUT, rule=RULE + "infinicclAllReduce")
def all_reduce(t: Bench) -> None:
    """All ranks get the sum, the product, the largest, the smallest and the average of all, in place and not, of any length."""
    all_ranks = ranks(t)
    size = len(all_ranks)
    for count in (0, 1, 7, 1000, 70_001):
        values = [[(r + 2) * (i % 5 - 2) for i in range(count)] for r in range(size)]
        columns = list(zip(*values, strict=True))
        products = [math.prod(c) for c in columns]
        averages = [abs(sum(c)) // size * (1 if sum(c) >= 0 else -1) for c in columns]
        expected = [
            list(map(sum, columns)),
            products,
            list(map(max, columns)),
            list(map(min, columns)),
            averages,
        ]
        for op, answer in enumerate(expected):
            sends = [rank.vector(v) for rank, v in zip(all_ranks, values, strict=True)]
            recvs = [
                send if op == SUM else rank.vector([0] * count)
                for rank, send in zip(all_ranks, sends, strict=True)
            ]
            for rank, send, recv in zip(all_ranks, sends, recvs, strict=True):
                reduce_all(rank, send, recv, count, op)
            for rank, recv in zip(all_ranks, recvs, strict=True):
                rank.sync()
                same(numbers(recv, count), answer, f"reduction {op} of {count} numbers on rank {rank.number}")


@case("collective.moves", about=ABOUT, rule=RULE + "what goes where")
def moves(t: Bench) -> None:
    """Broadcast, gather, scatter, all-gather, all-to-all, reduce and reduce-scatter bring everything to its place."""
    all_ranks, n = ranks(t), 100
    size = len(all_ranks)
    one, two, three = 1 % size, 2 % size, 3 % size
    own = [[1000 * r + i for i in range(n)] for r in range(size)]
    whole = [[1000 * r + i for i in range(n * size)] for r in range(size)]
    everything = [value for values in own for value in values]
    sums = [sum(column) for column in zip(*whole, strict=True)]
    nothing, zeros = [-1] * n, [-1] * n * size
    trials: list[tuple[str, list[list[int]], list[int], Callable[[Rank, int, int], None], list[list[int]]]] = [
        ("broadcast", own, nothing, lambda r, s, d: _core.broadcast(s, d, n, I32, two, r.comm, r.handle), [own[two]] * size),
        ("all-gather", own, zeros, lambda r, s, d: _core.all_gather(s, d, n, I32, r.comm, r.handle), [everything] * size),
        (
            "gather", own, zeros, lambda r, s, d: _core.gather(s, d, n, I32, one, r.comm, r.handle),
            [everything if r == one else zeros for r in range(size)],
        ),
        (
            "scatter", whole, nothing, lambda r, s, d: _core.scatter(s, d, n, I32, three, r.comm, r.handle),
            [whole[three][r * n : (r + 1) * n] for r in range(size)],
        ),
        (
            "all-to-all", whole, zeros, lambda r, s, d: _core.all_to_all(s, d, n, I32, r.comm, r.handle),
            [[v for q in range(size) for v in whole[q][r * n : (r + 1) * n]] for r in range(size)],
        ),
        (
            "reduce", whole, zeros, lambda r, s, d: _core.reduce(s, d, n * size, I32, SUM, 0, r.comm, r.handle),
            [sums if r == 0 else zeros for r in range(size)],
        ),
        (
            "reduce-scatter", whole, nothing, lambda r, s, d: _core.reduce_scatter(s, d, n, I32, SUM, r.comm, r.handle),
            [sums[r * n : (r + 1) * n] for r in range(size)],
        ),
    ]  # fmt: skip
    for name, inputs, empty, call, answers in trials:
        sends = [rank.vector(values) for rank, values in zip(all_ranks, inputs, strict=True)]
        recvs = [rank.vector(empty) for rank in all_ranks]
        for rank, send, recv in zip(all_ranks, sends, recvs, strict=True):
            call(rank, send, recv)
        for rank, recv, answer in zip(all_ranks, recvs, answers, strict=True):
            rank.sync()
            same(numbers(recv, len(empty)), answer, f"{name} on rank {rank.number}")


@case("collective.order", about=ABOUT, rule=RULE + "operations are work of their stream")
def order(t: Bench) -> None:
    """An operation comes after what its stream was given before, on every rank, and before what it is given later."""
    first, second = two_ranks(t)
    a, b, result = first.vector([1]), second.vector([1]), first.vector([0])
    late = t.pinned(4)
    ctypes.memmove(late, struct.pack("i", 40), 4)
    ok(rt.SetDevice(second.device))
    gate = t.gate(second.stream)
    ok(rt.MemcpyAsync(b, late, 4, H2D, second.stream))
    ok(rt.SetDevice(t.ordinal))
    reduce_all(first, a, a, 1)
    reduce_all(second, b, b, 1)
    reduce_all(first, a, result, 1)
    holds(int(rt.StreamQuery(first.stream)[0]) != 0, "the first rank to wait for the second", "it did not")
    gate.open()
    reduce_all(second, b, b, 1)
    first.sync()
    second.sync()
    same([numbers(a, 1), numbers(result, 1)], [[41], [82]], "the sums")


@case("collective.any-order", about=ABOUT, rule=RULE + "which rank is first does not matter")
def any_order(t: Bench) -> None:
    """One thread issues the ranks in any order, some far ahead of others."""
    all_ranks = ranks(t)
    vectors = [rank.vector([1, 2, 3]) for rank in all_ranks]
    size = len(all_ranks)
    for number in [number for number in (3, 0, 2, 1) if number < size]:
        for _ in range(5):
            reduce_all(all_ranks[number], vectors[number], vectors[number], 3)
    for rank, vector in zip(all_ranks, vectors, strict=True):
        rank.sync()
        same(numbers(vector, 3), [size**5, 2 * size**5, 3 * size**5], f"the sum on rank {rank.number}")


@case("collective.exchange", about=ABOUT, rule=RULE + "groups")
def exchange(t: Bench) -> None:
    """Sends and receives of one group cross without waiting for one another."""
    all_ranks = ranks(t)
    size = len(all_ranks)
    sends = [rank.vector([rank.number] * 5000) for rank in all_ranks]
    recvs = [rank.vector([-1] * 5000) for rank in all_ranks]
    _core.group_start()
    for rank, send, recv in zip(all_ranks, sends, recvs, strict=True):
        _core.send(send, 5000, I32, (rank.number + 1) % size, rank.comm, rank.handle)
        _core.recv(recv, 5000, I32, (rank.number - 1) % size, rank.comm, rank.handle)
    _core.group_end()
    for rank, recv in zip(all_ranks, recvs, strict=True):
        rank.sync()
        same(set(numbers(recv, 5000)), {(rank.number - 1) % size}, f"what rank {rank.number} received")


@case(
    "collective.graphs",
    about=f"{ABOUT} StreamBeginCapture GraphLaunch",
    rule=RULE + "operations can be captured",
)
def graphs(t: Bench) -> None:
    """Each rank replays a graph of its own; replays meet replays, eager operations in between meet eager ones."""
    all_ranks = ranks(t, 2)
    vectors = [rank.vector([1] * 10) for rank in all_ranks]
    ready = []
    for rank, vector in zip(all_ranks, vectors, strict=True):
        ok(rt.SetDevice(rank.device))
        begin(rank.stream)
        reduce_all(rank, vector, vector, 10)
        ready.append(instantiate(t, end(t, rank.stream)))
        ok(rt.SetDevice(t.ordinal))
    for replay in range(3):
        for rank in (all_ranks, all_ranks[::-1])[replay % 2]:
            ok(rt.GraphLaunch(ready[rank.number], rank.stream))
            _core.barrier(rank.comm, rank.handle)
    for rank, vector in zip(all_ranks, vectors, strict=True):
        rank.sync()
        same(numbers(vector, 10), [len(all_ranks) ** 3] * 10, f"the sum on rank {rank.number}")


@case(
    "collective.mismatch",
    about=ABOUT,
    rule=RULE + "what goes wrong later fails the communicator on all ranks",
)
def mismatch(t: Bench) -> None:
    """Ranks that call different things are told both sides, nothing is written, and the streams go on."""
    first, second = two_ranks(t)
    a, b = first.vector([1] * 8), second.vector([1] * 8)
    reduce_all(first, a, a, 8)
    reduce_all(second, b, b, 4)
    text = asynchronous_message(first)
    holds("of 8 i32" in text and "of 4 i32" in text, "a message with both sides", text)
    if second.device != first.device:
        asynchronous_message(second)
    same([numbers(a, 8), numbers(b, 8)], [[1] * 8] * 2, "the memory")
    message_of(lambda: _core.barrier(first.comm, first.handle), "a later call")
    first.sync()


@case("collective.timeout", about=ABOUT, rule=RULE + "infinicclCommSetTimeout")
def timeout(t: Bench) -> None:
    """A rank that does not come is named, and those that wait for it go on."""
    first, second = two_ranks(t)
    _core.set_timeout(first.comm, 100)
    _core.barrier(first.comm, first.handle)
    text = asynchronous_message(first)
    holds("rank 1" in text, "a message that names rank 1", text)
    status, message = _core.async_error(second.comm)
    holds(status != 0 and "rank 1" in message, "the other rank to know", f"{status}: {message}")


@case("collective.destroyed", about=ABOUT, rule=RULE + "infinicclCommDestroy")
def destroyed(t: Bench) -> None:
    """What was issued before a communicator was destroyed is still done; its handle is an error afterwards, not a crash."""
    all_ranks = ranks(t, 2)
    vectors = [rank.vector([1]) for rank in all_ranks]
    _, comms = communicators(t, len(all_ranks))
    for rank, comm, vector in zip(all_ranks, comms, vectors, strict=True):
        _core.all_reduce(vector, vector, 1, I32, SUM, comm, rank.handle)
        _core.destroy(comm)
        message_of(partial(_core.destroy, comm), "destroying it again")
    for rank, vector in zip(all_ranks, vectors, strict=True):
        rank.sync()
        same(numbers(vector, 1), [len(all_ranks)], "the sum")


@case("collective.refusals", about=ABOUT, rule=RULE + "a call that is wrong returns a status")
def refusals(t: Bench) -> None:
    """Wrong arguments are refused with a message, and change nothing."""
    all_ranks = ranks(t, 2)
    vectors = [rank.vector([1] * 4) for rank in all_ranks]
    a, c, h = vectors[0], all_ranks[0].comm, all_ranks[0].handle
    wrong: list[Callable[[], None]] = [
        lambda: _core.all_reduce(0, a, 4, I32, SUM, c, h),
        lambda: _core.all_reduce(a, a, 4, 99, SUM, c, h),
        lambda: _core.all_reduce(a, a, 4, I32, 9, c, h),
        lambda: _core.all_reduce(a, a + 4, 3, I32, SUM, c, h),
        lambda: _core.all_reduce(a, a, 2**61, I32, SUM, c, h),
        lambda: _core.broadcast(a, a, 4, I32, 2, c, h),
        lambda: _core.send(a, 4, I32, -1, c, h),
        lambda: _core.barrier(0, h),
    ]
    for number, call in enumerate(wrong):
        message_of(call, f"wrong call {number}")
    for rank, vector in zip(all_ranks, vectors, strict=True):
        reduce_all(rank, vector, vector, 4)
    all_ranks[0].sync()
    same(numbers(a, 4), [len(all_ranks)] * 4, "the sum afterwards")
