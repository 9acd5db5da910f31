"""What the object API says to arguments that make no sense, and that its messages name the call that was made."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from objects_support import PATIENCE, TYPE, run_python

import infinirt
from infinirt import _core


@pytest.fixture
def device() -> infinirt.Device:
    return infinirt.Device(TYPE)


@pytest.fixture
def stream(device: infinirt.Device) -> infinirt.Stream:
    return device.create_stream()


@pytest.fixture
def buffer(device: infinirt.Device) -> infinirt.Buffer:
    return device.allocate(8)


@pytest.fixture
def graph(device: infinirt.Device) -> infinirt.Graph:
    return infinirt.Graph(device)


# ---- graphs

WRONG_GRAPH_CALLS: dict[str, tuple[Callable[..., Any], str]] = {
    "copy from text": (lambda g, b: g.add_copy(b, "x"), "src must be a Buffer or an address as int, not str"),
    "copy to none": (
        lambda g, b: g.add_copy(None, b),
        "dst must be a Buffer or an address as int, not NoneType",
    ),
    "copy a fraction": (lambda g, b: g.add_copy(b, b, 1.5), "size must be an integer, not float"),
    "fill text": (lambda g, _: g.add_fill("x", 1, 8), "dst must be a Buffer"),
    "fill with text": (lambda g, b: g.add_fill(b, "1"), "value must be an integer, not str"),
    "host": (lambda g, _: g.add_host(3), "takes a function, not int"),
    "kernel config": (lambda g, _: g.add_kernel((1, 1), object()), "config must be LaunchConfig, not tuple"),
    "kernel": (
        lambda g, _: g.add_kernel(infinirt.LaunchConfig(1), print),
        "kernel must be Kernel, not builtin_function_or_method",
    ),
    "child": (lambda g, b: g.add_child(b), "child must be Graph, not Buffer"),
    "record": (lambda g, _: g.add_record(None), "event must be Event, not NoneType"),
    "wait": (lambda g, b: g.add_wait(b), "event must be Event, not Buffer"),
    "allocate": (lambda g, _: g.add_allocate("8"), "size must be an integer, not str"),
    "free": (lambda g, _: g.add_free(g), "memory must be a Buffer or an address as int, not Graph"),
    "one dependency": (lambda g, _: g.add_empty(g.add_empty()), "dependencies must be a list of GraphNode"),
    "no dependencies": (lambda g, _: g.add_empty(None), "a list of GraphNode objects, not NoneType"),
    "other dependencies": (
        lambda g, b: g.add_empty([b]),
        "each of the dependencies must be GraphNode, not Buffer",
    ),
    "instantiate": (lambda g, _: g.instantiate("fast"), "options must be GraphCompleteOptions, not str"),
    "update": (lambda g, b: g.instantiate().update(b), "source must be Graph or GraphBuilder, not Buffer"),
    "set_enabled": (lambda g, _: g.instantiate().set_enabled(1, True), "node must be GraphNode, not int"),
    "is_enabled": (lambda g, _: g.instantiate().is_enabled(g), "node must be GraphNode, not Graph"),
}


@pytest.mark.parametrize("name", WRONG_GRAPH_CALLS)
def test_graphs_say_which_argument_has_the_wrong_type(
    name: str, graph: infinirt.Graph, buffer: infinirt.Buffer
) -> None:
    call, message = WRONG_GRAPH_CALLS[name]
    with pytest.raises(TypeError, match=re.escape(message)):
        call(graph, buffer)


@pytest.mark.parametrize("size", [-1, -(2**63), 2**64])
def test_graphs_reject_sizes_that_are_none(graph: infinirt.Graph, buffer: infinirt.Buffer, size: int) -> None:
    for call in (
        lambda: graph.add_allocate(size),
        lambda: graph.add_fill(buffer.ptr, 0, size),
        lambda: graph.add_copy(buffer.ptr, buffer.ptr, size),
    ):
        with pytest.raises(ValueError, match=rf"size must be between 0 and \d+, not {size}"):
            call()
    with pytest.raises(ValueError, match="dst must be between 0"):
        graph.add_fill(-8, 0, 8)
    assert graph.nodes() == []


def test_graphs_take_what_counts_as_an_integer(graph: infinirt.Graph, buffer: infinirt.Buffer) -> None:
    graph.add_fill(np.uint64(buffer.ptr), np.uint8(3), np.int32(8))
    graph.instantiate().launch(buffer.stream)
    assert bytes(buffer) == b"\3" * 8


def test_the_functions_beneath_do_not_wrap_round(
    graph: infinirt.Graph, device: infinirt.Device, buffer: infinirt.Buffer
) -> None:
    with pytest.raises(ValueError, match="a size must be between 0"):
        _core.graph_add_alloc(graph.handle, [], device, -1)
    with pytest.raises(ValueError, match="a size must be between 0"):
        _core.graph_add_fill(graph.handle, [], buffer.ptr, 0, 1, -1, 1, 0)
    with pytest.raises(ValueError, match="must be an address"):
        _core.graph_add_free(graph.handle, [], -1)


@pytest.mark.parametrize("count", [-1, 0, 1, 1025, 10**9])
def test_a_split_has_a_number_of_branches(device: infinirt.Device, count: int) -> None:
    builder = device.create_graph_builder().begin_building()
    with pytest.raises(ValueError, match=f"count must be between 2 and 1024, not {count}"):
        builder.split(count)
    builder.close()


def test_builders_say_what_they_take(device: infinirt.Device, stream: infinirt.Stream) -> None:
    with pytest.raises(TypeError, match="stream must be Stream, not NoneType"):
        infinirt.GraphBuilder(None)  # type: ignore[arg-type]
    builder = stream.create_graph_builder()
    for mode in ("loose", 3, []):
        with pytest.raises(ValueError, match="one of global, thread_local, relaxed"):
            builder.begin_building(mode)  # type: ignore[arg-type]
    builder.begin_building()
    with pytest.raises(TypeError, match="count must be an integer, not float"):
        builder.split(2.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"each argument of join\(\) must be GraphBuilder, not Stream"):
        infinirt.GraphBuilder.join(builder, stream)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="child must be GraphBuilder or Graph, not str"):
        builder.embed("graph")  # type: ignore[arg-type]
    assert builder.end_building().graph.nodes() == []


# ---- devices, streams, kernels


@pytest.mark.parametrize("ordinal", [1, 99, -1, 2**31, 2**70, -(2**70)])
def test_devices_that_do_not_exist(ordinal: int) -> None:
    with infinirt.Device("cpu"), pytest.raises(infinirt.InvalidDeviceError) as caught:
        infinirt.Device(ordinal)
    assert f"cpu:{ordinal} does not exist; the only device of type 'cpu' is cpu:0" in str(caught.value)


def test_devices_that_do_not_exist_beside_several() -> None:
    said = run_python(
        """
        import infinirt
        for name in (2, "cpu:2", "cpu:99999999999999999999", 10**5000):
            try:
                infinirt.Device(name)
            except infinirt.InvalidDeviceError as error:
                print(error)
        """,
        INFINIRT_CPU_DEVICES="2",
        INFINIRT_DEVICE="cpu",
    )
    lines = said.splitlines()
    assert len(lines) == 4
    assert all("does not exist; devices of type 'cpu' are cpu:0 to cpu:1" in line for line in lines)
    assert "cpu:99999999999999999999 " in lines[2]


@pytest.mark.parametrize("wrong", [1.0, b"cpu", [], object()])
def test_what_is_no_device(wrong: object) -> None:
    with pytest.raises(TypeError, match="a device is given as Device, number or name"):
        infinirt.Device(wrong)  # type: ignore[arg-type]


def test_a_device_by_a_number_of_another_type() -> None:
    with infinirt.Device("cpu") as cpu:
        assert infinirt.Device(np.int64(0)) is cpu  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [-1, 2**64])
def test_a_memory_limit_is_a_size(device: infinirt.Device, limit: int) -> None:
    with pytest.raises(ValueError, match="limit must be between 0 and"):
        device.set_memory_limit(limit)
    with pytest.raises(ValueError, match="limit must be between 0 and"):
        _core.set_memory_limit(device, limit)
    device.allocate(1 << 20).close()  # no limit was set


def test_options_and_streams_of_other_types(device: infinirt.Device) -> None:
    with pytest.raises(TypeError, match="options must be StreamOptions, not EventOptions"):
        device.create_stream(options=infinirt.EventOptions())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="options must be EventOptions, not str"):
        device.create_event("timing")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="offer __cuda_stream__, which int does not"):
        device.create_stream(5)  # type: ignore[arg-type]


def test_launches_of_what_is_no_kernel(stream: infinirt.Stream) -> None:
    with pytest.raises(TypeError, match="kernel must be Kernel, not int"):
        infinirt.launch(stream, infinirt.LaunchConfig(1), 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="config must be LaunchConfig, not tuple"):
        infinirt.launch(stream, (1, 1), 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="grid must be an integer, not str"):
        infinirt.LaunchConfig("4")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="shmem_size must be between 0"):
        infinirt.LaunchConfig(1, shmem_size=-1)


def test_recording_with_options_that_have_no_name(stream: infinirt.Stream) -> None:
    timed = infinirt.EventOptions(timing_enabled=True)
    with pytest.raises(TypeError, match=r"not EventOptions; name it: record\(options="):
        stream.record(timed)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"record\(\) takes an Event, not int$"):
        stream.record(3)  # type: ignore[arg-type]


def test_parameters_that_a_function_does_not_have(stream: infinirt.Stream, device: infinirt.Device) -> None:
    for name in ("timing", "timing_enabled", "enable_timing"):
        with pytest.raises(TypeError) as caught:
            stream.record(**{name: True})  # type: ignore[arg-type]
        assert str(caught.value) == (
            f"record() has no parameter '{name}'; it takes event and options; what a new event can do is said by options, "
            "as in record(options=EventOptions(timing_enabled=True))"
        )
    with pytest.raises(TypeError, match=r"^allocate\(\) has no parameter 'queue'; it takes size and stream$"):
        device.allocate(4, queue=stream)  # type: ignore[call-arg]


WRONG_OPTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "record": (lambda s, o: s.record(options=o), "EventOptions"),
    "create_event": (lambda s, o: s.device.create_event(options=o), "EventOptions"),
    "create_stream": (lambda s, o: s.device.create_stream(options=o), "StreamOptions"),
    "pool": (lambda s, o: infinirt.MemoryPool(s.device, o), "MemoryPoolOptions"),
    "instantiate": (lambda s, o: infinirt.Graph(s.device).instantiate(o), "GraphCompleteOptions"),
    "program": (lambda s, o: infinirt.Program("", "c++", o), "ProgramOptions"),
    "launch": (lambda s, o: infinirt.launch(s, o, None), "LaunchConfig"),
    "add_kernel": (lambda s, o: infinirt.Graph(s.device).add_kernel(o, None), "LaunchConfig"),
}


@pytest.mark.parametrize("name", WRONG_OPTIONS)
def test_options_of_the_wrong_type(name: str, stream: infinirt.Stream) -> None:
    call, wanted = WRONG_OPTIONS[name]
    others = [infinirt.EventOptions(), infinirt.StreamOptions(), infinirt.MemoryPoolOptions()]
    for wrong in (3, "fast", {}, *others):
        if type(wrong).__name__ != wanted:
            with pytest.raises(TypeError, match=rf"must be {wanted}\b.*, not {type(wrong).__name__}$"):
                call(stream, wrong)


def test_a_class_made_of_event_options_will_do(stream: infinirt.Stream) -> None:
    class Timed(infinirt.EventOptions):
        __slots__ = ()

    assert stream.record(options=Timed(timing_enabled=True)).is_timing_enabled


def test_options_whose_values_are_no_numbers() -> None:
    with pytest.raises(TypeError, match="priority must be an integer, not str"):
        infinirt.StreamOptions(priority="high")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="max_size must be an integer, not str"):
        infinirt.MemoryPoolOptions(max_size="1G")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="release_threshold must be between 0 and"):
        infinirt.MemoryPoolOptions(release_threshold=-1)


WRONG_STREAMS: dict[str, Callable[..., Any]] = {
    "allocate": lambda d, b, s: d.allocate(4, stream=s),
    "pool": lambda d, b, s: infinirt.MemoryPool(d).allocate(4, stream=s),
    "cache": lambda d, b, s: infinirt.CachingPool(d).allocate(4, stream=s),
    "pinned": lambda d, b, s: infinirt.PinnedResource(d).allocate(4, stream=s),
    "copy_to": lambda d, b, s: b.copy_to(bytearray(8), stream=s),
    "copy_from": lambda d, b, s: b.copy_from(bytes(8), stream=s),
    "fill": lambda d, b, s: b.fill(0, stream=s),
    "close": lambda d, b, s: b.close(stream=s),
    "from_handle": lambda d, b, s: infinirt.Buffer.from_handle(b.ptr, 8, stream=s),
    "record": lambda d, b, s: d.create_event().record(s),
    "launch": lambda d, b, s: infinirt.launch(s, infinirt.LaunchConfig(1), None),
    "capture": lambda d, b, s: infinirt.capture(s).__enter__(),
}


@pytest.mark.parametrize("name", WRONG_STREAMS)
def test_what_is_no_stream(name: str, device: infinirt.Device, buffer: infinirt.Buffer) -> None:
    call = WRONG_STREAMS[name]
    for wrong, advice in (
        ("s", ""),
        (3, "; Stream.from_handle() makes one of a handle"),
        (device, "; that of a device is device.default_stream"),
    ):
        with pytest.raises(TypeError) as caught:
            call(device, buffer, wrong)
        assert str(caught.value) == (
            f"stream must be a Stream, None or an object with __cuda_stream__, not {type(wrong).__name__}{advice}"
        )


class Shared:
    """Says that it has memory to share."""

    def __dlpack__(self) -> None: ...


@pytest.mark.parametrize(
    ("wrong", "to", "source"),
    [
        ("out.bin", "array.tofile(path)", "text.encode() makes bytes"),
        (Path("out.bin"), "array.tofile(path)", "numpy.fromfile(path, numpy.uint8)"),
        ([1], "numpy.empty(size, numpy.uint8)", "numpy.asarray(...) makes an array of a list"),
        (3, "not int", "fill() writes one value everywhere"),
        (Shared(), "infinirt.as_buffer(...)", "infinirt.as_buffer(...)"),
        (object(), "not object", "not object"),
    ],
)
def test_what_cannot_be_copied(wrong: Any, to: str, source: str, buffer: infinirt.Buffer) -> None:
    for call, name, advice in ((buffer.copy_to, "dst", to), (buffer.copy_from, "src", source)):
        with pytest.raises(TypeError) as caught:
            call(wrong)
        assert str(caught.value).startswith(f"{name} must be a Buffer, or an object that shows its memory")
        assert advice in str(caught.value)
        if type(wrong) is object:
            assert str(caught.value).endswith("not object")


def test_buffers_of_what_is_no_address(device: infinirt.Device, buffer: infinirt.Buffer) -> None:
    make = infinirt.Buffer.from_handle
    for place in (None, device):
        with pytest.raises(TypeError, match=r"^ptr must be an address, not str$"):
            make("a", 4, device=place)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"^size must be an integer, not str$"):
            make(buffer.ptr, "4", device=place)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^mr must be a memory resource, which has deallocate\(\), not int$"):
        make(buffer.ptr, 4, 3)  # type: ignore[arg-type]


def test_waiting_for_none(stream: infinirt.Stream) -> None:
    with pytest.raises(TypeError, match=r"takes an Event or a stream, not None; .*default_stream"):
        stream.wait(None)  # type: ignore[arg-type]
    for other in (3, "event"):
        with pytest.raises(
            TypeError, match=rf"wait\(\) takes an Event or a stream, not {type(other).__name__}$"
        ):
            stream.wait(other)  # type: ignore[arg-type]


# ---- memory that nobody knows


@pytest.mark.parametrize("value", [1, b"ab"])
def test_an_address_alone_is_not_filled(device: infinirt.Device, value: int | bytes) -> None:
    unknown = infinirt.Buffer.from_handle(0x1234, 10, device=device)
    with pytest.raises(infinirt.InvalidValueError, match=r"fill\(\): the memory at 0x1234 .* owner="):
        unknown.fill(value)
    with pytest.raises(infinirt.InvalidValueError, match=r"fill\(\)"):
        unknown[2:4].fill(value)


def test_host_memory_with_an_owner_is_filled(device: infinirt.Device) -> None:
    data = ctypes.create_string_buffer(4)
    infinirt.Buffer.from_handle(ctypes.addressof(data), 4, owner=data, device=device).fill(1)
    device.sync()
    assert data.raw == b"\1" * 4


@pytest.mark.parametrize("value", [1, b"ab"])
@pytest.mark.parametrize("owned", [False, True])
def test_freed_memory_is_not_filled_and_the_message_speaks_of_a_fill(
    device: infinirt.Device, value: int | bytes, owned: bool
) -> None:
    pointer = _core.malloc(device, 4096)
    buffer = infinirt.Buffer.from_handle(pointer, 16, owner=device if owned else None, device=device)
    buffer.fill(value)
    device.sync()
    _core.free(device, pointer)
    with pytest.raises(infinirt.InvalidValueError, match=r"^fill\(\): .*freed"):
        buffer.fill(value)


# ---- messages name the call


def test_synchronising_in_a_capture_names_the_call(stream: infinirt.Stream) -> None:
    _core.begin_capture(stream, 2)
    with pytest.raises(infinirt.CaptureError, match=r"^infinirtStreamSynchronize: "):
        stream.sync()
    with pytest.raises(infinirt.CaptureError, match="invalidated by infinirtStreamSynchronize"):
        _core.end_capture(stream)


def test_synchronising_with_a_captured_event_names_the_call(stream: infinirt.Stream) -> None:
    _core.begin_capture(stream, 2)
    event = stream.record()
    with pytest.raises(infinirt.CaptureError, match=r"^infinirtEventSynchronize: "):
        event.sync()
    with pytest.raises(infinirt.CaptureError, match="invalidated by infinirtEventSynchronize"):
        _core.end_capture(stream)


def test_calls_in_a_host_function_are_named(device: infinirt.Device, stream: infinirt.Stream) -> None:
    said: list[str] = []
    ended = threading.Event()
    event = stream.record()
    default = device.default_stream

    def forbidden() -> None:
        for call in (stream.sync, default.sync, event.sync, default.query, device.sync):
            try:
                call()
            except infinirt.NotPermittedError as error:
                said.append(str(error).split(":")[0])
        ended.set()

    stream.launch_host_func(forbidden)
    assert ended.wait(PATIENCE)
    stream.sync()
    assert said == [
        "infinirtStreamSynchronize",
        "infinirtStreamSynchronize",
        "infinirtEventSynchronize",
        "infinirtStreamQuery",
        "infinirtDeviceSynchronize",
    ]


# ---- closing


class Stubborn:
    """A memory resource whose memory cannot be freed."""

    def __init__(self, device: infinirt.Device, error: Exception) -> None:
        self.device, self.error, self.attempts = device, error, 0
        self.memory = ctypes.create_string_buffer(8)

    def allocate(self, size: int, *, stream: Any = None) -> infinirt.Buffer:
        return infinirt.Buffer.from_handle(ctypes.addressof(self.memory), size, self, device=self.device)  # type: ignore[arg-type]

    def deallocate(self, ptr: int, size: int, *, stream: Any = None) -> None:
        self.attempts += 1
        raise self.error


def test_a_failed_free_is_raised_once(device: infinirt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    unraisable: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", unraisable.append)
    resource = Stubborn(device, OSError("the memory will not go"))
    buffer = resource.allocate(8)
    with pytest.raises(OSError, match="will not go"):
        buffer.close()
    assert buffer.is_closed
    buffer.close()  # closing twice does nothing, here too
    with pytest.raises(infinirt.InvalidValueError, match="closed"):
        buffer.fill(0)
    del buffer
    assert resource.attempts == 1
    assert unraisable == []


def test_a_free_at_the_wrong_moment_is_done_later(device: infinirt.Device) -> None:
    resource = Stubborn(device, infinirt.errors.error_from_code(900, "a capture is in the way"))
    buffer = resource.allocate(8)
    with pytest.raises(infinirt.CaptureError):
        buffer.close()
    assert not buffer.is_closed
    resource.deallocate = lambda ptr, size, stream=None: None  # type: ignore[assignment, misc]
    buffer.close()
    assert buffer.is_closed


def test_a_failed_free_is_not_reported_again_at_exit() -> None:
    said = run_python(
        """
        import ctypes, infinirt, sys
        sys.stderr = sys.stdout

        @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        def broken(block, arguments):
            return 719

        device = infinirt.Device("cpu")
        buffer = infinirt.DirectResource(device).allocate(8)
        kernel = infinirt.Kernel.from_address(ctypes.cast(broken, ctypes.c_void_p).value, [])
        infinirt.launch(None, infinirt.LaunchConfig(1), kernel)
        try:
            device.sync()
        except infinirt.StickyError:
            print("broken")
        try:
            buffer.close()
        except infinirt.StickyError:
            print("not freed", buffer.is_closed)
        """,
        INFINIRT_DEVICE="cpu",
    )
    assert said == "broken\nnot freed True\n"


# ---- NumPy and memory that the host cannot reach


def test_numpy_is_told_that_isolated_memory_cannot_be_reached() -> None:
    said = run_python(
        """
        import infinirt, numpy
        buffer = infinirt.Device("cpu").allocate(4)
        for read in (numpy.asarray, numpy.array, lambda b: numpy.asarray(b, dtype="u1"), lambda b: b.__array__()):
            try:
                print("read", read(buffer))
            except BufferError as error:
                print(error)
        """,
        INFINIRT_CPU_MEMORY="isolated",
        INFINIRT_DEVICE="cpu",
    )
    assert said.count("cannot be reached by the host; copy it: buffer.copy_to(array)") == 4
    assert "read" not in said.replace("reached", "")


def test_numpy_reads_other_memory_in_place(device: infinirt.Device, buffer: infinirt.Buffer) -> None:
    buffer.fill(3)
    array = np.asarray(buffer)
    assert array.dtype == np.uint8
    assert array.ctypes.data == buffer.ptr
    assert np.array(buffer).ctypes.data != buffer.ptr
    assert buffer.__array__("uint16").tolist() == [3] * 8  # type: ignore[attr-defined]
    assert buffer.__array__(copy=True).ctypes.data != buffer.ptr  # type: ignore[attr-defined]
    del array
    buffer.close()
    with pytest.raises(infinirt.InvalidValueError, match="closed"):
        np.asarray(buffer)


# ---- what others call it


def test_what_is_given_by_name_is_named(
    device: infinirt.Device, stream: infinirt.Stream, buffer: infinirt.Buffer
) -> None:
    for call in (
        lambda: buffer.fill(0, stream),  # type: ignore[misc]
        lambda: buffer.copy_from(b"x" * 8, stream),  # type: ignore[misc]
        lambda: device.allocate(8, stream),  # type: ignore[misc]
    ):
        with pytest.raises(TypeError, match=r"\(2 given\); give the rest by name: stream="):
            call()


def test_options_say_what_they_take() -> None:
    made: Any = infinirt
    with pytest.raises(
        TypeError, match="'enable_timing', which is timing_enabled here; it takes timing_enabled"
    ):
        made.EventOptions(enable_timing=True)
    with pytest.raises(TypeError, match="no parameter 'colour'; it takes nonblocking and priority"):
        made.StreamOptions(colour=1)
    with pytest.raises(TypeError, match="'shared_mem', which is shmem_size here"):
        made.LaunchConfig(grid=1, block=1, shared_mem=4)


def test_options_made_of_ours_take_what_they_like() -> None:
    class Mine(infinirt.EventOptions):
        def __init__(self, colour: str) -> None:
            super().__init__(timing_enabled=True)

    assert Mine(colour="red").timing_enabled


def test_a_block_in_the_place_of_a_cluster() -> None:
    with pytest.raises(ValueError, match=r"cluster is 256, .*LaunchConfig\(grid=4, block=256\)"):
        infinirt.LaunchConfig(4, 256)
    assert infinirt.LaunchConfig(4, None, 256).block == (256, 1, 1)
    assert infinirt.LaunchConfig(4, 2, 256).cluster == (2, 1, 1)
    assert infinirt.LaunchConfig(8, 2).cluster == (2, 1, 1)


def test_a_switch_that_is_neither_on_nor_off_is_reported() -> None:
    said = run_python(
        """
        import os, subprocess, sys
        done = subprocess.run(
            [sys.executable, "-c", "import infinirt"], env={**os.environ, "INFINIRT_STACKS": "yes"}, capture_output=True, text=True
        )
        print(done.returncode, done.stderr.strip().partition("] ")[2])
        """
    )
    assert said.strip() == "0 setting: INFINIRT_STACKS=yes is not known; it may be 0 or 1; it is 0"


def test_a_misspelt_setting_is_reported() -> None:
    said = run_python(
        """
        import os, subprocess, sys
        wrong = {**os.environ, "INFINIRT_CPU_SHEDULE": "random:1", "INFINIRT_SOMETHING_ELSE": "1"}
        done = subprocess.run([sys.executable, "-c", "import infinirt"], env=wrong, capture_output=True, text=True)
        print(done.returncode, done.stderr.strip().partition("] ")[2])
        """
    )
    assert said.strip() == "0 setting: INFINIRT_CPU_SHEDULE is not known; was INFINIRT_CPU_SCHEDULE meant?"


def test_a_stream_that_a_block_closed_says_so(device: infinirt.Device, buffer: infinirt.Buffer) -> None:
    with device.create_stream() as stream:
        pass
    with pytest.raises(infinirt.InvalidHandleError, match=r"at the end of a `with` block.*stream="):
        buffer.fill(1, stream=stream)
