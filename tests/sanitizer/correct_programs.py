"""Correct programs, for test_correct.py: nothing may be found in any of them."""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable, Iterator

import numpy as np

import infinirt
from infinirt import runtime as rt

SIZE = 4096
DEFAULT = rt.infinirtMemcpyKind.infinirtMemcpyDefault
RELAXED = rt.infinirtStreamCaptureMode.infinirtStreamCaptureModeRelaxed
Program = Callable[[], None]
PROGRAMS: list[Program] = []
kind = "cpu"  # of the devices that the programs use


def correct(program: Program) -> Program:
    PROGRAMS.append(program)
    return program


def ok(result: tuple) -> object:
    assert result[0] == 0, result
    return result[1] if len(result) > 1 else None


def streams(count: int) -> Iterator[infinirt.Stream]:
    device = infinirt.Device(kind)
    return (device.create_stream() for _ in range(count))


def buffer(stream: infinirt.Stream, size: int = SIZE) -> infinirt.Buffer:
    return infinirt.Device(kind).allocate(size, stream=stream)


class Arriving:
    """A stream with memory of the device, pinned memory, and an array that looks at it."""

    def __init__(self) -> None:
        (self.stream,) = streams(1)
        self.data = buffer(self.stream)
        self.staging = infinirt.PinnedPool(infinirt.Device(kind)).allocate(SIZE, stream=self.stream)
        self.array = np.asarray(self.staging)

    def bring(self, value: int) -> None:
        self.data.fill(value, stream=self.stream)
        self.staging.copy_from(self.data, stream=self.stream)


@correct
def one_stream() -> None:
    (stream,) = streams(1)
    data, copy = buffer(stream), buffer(stream)
    data.fill(1, stream=stream)
    copy.copy_from(data, stream=stream)
    data.fill(2, stream=stream)
    stream.sync()


@correct
def an_event_between_two_streams() -> None:
    one, other = streams(2)
    data, copy = buffer(one), buffer(other)
    data.fill(1, stream=one)
    other.wait(one.record())
    copy.copy_from(data, stream=other)
    one.wait(other.record())
    data.fill(2, stream=one)
    one.sync()


@correct
def readers_at_the_same_time() -> None:
    one, other, third = streams(3)
    data, copies = buffer(one), [buffer(other), buffer(third)]
    data.fill(1, stream=one)
    ready = one.record()
    for stream, copy in zip((other, third), copies, strict=True):
        stream.wait(ready)
        copy.copy_from(data, stream=stream)
    for stream in (other, third):
        one.wait(stream.record())
    data.fill(2, stream=one)
    one.sync()


@correct
def parts_that_do_not_overlap() -> None:
    one, other = streams(2)
    data = buffer(one)
    other.wait(one.record())
    data[0:2048].fill(1, stream=one)
    data[2048:SIZE].fill(2, stream=other)
    one.sync()
    other.sync()


@correct
def columns_of_one_matrix() -> None:
    one, other = (ok(rt.infinirtStreamCreateWithFlags(1)) for _ in range(2))
    data = ok(rt.infinirtMalloc(64 * 64))
    ok(rt.infinirtMemset2DAsync(data, 64, 1, 32, 64, one))
    ok(rt.infinirtMemset2DAsync(int(data) + 32, 64, 2, 32, 64, other))
    ok(rt.infinirtDeviceSynchronize())
    ok(rt.infinirtFree(data))


@correct
def synchronising_in_between() -> None:
    one, other = streams(2)
    data, copy = buffer(one), buffer(other)
    data.fill(1, stream=one)
    one.sync()
    copy.copy_from(data, stream=other)
    other.sync()
    data.fill(2, stream=one)
    one.sync()


@correct
def synchronising_the_device() -> None:
    one, other = streams(2)
    data, copy = buffer(one), buffer(other)
    data.fill(1, stream=one)
    infinirt.Device(kind).sync()
    copy.copy_from(data, stream=other)
    infinirt.Device(kind).sync()


@correct
def synchronising_an_event() -> None:
    one, other = streams(2)
    data, copy = buffer(one), buffer(other)
    data.fill(1, stream=one)
    one.record().sync()
    copy.copy_from(data, stream=other)
    other.sync()


@correct
def asking_until_it_is_done() -> None:
    one, other = streams(2)
    data, copy = buffer(one), buffer(other)
    data.fill(1, stream=one)
    event = one.record()
    while not event.is_done:
        pass
    copy.copy_from(data, stream=other)
    other.sync()


@correct
def a_chain_of_events() -> None:
    all_streams = list(streams(6))
    data = buffer(all_streams[0])
    data.fill(0, stream=all_streams[0])
    for before, after in itertools.pairwise(all_streams):
        after.wait(before.record())
        data.fill(1, stream=after)
    all_streams[-1].sync()


@correct
def the_default_stream_orders_blocking_ones() -> None:
    one, other = ok(rt.infinirtStreamCreate()), ok(rt.infinirtStreamCreate())
    data, copy = ok(rt.infinirtMalloc(SIZE)), ok(rt.infinirtMalloc(SIZE))
    ok(rt.infinirtMemsetAsync(data, 1, SIZE, one))
    ok(rt.infinirtMemsetAsync(data, 2, SIZE, 0))
    ok(rt.infinirtMemcpyAsync(copy, data, SIZE, DEFAULT, other))
    ok(rt.infinirtDeviceSynchronize())
    for pointer in (data, copy):
        ok(rt.infinirtFree(pointer))


@correct
def synchronous_calls() -> None:
    data, copy = ok(rt.infinirtMalloc(SIZE)), ok(rt.infinirtMalloc(SIZE))
    host = (ctypes.c_char * SIZE)()
    ok(rt.infinirtMemset(data, 1, SIZE))
    ok(rt.infinirtMemcpy(copy, data, SIZE, DEFAULT))
    ok(rt.infinirtMemcpy(ctypes.addressof(host), copy, SIZE, DEFAULT))
    assert host[0] == b"\1"
    for pointer in (data, copy):
        ok(rt.infinirtFree(pointer))


@correct
def an_event_that_is_reused() -> None:
    one, other = streams(2)
    data, copy = buffer(one), buffer(other)
    event = infinirt.Device(kind).create_event()
    for value in range(5):
        other_done = other.record()
        one.wait(other_done)
        data.fill(value, stream=one)
        one.record(event)
        other.wait(event)
        copy.copy_from(data, stream=other)
    other.sync()


@correct
def two_buffers_in_turn() -> None:
    load, work = streams(2)
    halves = [buffer(load), buffer(load)]
    result = buffer(work)
    loaded: list[infinirt.Event | None] = [None, None]
    used: list[infinirt.Event | None] = [None, None]
    for step in range(8):
        half = step % 2
        if used[half] is not None:
            load.wait(used[half])
        halves[half].fill(step, stream=load)
        loaded[half] = load.record()
        work.wait(loaded[half])
        result.copy_from(halves[half], stream=work)
        used[half] = work.record()
    work.sync()


@correct
def a_wait_for_an_event_nobody_needs_yet() -> None:
    one, other = (ok(rt.infinirtStreamCreateWithFlags(1)) for _ in range(2))
    free_again = ok(rt.infinirtEventCreate())
    filled = ok(rt.infinirtEventCreate())
    data, copy = ok(rt.infinirtMalloc(SIZE)), ok(rt.infinirtMalloc(SIZE))
    for value in range(3):
        ok(
            rt.infinirtStreamWaitEvent(one, free_again, 0)
        )  # in the first turn it is not recorded, and need not be
        ok(rt.infinirtMemsetAsync(data, value, SIZE, one))
        ok(rt.infinirtEventRecord(filled, one))
        ok(rt.infinirtStreamWaitEvent(other, filled, 0))
        ok(rt.infinirtMemcpyAsync(copy, data, SIZE, DEFAULT, other))
        ok(rt.infinirtEventRecord(free_again, other))
    ok(rt.infinirtDeviceSynchronize())
    for pointer in (data, copy):
        ok(rt.infinirtFree(pointer))


@correct
def memory_freed_on_the_stream_that_used_it() -> None:
    (stream,) = streams(1)
    for _ in range(10):
        data = buffer(stream)
        data.fill(1, stream=stream)
        data.close(stream=stream)
    stream.sync()


@correct
def memory_that_goes_to_another_stream_and_back() -> None:
    one, other = (ok(rt.infinirtStreamCreateWithFlags(1)) for _ in range(2))
    event = ok(rt.infinirtEventCreate())
    data = ok(rt.infinirtMallocAsync(SIZE, one))
    ok(rt.infinirtEventRecord(event, one))
    ok(rt.infinirtStreamWaitEvent(other, event, 0))
    ok(rt.infinirtMemsetAsync(data, 1, SIZE, other))
    ok(rt.infinirtFreeAsync(data, other))
    ok(rt.infinirtDeviceSynchronize())


@correct
def addresses_that_come_back() -> None:
    one, other = (ok(rt.infinirtStreamCreateWithFlags(1)) for _ in range(2))
    for stream in (one, other) * 5:
        data = ok(rt.infinirtMallocAsync(SIZE, stream))
        ok(rt.infinirtMemsetAsync(data, 1, SIZE, stream))
        ok(rt.infinirtFreeAsync(data, stream))
    ok(rt.infinirtDeviceSynchronize())


@correct
def cached_memory() -> None:
    pool = infinirt.CachingPool(infinirt.Device(kind))
    one, other = streams(2)
    for _ in range(5):
        data, copy = pool.allocate(SIZE, stream=one), pool.allocate(SIZE, stream=other)
        data.fill(1, stream=one)
        other.wait(one.record())
        copy.copy_from(data, stream=other)
        data.close()
        copy.close()
    one.sync()
    other.sync()
    pool.close()


@correct
def cached_memory_with_record_stream() -> None:
    pool = infinirt.CachingPool(infinirt.Device(kind))
    one, other = streams(2)
    data = pool.allocate(SIZE, stream=one)
    data.fill(1, stream=one)
    other.wait(one.record())
    data.record_stream(other)
    copy = ok(rt.infinirtMalloc(SIZE))
    ok(rt.infinirtMemcpyAsync(copy, int(data.handle), SIZE, DEFAULT, int(other.handle)))
    data.close()
    other.sync()
    ok(rt.infinirtFree(copy))
    pool.close()


@correct
def a_captured_graph() -> None:
    main, side = streams(2)
    data, copy = buffer(main), buffer(main)
    main.sync()
    with infinirt.capture(main) as captured:
        data.fill(1, stream=main)
        side.wait(main)
        copy.copy_from(data, stream=side)
        main.wait(side)
        data.fill(2, stream=main)
    ready = captured.graph.instantiate()
    for _ in range(5):
        ready.launch(main)
    main.sync()


@correct
def a_graph_and_the_stream_around_it() -> None:
    (stream,) = streams(1)
    data, copy = buffer(stream), buffer(stream)
    stream.sync()
    with infinirt.capture(stream) as captured:
        copy.copy_from(data, stream=stream)
    ready = captured.graph.instantiate()
    for value in range(3):
        data.fill(value, stream=stream)
        ready.launch(stream)
        data.copy_from(copy, stream=stream)
    stream.sync()


@correct
def memory_of_a_graph_that_is_over_is_given_out_again() -> None:
    (stream,) = streams(1)
    for value in range(3):
        data = buffer(stream)
        with infinirt.capture(stream) as captured:
            data.fill(value, stream=stream)
            temporary = buffer(stream)
            temporary.copy_from(data, stream=stream)
            temporary.close()
        ready = captured.graph.instantiate()
        for _ in range(2):
            ready.launch(stream)
        data.close()
    stream.sync()


@correct
def a_graph_launched_on_two_streams_in_turn() -> None:
    one, other = streams(2)
    data = buffer(one)
    one.sync()
    with infinirt.capture(one) as captured:
        data.fill(1, stream=one)
    ready = captured.graph.instantiate()
    ready.launch(one)
    ready.launch(other)  # an executable graph runs once at a time
    one.sync()
    other.sync()


@correct
def a_graph_made_by_hand() -> None:
    (stream,) = streams(1)
    data, copy = buffer(stream), buffer(stream)
    stream.sync()
    graph = infinirt.Graph(infinirt.Device(kind))
    first = graph.add_fill(data, 1)
    second = graph.add_copy(copy, data, dependencies=[first])
    graph.add_fill(data, 2, dependencies=[second])
    graph.instantiate().launch(stream)
    stream.sync()


@correct
def a_graph_with_a_child() -> None:
    (stream,) = streams(1)
    data = buffer(stream)
    stream.sync()
    child = infinirt.Graph(infinirt.Device(kind))
    child.add_fill(data, 1)
    graph = infinirt.Graph(infinirt.Device(kind))
    first = graph.add_child(child)
    graph.add_fill(data, 2, dependencies=[first])
    graph.instantiate().launch(stream)
    stream.sync()


@correct
def memory_within_a_graph() -> None:
    stream = ok(rt.infinirtStreamCreateWithFlags(1))
    result = ok(rt.infinirtMalloc(SIZE))
    ok(rt.infinirtStreamBeginCapture(stream, RELAXED))
    data = ok(rt.infinirtMallocAsync(SIZE, stream))
    ok(rt.infinirtMemsetAsync(data, 1, SIZE, stream))
    ok(rt.infinirtMemcpyAsync(result, data, SIZE, DEFAULT, stream))
    ok(rt.infinirtFreeAsync(data, stream))
    graph = ok(rt.infinirtStreamEndCapture(stream))
    ready = ok(rt.infinirtGraphInstantiate(graph, 0))
    for _ in range(3):
        ok(rt.infinirtGraphLaunch(ready, stream))
    ok(rt.infinirtStreamSynchronize(stream))
    ok(rt.infinirtGraphExecDestroy(ready))
    ok(rt.infinirtGraphDestroy(graph))
    ok(rt.infinirtFree(result))


@correct
def an_updated_graph() -> None:
    one, other = streams(2)
    first, second = buffer(one), buffer(one)
    one.sync()
    with infinirt.capture(one) as captured:
        first.fill(1, stream=one)
    ready = captured.graph.instantiate()
    with infinirt.capture(one) as again:
        second.fill(1, stream=one)
    ready.update(again.graph)
    ready.launch(one)
    first.fill(2, stream=other)  # the graph writes the second now
    one.sync()
    other.sync()


@correct
def pinned_memory() -> None:
    (stream,) = (ok(rt.infinirtStreamCreateWithFlags(1)),)
    host, data = ok(rt.infinirtMallocHost(SIZE)), ok(rt.infinirtMalloc(SIZE))
    ctypes.memset(host, 1, SIZE)
    ok(rt.infinirtMemcpyAsync(data, host, SIZE, DEFAULT, stream))
    ok(rt.infinirtStreamSynchronize(stream))
    ctypes.memset(host, 2, SIZE)
    ok(rt.infinirtMemcpyAsync(host, data, SIZE, DEFAULT, stream))
    ok(rt.infinirtStreamSynchronize(stream))
    ok(rt.infinirtFree(data))
    ok(rt.infinirtFreeHost(host))


@correct
def pageable_memory() -> None:
    (stream,) = streams(1)
    data = buffer(stream)
    values = np.arange(SIZE, dtype=np.uint8)
    data.copy_from(values, stream=stream)
    result = np.zeros_like(values)
    data.copy_to(result, stream=stream)
    stream.sync()
    assert np.array_equal(result, values)


@correct
def two_devices() -> None:
    first, second = infinirt.Device(f"{kind}:0"), infinirt.devices(kind)[-1]
    one, two = first.create_stream(), second.create_stream()
    data, copy = first.allocate(SIZE, stream=one), second.allocate(SIZE, stream=two)
    data.fill(1, stream=one)
    two.wait(one.record())
    copy.copy_from(data, stream=two)
    two.sync()


@correct
def host_functions() -> None:
    one, other = streams(2)
    data, seen = buffer(one), []
    data.fill(1, stream=one)
    one.launch_host_func(seen.append, 1)
    other.wait(one.record())
    data.fill(2, stream=other)
    other.sync()
    assert seen == [1]


@correct
def threads_that_wait_for_one_another() -> None:
    one, other = streams(2)
    data, copy = buffer(one), buffer(other)

    def produce() -> None:
        data.fill(1, stream=one)
        one.sync()

    thread = threading.Thread(target=produce)
    thread.start()
    thread.join()
    copy.copy_from(data, stream=other)
    other.sync()


@correct
def a_stream_destroyed_with_work_on_it() -> None:
    one, other = streams(2)
    data = buffer(other)
    other.sync()
    data.fill(1, stream=one)
    done = one.record()
    one.close()
    other.wait(done)
    data.fill(2, stream=other)
    other.sync()


@correct
def arrays_that_look_at_device_memory() -> None:
    (stream,) = streams(1)
    data, copy = buffer(stream), buffer(stream)
    stream.sync()
    view = np.asarray(data)
    view[:] = 7  # the host writes it itself
    copy.copy_from(data, stream=stream)
    stream.sync()
    assert np.asarray(copy)[0] == 7


@correct
def two_halves_of_pinned_memory() -> None:
    device = infinirt.Device(kind)
    (stream,) = streams(1)
    data = buffer(stream, 4 * SIZE)
    staging = infinirt.PinnedPool(device).allocate(2 * SIZE, stream=stream)
    array = np.asarray(staging)
    halves = [(staging[:SIZE], array[:SIZE]), (staging[SIZE:], array[SIZE:])]
    copied: list[infinirt.Event | None] = [None, None]
    for number in range(4):
        half, view = halves[number % 2]
        event = copied[number % 2]
        if event is not None:
            event.sync()
        view[:] = number
        data[number * SIZE : (number + 1) * SIZE].copy_from(half, stream=stream)
        copied[number % 2] = stream.record()
    stream.sync()


@correct
def neighbours_on_one_page() -> None:
    it, half = Arriving(), SIZE // 2
    it.data.fill(3, stream=it.stream)
    it.staging[:half].copy_from(it.data[:half], stream=it.stream)
    it.array[half:] = 1  # the other half of the page
    assert it.array[half:].sum() == half
    it.stream.sync()
    assert it.array[0] == 3


@correct
def the_program_reads_beside_a_copy() -> None:
    it = Arriving()
    it.array[:] = 5
    it.data.copy_from(it.staging, stream=it.stream)
    assert it.array[7] == 5  # both only read
    it.stream.sync()
    it.array[:] = 6


@correct
def a_host_function_tells() -> None:
    it, there = Arriving(), threading.Event()
    it.bring(9)
    it.stream.launch_host_func(there.set)
    there.wait()
    assert it.array.sum() == 9 * SIZE
    it.stream.sync()


@correct
def a_host_function_reads() -> None:
    it = Arriving()
    sums: list[int] = []
    it.bring(9)
    it.stream.launch_host_func(lambda: sums.append(int(it.array.sum())))
    it.stream.sync()
    assert sums == [9 * SIZE]


@correct
def an_event_that_is_asked_for() -> None:
    it = Arriving()
    it.bring(2)
    event = it.stream.record()
    while not event.is_done:
        pass
    assert it.array.sum() == 2 * SIZE


@correct
def another_thread_waits() -> None:
    it = Arriving()
    it.bring(4)
    thread = threading.Thread(target=it.stream.sync)
    thread.start()
    thread.join()
    assert it.array.sum() == 4 * SIZE


@correct
def managed_memory() -> None:
    (stream,) = streams(1)
    data = ok(rt.infinirtMallocManaged(SIZE, 1))
    ok(rt.infinirtMemsetAsync(data, 1, SIZE, stream.handle))
    stream.sync()
    ctypes.memset(int(data), 2, SIZE)
    ok(rt.infinirtFree(data))
