"""Many threads, streams, sizes: rules that hold once have to hold ten thousand times."""

from __future__ import annotations

import random
import threading
from functools import partial
from typing import Any

from ..bench import D2D, D2H, DISABLE_TIMING, H2D, Bench, Gate, download, pattern, peek, poke, upload
from ..case import Register
from ..check import code_of, holds, ok, rt, same, same_bytes
from .capture import begin
from .graph import instantiate, new_graph, set_params

case = Register("stress", "full")


@case(
    "stress.threads.copies",
    about="Memcpy MemcpyAsync",
    rule="Threads: every function may be called from any thread",
    limit=3,
)
def copies(t: Bench) -> None:
    """Eight threads copy on streams of their own, and every byte is right."""

    def body(seed: int) -> None:
        stream = ok(rt.StreamCreateWithFlags(1))
        device, pinned = int(ok(rt.Malloc(16384))), int(ok(rt.MallocHost(16384)))
        for i in range(50):
            size = 16 * (1 + (seed * 37 + i * 101) % 1000)
            data = pattern(size, seed * 100 + i)
            poke(pinned, data)
            ok(rt.MemcpyAsync(device, pinned, size, H2D, stream))
            ok(rt.StreamSynchronize(stream))
            same_bytes(download(device, size), data, f"thread {seed}, round {i}")
        ok(rt.FreeHost(pinned))
        ok(rt.Free(device))
        ok(rt.StreamDestroy(stream))

    threads = [t.thread(partial(body, seed)) for seed in range(8)]
    for thread in threads:
        thread.result()


@case(
    "stress.threads.allocation",
    about="Malloc Free",
    rule="Threads: every function may be called from any thread",
    limit=3,
)
def allocation(t: Bench) -> None:
    """Eight threads allocate and free, and no two get the same memory."""
    lock = threading.Lock()
    live: dict[int, int] = {}

    def body(seed: int) -> None:
        rng = random.Random(seed)
        mine: list[int] = []
        for _ in range(150):
            if mine and rng.random() < 0.5:
                pointer = mine.pop(rng.randrange(len(mine)))
                with lock:
                    del live[pointer]
                ok(rt.Free(pointer))
            else:
                pointer = int(ok(rt.Malloc(rng.choice((16, 256, 4096, 65536)))))
                with lock:
                    holds(pointer not in live, "an address that nobody else has", hex(pointer))
                    live[pointer] = seed
                mine.append(pointer)
        for pointer in mine:
            with lock:
                del live[pointer]
            ok(rt.Free(pointer))

    for thread in [t.thread(partial(body, seed)) for seed in range(8)]:
        thread.result()


@case(
    "stress.threads.one-stream",
    about="MemcpyAsync",
    rule="Threads: every function may be called from any thread",
    limit=3,
)
def one_stream(t: Bench) -> None:
    """Eight threads enqueue on one stream, and nothing is lost."""
    stream, calls, pieces = t.stream(), t.calls(), 100

    def body(seed: int) -> None:
        for i in range(pieces):
            ok(rt.LaunchHostFunc(stream, calls.address, seed * 1000 + i + 1))

    for thread in [t.thread(partial(body, seed)) for seed in range(8)]:
        thread.result()
    ok(rt.StreamSynchronize(stream))
    same(len(calls.seen), 8 * pieces, "the number of calls")
    for seed in range(8):
        mine = [x - seed * 1000 for x in calls.seen if x // 1000 == seed]
        same(mine, sorted(mine), f"the order of thread {seed}'s calls")


def free(pointer: int) -> int:
    return code_of(rt.Free(pointer))


@case("stress.threads.double-free", about="Free", rule="Stream-ordered memory: double free is an error")
def double_free(t: Bench) -> None:
    """Of two threads that free the same memory, one succeeds."""
    for _ in range(30):
        pointer = ok(rt.Malloc(4096))
        threads = [t.thread(partial(free, pointer)) for _ in range(2)]
        same(sorted(thread.result() for thread in threads), [0, 1], "what the two were told")


@case(
    "stress.events.ping-pong",
    about="StreamWaitEvent EventRecord",
    rule="Events: waits already issued keep the state they saw",
    limit=2,
)
def ping_pong(t: Bench) -> None:
    """Two streams take turns three hundred times through two events that are recorded again and again."""
    one, two = t.stream(), t.stream()
    a, b = t.event(DISABLE_TIMING), t.event(DISABLE_TIMING)
    x, y = t.memory(16, fill=0), t.memory(16, fill=0)
    for i in range(300):
        ok(rt.MemsetAsync(x, i % 100 + 1, 16, one))
        ok(rt.EventRecord(a, one))
        ok(rt.StreamWaitEvent(two, a, 0))
        ok(rt.MemcpyAsync(y, x, 16, D2D, two))
        ok(rt.EventRecord(b, two))
        ok(rt.StreamWaitEvent(one, b, 0))
    ok(rt.StreamSynchronize(one))
    same(download(y, 16), bytes([299 % 100 + 1]) * 16, "what the last turn left")


@case(
    "stress.streams.random-program",
    about="StreamWaitEvent MemcpyAsync MemsetAsync EventRecord",
    rule="Streams: work of one stream runs in order; events order streams",
    limit=3,
)
def random_program(t: Bench) -> None:
    """Random programs over streams and events, ordered wherever they touch the same memory, give what a sequence gives."""
    size, cells = 64, 6
    for seed in range(12):
        rng = random.Random(seed)
        memory = [t.memory(size, fill=0) for _ in range(cells)]
        streams = [t.stream() for _ in range(4)]
        model = [0] * cells
        last: list[Any] = [None] * cells  # the event after which a cell may be touched
        for step in range(60):
            stream = rng.choice(streams)
            target, source = rng.sample(range(cells), 2)
            for cell in (target, source):
                if last[cell] is not None:
                    ok(rt.StreamWaitEvent(stream, last[cell], 0))
            if rng.random() < 0.5:
                value = (seed * 60 + step) % 120 + 1
                ok(rt.MemsetAsync(memory[target], value, size, stream))
                model[target] = value
            else:
                ok(rt.MemcpyAsync(memory[target], memory[source], size, D2D, stream))
                model[target] = model[source]
            event = t.event(DISABLE_TIMING)
            ok(rt.EventRecord(event, stream))
            last[target] = last[source] = event
        ok(rt.DeviceSynchronize())
        found = [download(pointer, size) for pointer in memory]
        same(found, [bytes([value]) * size for value in model], f"the memory after program {seed}")


@case("stress.sizes", about="Malloc Memcpy Memset", rule="contract of infinirtMemcpy", limit=3)
def sizes(t: Bench) -> None:
    """Allocations of a hundred sizes up to 4 MiB are filled, copied and read back right."""
    rng = random.Random(7)
    for _ in range(100):
        size = 16 * rng.randrange(1, 1 << rng.randrange(4, 18))
        one, two = ok(rt.Malloc(size)), ok(rt.Malloc(size))
        upload(one, pattern(size, size))
        ok(rt.Memset(two, 0, size))
        ok(rt.Memcpy(two, one, size, D2D))
        found = download(two, size)
        if found != pattern(size, size):
            same_bytes(found, pattern(size, size), f"{size} bytes")
        ok(rt.Free(one))
        ok(rt.Free(two))


@case(
    "stress.pool.churn",
    about="MallocAsync FreeAsync MemsetAsync",
    rule="Stream-ordered memory: usable between allocation and free",
    limit=3,
)
def churn(t: Bench) -> None:
    """Blocks of a pool, allocated, written and freed on four streams a thousand times, keep what was written."""
    rng = random.Random(3)
    streams = [t.stream() for _ in range(4)]
    pinned = t.pinned(16 * 1000)
    for i in range(1000):
        stream = streams[i % 4]
        size = 16 * rng.randrange(1, 2000)
        block = int(ok(rt.MallocAsync(size, stream)))
        ok(rt.MemsetAsync(block, i % 100 + 1, size, stream))
        ok(rt.MemcpyAsync(pinned + 16 * i, block + size - 16, 16, D2H, stream))
        ok(rt.FreeAsync(block, stream))
    ok(rt.DeviceSynchronize())
    expected = b"".join(bytes([i % 100 + 1]) * 16 for i in range(1000))
    same_bytes(peek(pinned, 16000), expected, "the ends of all blocks")


@case(
    "stress.pool.threads",
    about="MallocAsync FreeAsync",
    rule="Threads: every function may be called from any thread",
    limit=3,
)
def pool_threads(t: Bench) -> None:
    """Six threads allocate from one pool on streams of their own."""

    def body(seed: int) -> None:
        stream, pinned = ok(rt.StreamCreateWithFlags(1)), int(ok(rt.MallocHost(16)))
        for i in range(100):
            block = ok(rt.MallocAsync(4096 * (1 + i % 7), stream))
            ok(rt.MemsetAsync(block, seed + 1, 4096, stream))
            ok(rt.MemcpyAsync(pinned, block, 16, D2H, stream))
            ok(rt.FreeAsync(block, stream))
            ok(rt.StreamSynchronize(stream))
            same(peek(pinned, 16), bytes([seed + 1]) * 16, f"thread {seed}, round {i}")
        ok(rt.FreeHost(pinned))
        ok(rt.StreamDestroy(stream))

    for thread in [t.thread(partial(body, seed)) for seed in range(6)]:
        thread.result()


@case(
    "stress.graphs.many",
    about="GraphInstantiate GraphLaunch GraphExecDestroy",
    rule="contract of infinirtGraphInstantiate",
    limit=2,
)
def graphs(t: Bench) -> None:
    """A hundred graphs are made, launched and destroyed, the executable ones while they run."""
    stream, memory = t.stream(), t.memory(1600, fill=0)
    for i in range(100):
        graph = ok(rt.GraphCreate(0))
        ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(memory + 16 * i, i + 1, 16)))
        executable = ok(rt.GraphInstantiate(graph, 0))
        ok(rt.GraphDestroy(graph))
        ok(rt.GraphLaunch(executable, stream))
        ok(rt.GraphExecDestroy(executable))
    ok(rt.StreamSynchronize(stream))
    same(download(memory, 1600), b"".join(bytes([i + 1]) * 16 for i in range(100)), "what all graphs left")


@case(
    "stress.graphs.threads",
    about="GraphLaunch",
    rule="Threads: every function may be called from any thread",
    limit=2,
)
def graph_threads(t: Bench) -> None:
    """Four threads launch graphs of their own at the same time."""
    graphs = []
    for i in range(4):
        graph, memory = new_graph(t), t.memory(64, fill=0)
        ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(memory, i + 1, 64)))
        graphs.append((instantiate(t, graph), t.stream(), memory))

    def body(executable: Any, stream: Any) -> None:
        for _ in range(50):
            ok(rt.GraphLaunch(executable, stream))
        ok(rt.StreamSynchronize(stream))

    for thread in [t.thread(partial(body, e, s)) for e, s, _ in graphs]:
        thread.result()
    for i, (_, _, memory) in enumerate(graphs):
        same(download(memory, 64), bytes([i + 1]) * 64, "what the graph left")


@case(
    "stress.captures.aborted",
    about="StreamBeginCapture StreamEndCapture",
    rule="Capture: a barred call invalidates",
    limit=2,
)
def aborted(t: Bench) -> None:
    """Two hundred captures that are broken leave a stream that works."""
    stream, memory = t.stream(), t.memory(64, fill=0)
    for _ in range(200):
        begin(stream)
        ok(rt.MemsetAsync(memory, 9, 64, stream))
        code_of(rt.StreamQuery(stream))
        same(code_of(rt.StreamEndCapture(stream)), 901, "the end of a broken capture")
    ok(rt.MemsetAsync(memory, 1, 64, stream))
    ok(rt.StreamSynchronize(stream))
    same(download(memory, 64), b"\1" * 64, "the memory")


@case(
    "stress.queue.deep",
    about="LaunchHostFunc MemcpyAsync",
    rule="Streams: work of one stream runs in order",
    limit=2,
)
def deep(t: Bench) -> None:
    """Five hundred pieces of work behind a held stream run, in order, when it is let go."""
    stream, calls = t.stream(), t.calls()
    gate = t.gate(stream)
    for i in range(1, 501):
        ok(rt.LaunchHostFunc(stream, calls.address, i))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same(calls.seen, list(range(1, 501)), "the order of the calls")


@case(
    "stress.destroy.busy-many",
    about="StreamDestroy EventDestroy",
    rule="Traps: a lost wake-up in destroy",
    limit=2,
)
def destroy_many(t: Bench) -> None:
    """A hundred streams and events are destroyed while their work is held, and all of it runs."""
    calls, gate, holder = t.calls(), Gate(), t.stream()
    first = t.event(DISABLE_TIMING)
    gate.hold(holder)
    ok(rt.EventRecord(first, holder))
    for i in range(1, 101):
        stream, event = ok(rt.StreamCreateWithFlags(1)), ok(rt.EventCreateWithFlags(DISABLE_TIMING))
        ok(rt.StreamWaitEvent(stream, first, 0))
        ok(rt.LaunchHostFunc(stream, calls.address, i))
        ok(rt.EventRecord(event, stream))
        ok(rt.EventDestroy(event))
        ok(rt.StreamDestroy(stream))
    same(calls.seen, [], "the calls while the first stream is held")
    gate.open()
    ok(rt.DeviceSynchronize())
    same(sorted(calls.seen), list(range(1, 101)), "the calls")
