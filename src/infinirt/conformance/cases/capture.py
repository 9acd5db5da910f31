"""Capture: work that is recorded into a graph instead of run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..bench import D2D, D2H, DISABLE_TIMING, Bench, download, peek
from ..case import Register
from ..check import code_of, fails, holds, ok, rt, same
from .graph import add_host, edge_count, empty, instantiate, new_graph, node_count, run, set_params

case = Register("capture", "full")
MODES = {"global": 0, "thread-local": 1, "relaxed": 2}
NONE, ACTIVE, INVALIDATED = range(3)


def begin(stream: Any, mode: str = "relaxed") -> None:
    ok(rt.StreamBeginCapture(stream, rt.StreamCaptureMode(MODES[mode])))


def end(t: Bench, stream: Any) -> Any:
    graph = ok(rt.StreamEndCapture(stream))
    t.later(lambda: ok(rt.GraphDestroy(graph)))
    return graph


def status(stream: Any) -> int:
    return int(ok(rt.StreamIsCapturing(stream)))


@contextmanager
def capturing(t: Bench, mode: str) -> Iterator[Any]:
    """A stream that captures; whatever state the capture is left in, it is over afterwards."""
    stream = t.stream()
    begin(stream, mode)
    yield stream
    result = rt.StreamEndCapture(stream)
    if code_of(result) == 0:
        ok(rt.GraphDestroy(result[1]))


@case(
    "capture.records",
    about="StreamBeginCapture StreamEndCapture",
    rule="contract of infinirtStreamBeginCapture",
)
def records(t: Bench) -> None:
    """Captured work does not run when it is captured, and runs when the graph is launched."""
    stream, memory, pinned, calls = t.stream(), t.memory(64, fill=1), t.pinned(64), t.calls()
    begin(stream)
    ok(rt.MemsetAsync(memory, 2, 64, stream))
    ok(rt.LaunchHostFunc(stream, calls.address, 3))
    ok(rt.MemcpyAsync(pinned, memory, 64, D2H, stream))
    graph = end(t, stream)
    same((download(memory, 64), calls.seen), (b"\1" * 64, []), "memory and calls before the launch")
    run(instantiate(t, graph), stream)
    same((peek(pinned, 64), calls.seen), (b"\2" * 64, [3]), "memory and calls after the launch")


@case(
    "capture.shape",
    about="StreamEndCapture GraphGetNodes GraphGetEdges",
    rule="contract of infinirtStreamEndCapture",
)
def shape(t: Bench) -> None:
    """Work of one stream becomes a chain of nodes."""
    stream, memory = t.stream(), t.memory(64)
    begin(stream)
    for value in range(4):
        ok(rt.MemsetAsync(memory, value, 64, stream))
    graph = end(t, stream)
    same((node_count(graph), edge_count(graph)), (4, 3), "nodes and edges")


@case("capture.status", about="StreamIsCapturing", rule="contract of infinirtStreamIsCapturing")
def state(t: Bench) -> None:
    """A stream says whether it captures."""
    stream = t.stream()
    same(status(stream), NONE, "the state before")
    begin(stream)
    same(status(stream), ACTIVE, "the state during the capture")
    end(t, stream)
    same(status(stream), NONE, "the state afterwards")


@case(
    "capture.stream-works-afterwards",
    about="StreamEndCapture MemsetAsync",
    rule="contract of infinirtStreamEndCapture",
)
def works_afterwards(t: Bench) -> None:
    """After its capture a stream runs work again."""
    stream, mark = t.stream(), t.mark()
    begin(stream)
    end(t, stream)
    mark.set_by(stream)
    ok(rt.StreamSynchronize(stream))
    holds(mark.is_set, "the work to run")


@case("capture.empty", about="StreamEndCapture", rule="contract of infinirtStreamEndCapture")
def nothing(t: Bench) -> None:
    """A capture of nothing gives an empty graph, which can be launched."""
    stream = t.stream()
    begin(stream)
    graph = end(t, stream)
    same(node_count(graph), 0, "the number of nodes")
    run(instantiate(t, graph), stream)


@case(
    "capture.others-work",
    about="StreamBeginCapture MemcpyAsync",
    rule="Measured: work on other streams is allowed beside a capture",
)
def others_work(t: Bench) -> None:
    """While one stream captures, another one works."""
    stream, other, mark = t.stream(), t.stream(), t.mark()
    begin(stream)
    mark.set_by(other)
    ok(rt.StreamSynchronize(other))
    holds(mark.is_set, "the other stream's work to have run")
    end(t, stream)


@case("capture.legacy", about="StreamBeginCapture", rule="Capture: capture cannot begin on the legacy stream")
def legacy(t: Bench) -> None:
    """The legacy stream does not capture."""
    for stream in (0, 1):
        fails(rt.StreamBeginCapture(stream, rt.StreamCaptureMode(2)), "StreamCaptureUnsupported")


@case("capture.per-thread-stream", about="StreamBeginCapture", rule="contract of infinirtStreamBeginCapture")
def per_thread(t: Bench) -> None:
    """The per-thread stream captures."""
    memory = t.memory(64, fill=1)
    begin(2)
    ok(rt.MemsetAsync(memory, 2, 64, 2))
    run(instantiate(t, end(t, 2)), t.stream())
    same(download(memory, 64), b"\2" * 64, "the memory")


@case("capture.twice", about="StreamBeginCapture", rule="Measured: a second BeginCapture is 401")
def twice(t: Bench) -> None:
    """A stream that captures does not begin another capture, and goes on with its own."""
    stream = t.stream()
    begin(stream)
    fails(rt.StreamBeginCapture(stream, rt.StreamCaptureMode(2)), "IllegalState")
    same(status(stream), ACTIVE, "the state")
    end(t, stream)


@case("capture.end-without-begin", about="StreamEndCapture", rule="Measured: EndCapture with none is 401")
def end_without(t: Bench) -> None:
    """A capture that did not begin does not end."""
    fails(rt.StreamEndCapture(t.stream()), "IllegalState")


@case(
    "capture.fork-join",
    about="EventRecord StreamWaitEvent StreamEndCapture",
    rule="Capture: events draw other streams in and join them",
)
def fork_join(t: Bench) -> None:
    """A stream that waits for an event of the capture is part of it, and is joined by an event."""
    origin, forked, fork, join = t.stream(), t.stream(), t.event(DISABLE_TIMING), t.event(DISABLE_TIMING)
    one, two, result = t.memory(64, fill=0), t.memory(64, fill=0), t.memory(128, fill=0)
    begin(origin)
    ok(rt.EventRecord(fork, origin))
    ok(rt.StreamWaitEvent(forked, fork, 0))
    same(status(forked), ACTIVE, "the state of the stream that waits")
    ok(rt.MemsetAsync(one, 1, 64, origin))
    ok(rt.MemsetAsync(two, 2, 64, forked))
    ok(rt.EventRecord(join, forked))
    ok(rt.StreamWaitEvent(origin, join, 0))
    ok(rt.MemcpyAsync(result, one, 64, D2D, origin))
    ok(rt.MemcpyAsync(result + 64, two, 64, D2D, origin))
    graph = end(t, origin)
    same(status(forked), NONE, "the state of the other stream afterwards")
    run(instantiate(t, graph), origin)
    same(download(result, 128), b"\1" * 64 + b"\2" * 64, "what both streams computed")


@case("capture.unjoined", about="StreamEndCapture", rule="Capture: unjoined 904")
def unjoined(t: Bench) -> None:
    """A capture with a stream that was not joined fails, and both streams work again."""
    origin, forked, fork, memory = t.stream(), t.stream(), t.event(DISABLE_TIMING), t.memory(64)
    begin(origin)
    ok(rt.EventRecord(fork, origin))
    ok(rt.StreamWaitEvent(forked, fork, 0))
    ok(rt.MemsetAsync(memory, 1, 64, forked))
    fails(rt.StreamEndCapture(origin), "StreamCaptureUnjoined")
    for stream in (origin, forked):
        same(status(stream), NONE, "the state")
        ok(rt.StreamSynchronize(stream))


@case(
    "capture.unmatched",
    about="StreamEndCapture",
    rule="Measured: ending on a forked stream is 903, then the origin 901",
)
def unmatched(t: Bench) -> None:
    """A capture ends on the stream that it began on."""
    origin, forked, fork = t.stream(), t.stream(), t.event(DISABLE_TIMING)
    begin(origin)
    ok(rt.EventRecord(fork, origin))
    ok(rt.StreamWaitEvent(forked, fork, 0))
    fails(rt.StreamEndCapture(forked), "StreamCaptureUnmatched")
    fails(rt.StreamEndCapture(origin), "StreamCaptureInvalidated")


@case(
    "capture.merge", about="StreamWaitEvent", rule="Measured: merging two captures is 902, both invalidated"
)
def merge(t: Bench) -> None:
    """Two captures do not become one."""
    one, two, event = t.stream(), t.stream(), t.event(DISABLE_TIMING)
    begin(one)
    begin(two)
    ok(rt.EventRecord(event, one))
    fails(rt.StreamWaitEvent(two, event, 0), "StreamCaptureMerge")
    for stream in (one, two):
        same(status(stream), INVALIDATED, "the state")
        fails(rt.StreamEndCapture(stream), "StreamCaptureInvalidated")


@case(
    "capture.isolation",
    about="StreamWaitEvent",
    rule="Measured: waiting on an event recorded before the capture is 905",
)
def isolation(t: Bench) -> None:
    """A capturing stream does not wait for an event from before the capture."""
    stream, event = t.stream(), t.event(DISABLE_TIMING)
    ok(rt.EventRecord(event, t.stream()))
    begin(stream)
    fails(rt.StreamWaitEvent(stream, event, 0), "StreamCaptureIsolation")
    fails(rt.StreamEndCapture(stream), "StreamCaptureInvalidated")


@case(
    "capture.wait-never-recorded",
    about="StreamWaitEvent",
    rule="measured: in a capture, a wait for an event never recorded does nothing",
)
def wait_never(t: Bench) -> None:
    """In a capture, waiting for an event that was never recorded does nothing."""
    stream = t.stream()
    begin(stream)
    ok(rt.StreamWaitEvent(stream, t.event(), 0))
    same(node_count(end(t, stream)), 0, "the number of nodes")


@case(
    "capture.legacy-implicit",
    about="MemsetAsync",
    rule="Measured: the legacy stream beside a capturing blocking stream is 906, and the capture is invalidated",
)
def implicit(t: Bench) -> None:
    """While a blocking stream captures, the legacy stream is not used: not even asked."""
    calls: tuple[Callable[[int], Any], ...] = (
        lambda memory: rt.MemsetAsync(memory, 1, 64, 0),
        lambda memory: rt.StreamQuery(0),
    )
    for call in calls:
        stream, memory = t.blocking_stream(), t.memory(64)
        begin(stream)
        fails(call(memory), "StreamCaptureImplicit")
        fails(rt.StreamEndCapture(stream), "StreamCaptureInvalidated")


@case(
    "capture.wrong-thread",
    about="StreamEndCapture",
    rule="Measured: ending on another thread is 908, and the capture is over",
)
def wrong_thread(t: Bench) -> None:
    """A capture that is not relaxed ends on the thread that it began on."""
    stream = t.stream()
    begin(stream, "thread-local")
    t.elsewhere(lambda: fails(rt.StreamEndCapture(stream), "StreamCaptureWrongThread"))
    same(status(stream), NONE, "the state")


@case(
    "capture.relaxed-thread",
    about="StreamEndCapture",
    rule="Capture: a relaxed capture may end on another thread",
)
def relaxed_thread(t: Bench) -> None:
    """A relaxed capture ends on another thread."""
    stream, memory = t.stream(), t.memory(64)
    begin(stream, "relaxed")
    ok(rt.MemsetAsync(memory, 1, 64, stream))
    graph = t.elsewhere(lambda: ok(rt.StreamEndCapture(stream)))
    same(node_count(graph), 1, "the number of nodes")
    ok(rt.GraphDestroy(graph))


@case(
    "capture.invalidated-until-ended",
    about="StreamEndCapture MemsetAsync",
    rule="Capture: EndCapture must still be called before the stream is used again",
)
def until_ended(t: Bench) -> None:
    """A stream whose capture is invalid takes no work until the capture is ended."""
    stream, memory = t.stream(), t.memory(64)
    begin(stream)
    fails(rt.StreamSynchronize(stream), "StreamCaptureUnsupported")
    same(status(stream), INVALIDATED, "the state")
    fails(rt.MemsetAsync(memory, 1, 64, stream), "StreamCaptureInvalidated")
    fails(rt.StreamEndCapture(stream), "StreamCaptureInvalidated")
    ok(rt.MemsetAsync(memory, 1, 64, stream))
    ok(rt.StreamSynchronize(stream))


@case(
    "capture.destroyed-stream",
    about="StreamDestroy StreamEndCapture",
    rule="measured: destroying a forked stream with unjoined work is 904 at the end",
)
def destroyed_stream(t: Bench) -> None:
    """Destroying a forked stream does not join its work."""
    origin, fork, memory = t.stream(), t.event(DISABLE_TIMING), t.memory(64)
    forked = ok(rt.StreamCreateWithFlags(1))
    begin(origin)
    ok(rt.EventRecord(fork, origin))
    ok(rt.StreamWaitEvent(forked, fork, 0))
    ok(rt.MemsetAsync(memory, 1, 64, forked))
    ok(rt.StreamDestroy(forked))
    fails(rt.StreamEndCapture(origin), "StreamCaptureUnjoined")


@case(
    "capture.to-graph",
    about="StreamBeginCaptureToGraph",
    rule="contract of infinirtStreamBeginCaptureToGraph",
)
def to_graph(t: Bench) -> None:
    """A capture adds to a graph that exists, behind the nodes it is told."""
    graph, calls, stream, memory = new_graph(t), t.calls(), t.stream(), t.memory(64, fill=0)
    first = add_host(graph, calls.address, 1)
    ok(rt.StreamBeginCaptureToGraph(stream, graph, [first], None, 1, rt.StreamCaptureMode(0)))
    ok(rt.MemsetAsync(memory, 4, 64, stream))
    same(int(ok(rt.StreamEndCapture(stream))), int(graph), "the graph that the capture gives")
    same((node_count(graph), edge_count(graph)), (2, 1), "nodes and edges")
    run(instantiate(t, graph), stream)
    same(download(memory, 64), b"\4" * 64, "the memory")


@case("capture.info", about="StreamGetCaptureInfo", rule="contract of infinirtStreamGetCaptureInfo")
def info(t: Bench) -> None:
    """A capture tells its id, its graph and what the next node will depend on."""
    stream, other, memory = t.stream(), t.stream(), t.memory(64)
    begin(stream)
    begin(other)
    ok(rt.MemsetAsync(memory, 1, 64, stream))
    found, number, graph, dependencies, _, count = ok(rt.StreamGetCaptureInfo(stream))
    same((int(found), int(count), len(dependencies)), (ACTIVE, 1, 1), "state and number of dependencies")
    holds(int(graph) != 0, "a graph")
    holds(int(number) != int(ok(rt.StreamGetCaptureInfo(other))[1]), "different ids of different captures")
    for each in (stream, other):
        end(t, each)


@case(
    "capture.update-dependencies",
    about="StreamUpdateCaptureDependencies",
    rule="contract of infinirtStreamUpdateCaptureDependencies",
)
def update(t: Bench) -> None:
    """The nodes that the next one depends on can be set."""
    graph, stream, memory = new_graph(t), t.stream(), t.memory(64)
    first = empty(graph)
    ok(rt.StreamBeginCaptureToGraph(stream, graph, [first], None, 1, rt.StreamCaptureMode(0)))
    ok(rt.MemsetAsync(memory, 1, 32, stream))
    flag = rt.member("StreamUpdateCaptureDependenciesFlags", "StreamSetCaptureDependencies")
    ok(rt.StreamUpdateCaptureDependencies(stream, [first], None, 1, flag))
    ok(rt.MemsetAsync(memory + 32, 1, 32, stream))
    ok(rt.StreamEndCapture(stream))
    same(int(ok(rt.GraphNodeGetDependentNodes(first))[-1]), 2, "how many nodes depend on the first")


@case(
    "capture.update-outside",
    about="StreamUpdateCaptureDependencies",
    rule="contract of infinirtStreamUpdateCaptureDependencies: 401 without a capture",
)
def update_outside(t: Bench) -> None:
    """Without a capture there are no dependencies to set."""
    graph = new_graph(t)
    fails(rt.StreamUpdateCaptureDependencies(t.stream(), [empty(graph)], None, 1, 0), "IllegalState")


@case(
    "capture.mode-exchange",
    about="ThreadExchangeStreamCaptureMode",
    rule="contract of infinirtThreadExchangeStreamCaptureMode",
)
def exchange(t: Bench) -> None:
    """The thread's mode is global at first, is exchanged, and belongs to the thread."""
    relaxed = rt.StreamCaptureMode(2)

    def body() -> tuple[int, int]:
        first = ok(rt.ThreadExchangeStreamCaptureMode(relaxed))
        return int(first), int(ok(rt.ThreadExchangeStreamCaptureMode(first)))

    same(t.elsewhere(body), (0, 2), "the modes found")


@case(
    "capture.graph-is-in-use",
    about="GraphDestroy StreamGetCaptureInfo",
    rule="measured: destroying the graph that a capture builds is 401, the capture goes on",
)
def graph_in_use(t: Bench) -> None:
    """The graph that a capture is building is not destroyed."""
    stream = t.stream()
    begin(stream)
    fails(rt.GraphDestroy(ok(rt.StreamGetCaptureInfo(stream))[2]), "IllegalState")
    same(status(stream), ACTIVE, "the state")
    end(t, stream)


@case(
    "capture.set-of-nothing",
    about="MemsetAsync MemcpyAsync",
    rule="measured: work on nothing is allowed in a capture",
)
def set_of_nothing(t: Bench) -> None:
    """Copies and sets of nothing are allowed in a capture."""
    stream, memory = t.stream(), t.memory(64)
    begin(stream)
    ok(rt.MemsetAsync(memory, 0, 0, stream))
    ok(rt.MemcpyAsync(memory, memory, 0, D2D, stream))
    same(status(stream), ACTIVE, "the state")
    end(t, stream)


@case(
    "capture.out-of-bounds",
    about="MemcpyAsync",
    rule="measured: a wrong argument in a capture is 1 and leaves it valid",
)
def out_of_bounds(t: Bench) -> None:
    """A call with wrong arguments fails in a capture as elsewhere, and the capture goes on."""
    stream, one, two = t.stream(), t.memory(64), t.memory(64)
    begin(stream)
    fails(rt.MemcpyAsync(one, two, 1 << 30, D2D, stream), "InvalidValue")
    same(status(stream), ACTIVE, "the state")
    ok(rt.MemcpyAsync(one, two, 64, D2D, stream))
    same(node_count(end(t, stream)), 1, "the number of nodes")


@case(
    "capture.many-threads",
    about="StreamBeginCapture StreamEndCapture",
    rule="Capture: thread-local captures do not disturb each other",
)
def many_threads(t: Bench) -> None:
    """Four threads capture at the same time, each for itself."""

    def body() -> int:
        stream, memory = ok(rt.StreamCreateWithFlags(1)), ok(rt.Malloc(64))
        total = 0
        for i in range(10):
            ok(rt.StreamBeginCapture(stream, rt.StreamCaptureMode(1)))
            ok(rt.MemsetAsync(memory, i, 64, stream))
            ok(rt.MemsetAsync(memory, i + 1, 32, stream))
            graph = ok(rt.StreamEndCapture(stream))
            total += node_count(graph)
            ok(rt.GraphDestroy(graph))
        ok(rt.Free(memory))
        ok(rt.StreamDestroy(stream))
        return total

    # Freeing memory is barred beside a global capture only, and these are thread-local.
    threads = [t.thread(body) for _ in range(4)]
    same([thread.result() for thread in threads], [20] * 4, "the nodes that each thread captured")


@case("capture.replay-reads-late", about="MemcpyAsync GraphLaunch", rule="contract of infinirtGraphLaunch")
def replay(t: Bench) -> None:
    """A captured copy reads its source at each launch."""
    stream, source, target = t.stream(), t.memory(64, fill=1), t.memory(64, fill=0)
    begin(stream)
    ok(rt.MemcpyAsync(target, source, 64, D2D, stream))
    executable = instantiate(t, end(t, stream))
    for value in (3, 4):
        ok(rt.MemsetAsync(source, value, 64, stream))
        run(executable, stream)
        same(download(target, 64), bytes([value]) * 64, "what the launch copied")


@case(
    "capture.child-of-graph",
    about="GraphAddChildGraphNode StreamEndCapture",
    rule="measured: a graph becomes part of another as a child graph node",
)
def child(t: Bench) -> None:
    """A captured graph becomes a child of a graph built by hand."""
    stream, memory, outer = t.stream(), t.memory(64, fill=0), new_graph(t)
    begin(stream)
    ok(rt.MemsetAsync(memory, 3, 64, stream))
    inner = end(t, stream)
    node = ok(rt.GraphAddChildGraphNode(outer, None, 0, inner))
    ok(rt.GraphAddMemsetNode(outer, [node], 1, set_params(memory, 4, 32)))
    run(instantiate(t, outer), stream)
    same(download(memory, 64), b"\4" * 32 + b"\3" * 32, "the memory")
