"""Graphs: capture, builders, explicit construction, lifetimes of what they use."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
from objects_support import PATIENCE, TYPE, contents, nothing_stays_deferred, run_python

import infinirt


@pytest.fixture
def device() -> infinirt.Device:
    return infinirt.Device(TYPE)


@pytest.fixture
def stream(device: infinirt.Device) -> infinirt.Stream:
    return device.create_stream()


def test_capture_and_replay(device: infinirt.Device, stream: infinirt.Stream) -> None:
    buffer = device.allocate(4, stream=stream)
    count: list[int] = []
    buffer.fill(0, stream=stream)
    stream.sync()
    with infinirt.capture(stream) as captured:
        assert stream.is_capturing
        buffer.fill(1, stream=stream)
        stream.launch_host_func(count.append, 1)
        with pytest.raises(RuntimeError, match="after the with block"):
            _ = captured.graph
    assert not stream.is_capturing
    assert contents(buffer) == b"\0" * 4
    ready = captured.graph.instantiate()
    for _ in range(3):
        ready.launch(stream)
    stream.sync()
    assert contents(buffer) == b"\1" * 4
    assert count == [1, 1, 1]
    assert [node.type for node in captured.graph.nodes()] == ["memset", "host"]


def test_capture_of_several_streams(device: infinirt.Device, stream: infinirt.Stream) -> None:
    other = device.create_stream()
    left, right = device.allocate(4, stream=stream), device.allocate(4, stream=stream)
    stream.sync()
    with infinirt.capture(stream, mode="thread_local") as captured:
        left.fill(1, stream=stream)
        other.wait(stream)
        right.fill(2, stream=other)
        left.copy_to(right[0:4], stream=other)
        stream.wait(other)
    captured.graph.instantiate().launch(stream)
    stream.sync()
    assert contents(right) == b"\1" * 4


def test_an_exception_ends_the_capture(device: infinirt.Device, stream: infinirt.Stream) -> None:
    with pytest.raises(KeyError), infinirt.capture(stream):
        raise KeyError
    assert not stream.is_capturing
    stream.sync()
    with infinirt.capture(stream) as again:
        pass
    assert again.graph.nodes() == []


def test_a_broken_capture_names_the_culprit(device: infinirt.Device, stream: infinirt.Stream) -> None:
    culprit = r"infinirtStream(Synchronize|Query)"

    def break_it() -> None:
        with infinirt.capture(stream), pytest.raises(infinirt.CaptureError):
            stream.sync()

    with pytest.raises(infinirt.CaptureError, match=culprit) as caught:
        break_it()
    assert caught.value.name == "infinirtErrorStreamCaptureInvalidated"
    assert not stream.is_capturing
    stream.sync()


def test_the_first_error_is_the_one_that_is_raised(stream: infinirt.Stream) -> None:
    with pytest.raises(infinirt.CaptureError) as caught, infinirt.capture(stream):
        stream.sync()
    assert caught.value.name == "infinirtErrorStreamCaptureUnsupported"
    stream.sync()


def test_legacy_stream_cannot_be_captured() -> None:
    with (
        infinirt.Device(TYPE),
        pytest.raises(infinirt.CaptureError),
        infinirt.capture(infinirt.LEGACY_DEFAULT_STREAM),
    ):
        pass
    with (
        pytest.raises(ValueError, match="thread_local"),
        infinirt.capture(infinirt.LEGACY_DEFAULT_STREAM, "some"),
    ):
        pass


def test_garbage_does_not_break_a_capture(device: infinirt.Device) -> None:
    """Destructors inside a capture, of things that have nothing to do with it, on blocking streams and the legacy one."""
    blocking = device.create_stream(nonblocking=False)
    pool = infinirt.MemoryPool(device)
    things: list[object] = [
        pool.allocate(64, stream=device.default_stream),
        pool.allocate(64, stream=blocking),
        infinirt.DirectResource(device).allocate(64),
        infinirt.PinnedResource(device).allocate(64),
        infinirt.PinnedPool(device).allocate(64, stream=blocking),
        infinirt.TrackingResource(infinirt.MemoryPool(device)).allocate(64),
        device.create_stream(),
        device.create_event(),
        infinirt.MemoryPool(device),
        infinirt.Graph(TYPE),
        infinirt.Graph(TYPE).instantiate(),
    ]
    buffer = device.allocate(8, stream=blocking)
    other = device.create_stream()
    used_elsewhere = pool.allocate(64, stream=other)
    used_elsewhere.fill(1, stream=other)
    used_elsewhere.record_stream(blocking)
    blocking.sync()
    with infinirt.capture(blocking, mode="global") as captured:
        buffer.fill(1, stream=blocking)
        things.clear()
        del used_elsewhere
        gc.collect()
        buffer.fill(2, stream=blocking)
    captured.graph.instantiate().launch(blocking)
    blocking.sync()
    device.sync()
    assert contents(buffer) == b"\2" * 8
    assert nothing_stays_deferred()
    assert pool.attributes.used_mem_current == 0


def test_a_captured_stream_is_not_destroyed_under_the_capture(
    device: infinirt.Device, stream: infinirt.Stream
) -> None:
    side = device.create_stream()
    buffer = device.allocate(4, stream=stream)
    stream.sync()
    with infinirt.capture(stream) as captured:
        side.wait(stream)
        buffer.fill(3, stream=side)
        joined = side.record()
        del side
        gc.collect()
        stream.wait(joined)
    captured.graph.instantiate().launch(stream)
    stream.sync()
    assert contents(buffer) == b"\3" * 4


def test_closing_a_stream_waits_for_the_end_of_its_capture(device: infinirt.Device) -> None:
    stream = device.create_stream()
    seen: list[int] = []
    with infinirt.capture(stream) as captured:
        stream.launch_host_func(seen.append, 1)
        stream.close()
    other = device.create_stream()
    captured.graph.instantiate().launch(other)
    other.sync()
    assert seen == [1]
    assert nothing_stays_deferred()


def test_graphs_keep_what_they_use(device: infinirt.Device, stream: infinirt.Stream) -> None:
    pool = infinirt.MemoryPool(device)
    out = device.allocate(64, stream=stream)
    source = pool.allocate(64, stream=stream)
    source.fill(7, stream=stream)
    stream.sync()
    gone = weakref.ref(source)
    with infinirt.capture(stream) as captured:
        source.copy_to(out, stream=stream)
    del source
    gc.collect()
    assert gone() is not None
    ready = captured.graph.instantiate()
    del captured
    gc.collect()
    assert gone() is not None  # by the executable graph alone
    trash = [pool.allocate(64, stream=stream) for _ in range(8)]
    for piece in trash:
        piece.fill(0, stream=stream)
    ready.launch(stream)
    stream.sync()
    assert contents(out) == b"\7" * 64
    gate = threading.Event()
    stream.launch_host_func(gate.wait, PATIENCE)
    ready.launch(stream)
    del ready
    gc.collect()
    assert gone() is not None  # a launch is under way
    gate.set()
    stream.sync()
    for _ in range(300):
        if gone() is None:
            break
        threading.Event().wait(0.01)
    assert gone() is None
    del piece
    trash.clear()
    stream.sync()
    device.sync()
    assert pool.attributes.used_mem_current == 0


def test_host_memory_of_a_captured_copy_lives_with_the_graph(
    device: infinirt.Device, stream: infinirt.Stream
) -> None:
    buffer = device.allocate(5, stream=stream)
    stream.sync()

    def record() -> infinirt.Graph:
        data = bytearray(b"hello")
        with infinirt.capture(stream) as captured:
            buffer.copy_from(data, stream=stream)
        return captured.graph

    ready = record().instantiate()
    _ = [bytearray(b"XXXXX") for _ in range(100)]
    ready.launch(stream)
    stream.sync()
    assert contents(buffer) == b"hello"


def test_patterns_in_captures(device: infinirt.Device, stream: infinirt.Stream) -> None:
    buffer = device.allocate(100_000, stream=stream)
    stream.sync()
    with infinirt.capture(stream) as captured:
        buffer.fill(b"abcd", stream=stream)
    captured.graph.instantiate().launch(stream)
    stream.sync()
    assert contents(buffer) == b"abcd" * 25_000


def test_memory_allocated_in_a_capture(device: infinirt.Device, stream: infinirt.Stream) -> None:
    """It is the graph's own; dropping the Buffer in the capture frees it in the graph, so that the graph can run again."""
    out = device.allocate(4, stream=stream)
    stream.sync()
    with infinirt.capture(stream) as captured:
        scratch = device.allocate(4, stream=stream)
        scratch.fill(6, stream=stream)
        scratch.copy_to(out, stream=stream)
        del scratch
    assert [node.type for node in captured.graph.nodes()] == ["mem_alloc", "memset", "memcpy", "mem_free"]
    ready = captured.graph.instantiate()
    for _ in range(3):
        ready.launch(stream)
    stream.sync()
    assert contents(out) == b"\6" * 4


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
def test_the_first_memory_of_a_process_may_be_a_graphs(mode: str) -> None:
    code = f"""
    import infinirt
    device = infinirt.Device("cpu")
    stream = device.create_stream()
    with infinirt.capture(stream, mode="{mode}") as captured:
        device.allocate(64, stream=stream).fill(1, stream=stream)
    captured.graph.instantiate().launch(stream)
    stream.sync()
    print(device.memory_resource.attributes.release_threshold == 2**64 - 1)
    """
    assert run_python(code) == "True\n"


def test_memory_of_a_graph_outlives_its_capture(device: infinirt.Device, stream: infinirt.Stream) -> None:
    with infinirt.capture(stream) as captured:
        kept = device.allocate(4, stream=stream)
        kept.fill(6, stream=stream)
    ready = captured.graph.instantiate()
    ready.launch(stream)
    stream.sync()
    assert contents(kept) == b"\6" * 4
    kept.close(stream)
    ready.launch(stream)
    stream.sync()


def test_explicit_construction(device: infinirt.Device, stream: infinirt.Stream) -> None:
    buffer, event = device.allocate(8, stream=stream), device.create_event()
    stream.sync()
    order: list[str] = []
    graph = infinirt.Graph(TYPE)
    fill = graph.add_fill(buffer, 0x0102, element_size=2)
    copy = graph.add_copy(buffer[4:8], buffer[0:4], dependencies=[fill])
    host = graph.add_host(order.append, "host", dependencies=[copy])
    child = infinirt.Graph(TYPE)
    child.add_host(order.append, "child")
    embedded = graph.add_child(child, [host])
    record = graph.add_record(event, [embedded])
    end = graph.add_empty([record])
    assert [node.type for node in (fill, copy, host, embedded, record, end)] == [
        "memset", "memcpy", "host", "graph", "event_record", "empty",
    ]  # fmt: skip
    assert set(graph.nodes()) == {fill, copy, host, embedded, record, end}
    assert (fill, copy) in graph.edges()
    assert len(graph.edges()) == 5
    child.close()
    ready = graph.instantiate(infinirt.GraphCompleteOptions(upload_stream=stream))
    graph.close()
    ready.launch(stream)
    event.sync()
    stream.sync()
    assert contents(buffer) == b"\2\1" * 4
    assert order == ["host", "child"]
    with pytest.raises(infinirt.InvalidValueError, match="closed"):
        graph.add_empty()


def test_waiting_nodes(device: infinirt.Device, stream: infinirt.Stream) -> None:
    other, event, seen = device.create_stream(), device.create_event(), []
    graph = infinirt.Graph(TYPE)
    waited = graph.add_wait(event)
    graph.add_host(seen.append, 1, dependencies=[waited])
    ready = graph.instantiate()
    gate = threading.Event()
    other.launch_host_func(gate.wait, PATIENCE)
    other.record(event)
    ready.launch(stream)
    assert not stream.query()
    assert seen == []
    gate.set()
    stream.sync()
    assert seen == [1]


def test_memory_nodes(device: infinirt.Device, stream: infinirt.Stream) -> None:
    out = device.allocate(16, stream=stream)
    stream.sync()
    graph = infinirt.Graph(TYPE)
    allocated, scratch = graph.add_allocate(16, device=device)
    filled = graph.add_fill(scratch, 5, dependencies=[allocated])
    copied = graph.add_copy(out, scratch, dependencies=[filled])
    graph.add_free(scratch, [copied])
    ready = graph.instantiate()
    ready.launch(stream)
    ready.launch(stream)
    stream.sync()
    assert contents(out) == b"\5" * 16


def test_wrong_nodes(device: infinirt.Device) -> None:
    graph, buffer = infinirt.Graph(TYPE), device.allocate(4)
    for call in (
        lambda: graph.add_copy(1, 2),
        lambda: graph.add_copy(buffer, buffer, 5),
        lambda: graph.add_fill(buffer, 256),
        lambda: graph.add_fill(buffer[0:3], 1, element_size=2),
        lambda: graph.add_fill(buffer, 1, element_size=3),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError, match="function"):
        graph.add_host(3)  # type: ignore[arg-type]
    assert graph.nodes() == []


def test_clone_and_dot() -> None:
    graph = infinirt.Graph(TYPE)
    graph.add_host(print, dependencies=[graph.add_empty()])
    copy = graph.clone()
    copy.add_empty()
    assert (len(graph.nodes()), len(copy.nodes())) == (2, 3)
    assert "digraph" in graph.to_dot()
    assert "->" in graph.to_dot(verbose=True)


def test_update(device: infinirt.Device, stream: infinirt.Stream) -> None:
    buffer = device.allocate(1, stream=stream)
    stream.sync()

    def filling(value: int) -> infinirt.Graph:
        graph = infinirt.Graph(TYPE)
        graph.add_fill(buffer, value)
        return graph

    ready = filling(1).instantiate()
    for value in (2, 3):
        ready.launch(stream)
        ready.update(filling(value))
    ready.launch(stream)
    stream.sync()
    assert contents(buffer) == b"\3"
    other = filling(4)
    other.add_empty()
    with pytest.raises(infinirt.GraphUpdateError):
        ready.update(other)


def test_nodes_can_be_disabled(device: infinirt.Device, stream: infinirt.Stream) -> None:
    graph, buffer = infinirt.Graph(TYPE), device.allocate(1, stream=stream)
    buffer.fill(0, stream=stream)
    node = graph.add_fill(buffer, 7)
    ready = graph.instantiate()
    assert ready.is_enabled(node)
    ready.set_enabled(node, False)
    assert not ready.is_enabled(node)
    ready.launch(stream)
    stream.sync()
    assert contents(buffer) == b"\0"
    ready.set_enabled(node, True)
    ready.launch(stream)
    stream.sync()
    assert contents(buffer) == b"\7"


def test_functions_of_host_nodes_are_kept_and_released(stream: infinirt.Stream) -> None:
    class Callable:
        calls = 0

        def __call__(self) -> None:
            Callable.calls += 1

    function = Callable()
    gone = weakref.ref(function)
    graph = infinirt.Graph(TYPE)
    graph.add_host(function)
    ready = graph.instantiate()
    del function, graph
    gc.collect()
    ready.launch(stream)
    stream.sync()
    assert Callable.calls == 1
    ready.close()
    with pytest.raises(infinirt.InvalidValueError, match="closed"):
        ready.launch(stream)
    for _ in range(300):
        if gone() is None:
            break
        threading.Event().wait(0.01)
    assert gone() is None


def test_builder(device: infinirt.Device, stream: infinirt.Stream) -> None:
    buffer = device.allocate(3, stream=stream)
    stream.sync()
    called: list[object] = []
    builder = device.create_graph_builder()
    assert not builder.is_building
    with pytest.raises(RuntimeError, match="begin_building"):
        builder.end_building()
    assert builder.begin_building("global") is builder
    with pytest.raises(RuntimeError, match="already"):
        builder.begin_building()
    branches = builder.split(3)
    assert branches[0] is builder
    assert [branch.is_join_required for branch in branches] == [False, True, True]
    for number, branch in enumerate(branches):
        buffer[number : number + 1].fill(number + 1, stream=branch)
    with pytest.raises(RuntimeError, match="join"):
        branches[1].end_building()
    assert infinirt.GraphBuilder.join(*reversed(branches)) is builder
    builder.callback(called.append, user_data="done")
    ready = builder.end_building().complete()
    with pytest.raises(RuntimeError, match="another"):
        builder.begin_building()
    ready.launch(stream)
    stream.sync()
    assert contents(buffer) == b"\1\2\3"
    assert called == ["done"]
    assert "digraph" in builder.to_dot()
    builder.close()
    assert builder.is_closed
    with pytest.raises(RuntimeError, match="end_building"):
        _ = builder.graph


def test_builders_embed(device: infinirt.Device, stream: infinirt.Stream) -> None:
    seen: list[int] = []
    inner = device.create_graph_builder().begin_building()
    inner.callback(seen.append, 1)
    inner.end_building()
    outer = stream.create_graph_builder().begin_building()
    outer.embed(inner)
    outer.callback(seen.append, 2)
    outer.end_building().complete().launch(stream)
    stream.sync()
    assert seen == [1, 2]


def test_a_builder_that_is_dropped_ends_its_capture(device: infinirt.Device, stream: infinirt.Stream) -> None:
    builder = stream.create_graph_builder().begin_building()
    builder.callback(print)
    del builder
    gc.collect()
    assert not stream.is_capturing
    builder = stream.create_graph_builder().begin_building()
    builder.close()
    stream.sync()
