"""The object API: lifetimes and exceptions, over the device under test."""

from __future__ import annotations

import gc

import infinirt

from ..bench import Bench, pattern
from ..case import Register
from ..check import holds, raises, rt, same, same_bytes

case = Register("object", "full")
RULE = "Python: the object API"


def device(t: Bench) -> infinirt.Device:
    return infinirt.Device(f"{t.type}:{t.ordinal}")


def contents(buffer: infinirt.Buffer, stream: infinirt.Stream) -> bytes:
    into = bytearray(buffer.size)
    buffer.copy_to(into, stream=stream)
    stream.sync()
    return bytes(into)


@case("object.device", about="GetDevice SetDevice", rule=RULE)
def one_object(t: Bench) -> None:
    """There is one object for a device, and it is current inside its context."""
    found = device(t)
    holds(infinirt.Device(str(found)) is found, "one object")
    with found:
        holds(infinirt.current_device() is found, "the device to be current")
    same((found.type, found.ordinal), (t.type, t.ordinal), "type and number")


@case("object.buffer", about="MallocAsync MemcpyAsync FreeAsync", rule=RULE)
def buffer(t: Bench) -> None:
    """A Buffer is filled, copied to and from, and read back."""
    with device(t).create_stream() as stream:
        made = device(t).allocate(4096, stream=stream)
        made.copy_from(pattern(4096, 3), stream=stream)
        same_bytes(contents(made, stream), pattern(4096, 3), "the buffer")
        other = made.copy_to(stream=stream)
        same_bytes(contents(other, stream), pattern(4096, 3), "its copy")


@case("object.buffer.slice", about="MemsetAsync", rule=RULE)
def part(t: Bench) -> None:
    """A part of a Buffer is a Buffer on the same memory."""
    with device(t).create_stream() as stream:
        made = device(t).allocate(64, stream=stream)
        made.fill(1, stream=stream)
        made[16:32].fill(2, stream=stream)
        same(contents(made, stream), b"\1" * 16 + b"\2" * 16 + b"\1" * 32, "the buffer")


@case("object.buffer.pattern", about="MemsetAsync", rule=RULE)
def fill_pattern(t: Bench) -> None:
    """A Buffer is filled with a pattern of several bytes."""
    with device(t).create_stream() as stream:
        made = device(t).allocate(64, stream=stream)
        made.fill(b"\1\2\3\4", stream=stream)
        same(contents(made, stream), b"\1\2\3\4" * 16, "the buffer")


@case(
    "object.buffer.out-of-scope",
    about="FreeAsync MallocAsync",
    rule="Traps: garbage collection freed memory on the wrong stream",
)
def out_of_scope(t: Bench) -> None:
    """A Buffer that goes out of scope while its stream works is freed after that work."""
    stream = device(t).create_stream()
    other = device(t).create_stream()
    result = device(t).allocate(1 << 20, stream=stream)
    gate = t.gate(stream.handle)
    made = device(t).allocate(1 << 20, stream=stream)
    made.fill(5, stream=stream)
    result.copy_from(made, stream=stream)
    del made
    gc.collect()
    for _ in range(8):
        again = device(t).allocate(1 << 20, stream=other)
        again.fill(6, stream=other)
    gate.open()
    same(contents(result, stream).count(5), 1 << 20, "bytes copied right")
    other.sync()


@case("object.buffer.closed", about="FreeAsync", rule=RULE)
def closed(t: Bench) -> None:
    """A closed Buffer is not used any more."""
    made = device(t).allocate(64)
    made.close()
    holds(made.is_closed, "the buffer to be closed")
    raises(Exception, lambda: made.fill(1), "filling a closed Buffer")


@case("object.stream.order", about="StreamWaitEvent", rule=RULE)
def order(t: Bench) -> None:
    """A stream that waits for another sees its work."""
    one, two = device(t).create_stream(), device(t).create_stream()
    made, result = device(t).allocate(64, stream=one), device(t).allocate(64, stream=two)
    gate = t.gate(one.handle)
    made.fill(3, stream=one)
    two.wait(one)
    result.copy_from(made, stream=two)
    gate.open()
    same(contents(result, two), b"\3" * 64, "what the waiting stream copied")


@case("object.event.elapsed", about="EventElapsedTime", rule=RULE)
def elapsed(t: Bench) -> None:
    """The difference of two events is a time in milliseconds."""
    options = infinirt.EventOptions(timing_enabled=True)
    with device(t).create_stream() as stream:
        start, end = stream.record(options=options), stream.record(options=options)
        end.sync()
        holds(0 <= end - start < 60000, "a time", end - start)


@case("object.host-function", about="LaunchHostFunc", rule=RULE)
def host_function(t: Bench) -> None:
    """A Python function runs in stream order, with its arguments."""
    seen: list[tuple[int, str]] = []
    with device(t).create_stream() as stream:
        stream.launch_host_func(lambda number, text: seen.append((number, text)), 3, text="x")
        stream.sync()
    same(seen, [(3, "x")], "the calls")


@case("object.capture", about="StreamBeginCapture GraphLaunch", rule=RULE)
def captured(t: Bench) -> None:
    """Work captured with the context manager is launched as a graph."""
    with device(t).create_stream() as stream:
        made = device(t).allocate(64, stream=stream)
        made.fill(1, stream=stream)
        with infinirt.capture(stream) as recording:
            made.fill(2, stream=stream)
        same(contents(made, stream), b"\1" * 64, "the buffer before the launch")
        graph = recording.graph.instantiate()
        graph.launch(stream)
        same(contents(made, stream), b"\2" * 64, "the buffer after the launch")


@case(
    "object.capture.broken",
    about="StreamEndCapture",
    rule="Capture: a barred call invalidates; the message names it",
)
def broken(t: Bench) -> None:
    """A capture that was broken raises an error that names the call which broke it."""
    stream = device(t).create_stream()

    def body() -> None:
        with infinirt.capture(stream):
            int(rt.StreamQuery(stream.handle)[0])

    error = raises(infinirt.CaptureError, body, "a broken capture")
    holds("infinirtStreamQuery" in str(error), "a message with infinirtStreamQuery", str(error))
    stream.sync()


@case(
    "object.errors", about="Malloc Free", rule="Errors: CUDA's code, and a sentence that says what was wrong"
)
def errors(t: Bench) -> None:
    """Failures are exceptions of their kind, with the code."""
    error = raises(infinirt.OutOfMemoryError, lambda: device(t).allocate(1 << 50), "allocating 1 PiB")
    same(int(getattr(error, "code", -1)), 2, "the exception's code")
    raises(
        infinirt.InvalidDeviceError, lambda: infinirt.Device(f"{t.type}:9999"), "a device that does not exist"
    )


@case("object.pool", about="MallocFromPoolAsync MemPoolCreate", rule=RULE)
def pool(t: Bench) -> None:
    """A pool of one's own gives Buffers and counts them."""
    with device(t).create_stream() as stream:
        made = infinirt.MemoryPool(device(t))
        block = made.allocate(1 << 20, stream=stream)
        holds(made.attributes.used_mem_current >= 1 << 20, "the memory to be counted")
        block.close(stream)
        stream.sync()
        same(made.attributes.used_mem_current, 0, "used memory afterwards")
        made.close()


@case("object.caching-pool", about="Malloc Free", rule="Memory: caches over memory of any device type")
def caching_pool(t: Bench) -> None:
    """A caching pool gives the same memory again without asking the device."""
    with device(t).create_stream() as stream:
        made = infinirt.CachingPool(device(t))
        first = made.allocate(1 << 16, stream=stream)
        address = int(first.handle)
        first.close(stream)
        second = made.allocate(1 << 16, stream=stream)
        same(int(second.handle), address, "the address of the second block")
        second.close(stream)
        stream.sync()
        made.close()
