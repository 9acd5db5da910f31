"""A device with all that work on it needs: a stream, the operators' handle, allocators, the graph being recorded."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import infinirt

from . import _core
from ._current import current
from .allocators import DevicePinnedHostAllocator, PinnableBlockAllocator
from .device import DeviceLike
from .device import device as Device  # a Runtime has an attribute of that name
from .graph import CallGraph, Graph, GraphOperator, capture_of
from .memory import Memory

__all__ = ["CloseError", "Runtime"]

# An address, memory of ours, or anything with the buffer protocol: a NumPy array, bytes.
MemoryLike = int | Memory | infinirt.Buffer | Any

_BLOCKING_SYNC, _DISABLE_TIMING, _INTERPROCESS = 1, 2, 4


class CloseError(RuntimeError):
    """Parts of a runtime failed to close; everything else was closed. `failures` has (what, exception) each."""

    def __init__(self, failures: list[tuple[str, Exception]]) -> None:
        super().__init__("; ".join(f"{what}: {error}" for what, error in failures))
        self.failures = failures


class _Recording(threading.local):
    """On a device without operators: of one runtime and each thread; gone with the thread, and the memory with it."""

    operators: list[GraphOperator] | None = None
    reserve: infinirt.CacheReserve | None = None


class Runtime:
    """A device with a stream, a handle for operators, allocators and graph recording.

    `infinicore.context` makes one for each device when it is first used. One that is made here is another, with a stream and memory
    of its own.

    >>> import infinicore, numpy
    >>> runtime = infinicore.Runtime("cpu").activate()
    >>> memory = runtime.allocate_memory(1024)
    >>> runtime.memcpy_h2d(memory, numpy.arange(256, dtype="f4"), 1024)
    >>> back = numpy.empty(256, "f4")
    >>> runtime.memcpy_d2h(back, memory, 1024)
    >>> float(back[255])
    255.0
    >>> runtime.close()
    """

    def __init__(self, device: DeviceLike = None) -> None:
        self._parts: list[tuple[str, Callable[[], None]]] = []  # what is closed, last first
        self._closing = threading.Lock()
        self._process = os.getpid()
        self._is_closed = False
        self._recording = _Recording()
        self._device = Device(device)
        self._rt_device = self._device.resolve()
        try:
            # Blocking, as in InfiniCore: work of the default stream comes in turns with it.
            self._stream = self._rt_device.create_stream(nonblocking=False)
            self._parts.append(("stream", self._stream.close))
            self._allocator = PinnableBlockAllocator(self._device)
            self._place: _core.Place | None = None
            self._no_operators: infinirt.NotSupportedError | None = None
            try:
                self._place = _core.Place(self._device, self._stream, self._allocator.pool)
                self._parts.append(("operator handle", self._place.close))
            except infinirt.NotSupportedError as error:  # everything else works there
                self._no_operators = error.with_traceback(None)
            self._parts.append(("device memory allocator", self._allocator.close))
            self._pinned_allocator: DevicePinnedHostAllocator | None = None
            if not self._device.type.startswith("cpu"):
                self._pinned_allocator = DevicePinnedHostAllocator(self._device)
                self._parts.append(("pinned host memory allocator", self._pinned_allocator.close))
        except BaseException:
            self._is_closed = True
            self._close_parts()
            raise

    # ---- what it is made of

    @property
    def device(self) -> Device:
        """The device."""
        return self._device

    @property
    def stream(self) -> infinirt.Stream:
        """The stream that the runtime's work goes to."""
        self._check()
        return self._stream

    @property
    def infiniop_handle(self) -> int:
        """The operator library's handle (`infiniopHandle_t`), as an address. NotSupportedError where it has no operators."""
        return self.place.operator_handle

    @property
    def place(self) -> _core.Place:
        """The C++ half: what tensors and operators go through. NotSupportedError on a device without operators."""
        self._check()
        if self._place is None:
            raise infinirt.NotSupportedError(*(self._no_operators.args if self._no_operators else (801, "")))
        return self._place

    @property
    def allocator(self) -> PinnableBlockAllocator:
        """Where device memory comes from: statistics, limit, trimming."""
        self._check()
        return self._allocator

    @property
    def is_closed(self) -> bool:
        """Whether close() was called."""
        return self._is_closed

    def _check(self) -> None:
        if self._is_closed:
            raise RuntimeError(f"the runtime of {self._device} was closed; make another one")
        if os.getpid() != self._process and self._device.type != "cpu":
            raise RuntimeError(
                f"the runtime of {self._device} was made before this process was forked, and devices do not survive that; "
                "start processes with the 'spawn' or 'forkserver' method of multiprocessing, or fork before the first use"
            )

    def activate(self) -> Runtime:
        """Makes this the calling thread's runtime, and its device the current one. Returns itself."""
        self._check()
        self._rt_device.set_current()
        _core.set_current(self._place)
        current.runtime = self
        return self

    @contextmanager
    def _as_current(self) -> Iterator[None]:
        before = current.runtime
        with self._rt_device:
            place_before = _core.set_current(self._place)
            current.runtime = self
            try:
                yield
            finally:
                current.runtime = before
                _core.set_current(place_before)

    # ---- waiting

    def sync_stream(self) -> None:
        """Waits until the stream's work is done."""
        self.stream.sync()

    def sync_device(self) -> None:
        """Waits until all work of the device is done."""
        self._check()
        self._rt_device.sync()

    # ---- memory

    def trim_memory(self) -> None:
        """Gives cached memory that nothing uses back to the device."""
        self.allocator.trim()
        if self._pinned_allocator is not None:
            self._pinned_allocator.trim()

    def allocate_memory(self, size: int) -> Memory:
        """Memory of the device, for work of the runtime's stream. While a graph is recorded it is the graph's."""
        if self._place is not None and self._place.is_recording:
            return Memory(self._place.allocate(_size(size, "size")), self._device, False)
        return self.allocator.allocate(size, self._stream)

    def allocate_pinned_host_memory(self, size: int) -> Memory:
        """Page-locked memory of the host. The CPU has no use for it: there it is plain memory, with a warning."""
        self._check()
        if self._pinned_allocator is None:
            warnings.warn(
                "memory of the CPU cannot be pinned and need not be: plain memory is allocated instead",
                stacklevel=2,
            )
            return self.allocate_memory(size)
        return self._pinned_allocator.allocate(size, self._stream)

    def memcpy_h2d(self, dst: MemoryLike, src: MemoryLike, size: int, async_: bool = True) -> None:
        """Copies `size` bytes from the host to the device, in the order of the runtime's stream.

        Both are addresses, Memory, or have the buffer protocol (NumPy arrays, bytes). Pageable memory may be changed when the call
        returns, page-locked memory when the copy is done; `async_=False` waits for that.
        """
        self._copy(dst, src, size, not async_)

    def memcpy_d2h(self, dst: MemoryLike, src: MemoryLike, size: int) -> None:
        """Copies `size` bytes from the device to the host, and waits: they are there on return."""
        self._copy(dst, src, size, True)

    def memcpy_d2d(self, dst: MemoryLike, src: MemoryLike, size: int, async_: bool = True) -> None:
        """Copies `size` bytes within the device, in the order of the runtime's stream."""
        self._copy(dst, src, size, not async_)

    def _copy(self, dst: MemoryLike, src: MemoryLike, size: int, wait: bool) -> None:
        stream = self.stream
        size = _size(size, "size")
        target = self._part(dst, size, "dst", True)
        source = self._part(src, size, "src", False)
        if size:
            if isinstance(target, infinirt.Buffer):
                target.copy_from(source, stream=stream)
            else:
                self._as_buffer(source).copy_to(target, stream=stream)
        if wait:
            stream.sync()

    def set_device_memory(self, ptr: MemoryLike, value: int, count: int) -> None:
        """Sets `count` bytes to `value` (0 to 255), and waits until that is done."""
        self.set_device_memory_async(ptr, value, count)
        self._stream.sync()

    def set_device_memory_async(
        self, ptr: MemoryLike, value: int, count: int, stream: infinirt.Stream | None = None
    ) -> None:
        """Sets `count` bytes to `value` (0 to 255) in the order of `stream`, by default the runtime's."""
        order = self.stream if stream is None else stream
        count = _size(count, "count")
        part = self._part(ptr, count, "ptr", True)
        if count:
            self._as_buffer(part).fill(value, stream=order)

    def _part(self, given: MemoryLike, size: int, name: str, writable: bool) -> infinirt.Buffer | memoryview:
        """The first `size` bytes of what a user names."""
        if isinstance(given, Memory):
            given = given.buffer
        if isinstance(given, bool):
            raise TypeError(f"{name} must be an address, Memory or an array, not bool")
        if isinstance(given, int):
            if given == 0 and size:
                raise ValueError(f"{name} is a null address, and {size} bytes were to be used there")
            return infinirt.Buffer.from_handle(given, size, device=self._rt_device)
        part: infinirt.Buffer | memoryview = (
            given if isinstance(given, infinirt.Buffer) else _host_bytes(given, name, writable)
        )
        if size > len(part):
            raise ValueError(f"{size} bytes were asked for, but {name} has {len(part)}")
        return part if size == len(part) else part[:size]

    def _as_buffer(self, part: infinirt.Buffer | memoryview) -> infinirt.Buffer:
        if isinstance(part, infinirt.Buffer):
            return part
        return infinirt.Buffer.from_handle(_address(part), len(part), owner=part, device=self._rt_device)

    # ---- events

    def create_event(self) -> infinirt.Event:
        """An event that takes the time."""
        return self.create_event_with_flags(0)

    def create_event_with_flags(self, flags: int) -> infinirt.Event:
        """An event with CUDA's flags: 1 waiting sleeps, 2 takes no time, 4 for other processes (with 2)."""
        self._check()
        known = _BLOCKING_SYNC | _DISABLE_TIMING | _INTERPROCESS
        if isinstance(flags, bool) or not isinstance(flags, int) or flags & ~known:
            raise ValueError(f"flags must be a sum of 1, 2 and 4, and are {flags!r}")
        return self._rt_device.create_event(
            timing_enabled=not flags & _DISABLE_TIMING,
            blocking_sync=bool(flags & _BLOCKING_SYNC),
            ipc_enabled=bool(flags & _INTERPROCESS),
        )

    def record_event(self, event: infinirt.Event, stream: infinirt.Stream | None = None) -> None:
        """Marks the point that `stream`, by default the runtime's, has been given work up to."""
        (self.stream if stream is None else stream).record(event)

    def query_event(self, event: infinirt.Event) -> bool:
        """Whether the event's point was reached; true of one that was never recorded."""
        self._check()
        return event.is_done

    def synchronize_event(self, event: infinirt.Event) -> None:
        """Waits until the event's point is reached."""
        self._check()
        event.sync()

    def destroy_event(self, event: infinirt.Event) -> None:
        """Ends the event; also a pending one. A second time does nothing."""
        event.close()

    def elapsed_time(self, start: infinirt.Event, end: infinirt.Event) -> float:
        """The milliseconds between two recorded events; waits for `end`."""
        self._check()
        end.sync()
        return end - start

    def stream_wait_event(self, stream: infinirt.Stream | None, event: infinirt.Event) -> None:
        """Makes `stream` (None: the runtime's) wait for the event before it goes on; the host does not wait."""
        (self.stream if stream is None else stream).wait(event)

    # ---- graphs

    def is_graph_recording(self) -> bool:
        """Whether the calling thread records a graph here."""
        if self._place is not None:
            return self._place.is_recording
        return self._recording.operators is not None

    def start_graph_recording(
        self, *, remove_unused: bool = True, fuse: bool = True, share_memory: bool = True
    ) -> None:
        """Begins a graph of the calling thread: operators of infinicore that it calls are recorded, not run.

        Memory that the thread allocates until the end is the graph's, and stays where it is. What may be done to the graph before it
        runs is said at `infinicore.record()`.
        """
        self._check()
        if self.is_graph_recording():
            raise RuntimeError("a graph is being recorded on this thread already; stop or cancel that first")
        if self._place is not None:
            self._place.start_recording(remove_unused=remove_unused, fuse=fuse, share_memory=share_memory)
            return
        self._recording.reserve = self._allocator.begin_pin()
        self._recording.operators = []

    def add_graph_operator(self, op: GraphOperator | Callable[[], object]) -> None:
        """Records work of one's own; see GraphOperator. A function without parameters will do.

        What it raises goes on, and the recording is as it was before.
        """
        if not self.is_graph_recording():
            raise RuntimeError("no graph is being recorded on this thread; start_graph_recording() first")
        if not isinstance(op, GraphOperator):
            op = GraphOperator(op)
        if self._place is None:
            assert self._recording.operators is not None
            self._recording.operators.append(op)
            return
        before = self._place.recorded_steps
        self._place.expect_others()
        try:
            with self._as_current():
                captured = capture_of(op, self._stream)
        except BaseException:
            self._place.drop_steps(before)
            raise
        if captured is None:
            self._place.drop_steps(before)
            self._place.record_call(_without_stream(op))
        elif captured.nodes():
            if self._place.recorded_steps != before:
                self._place.drop_steps(before)
                raise RuntimeError(
                    f"{op.name} calls operators of infinicore and puts other work on the stream, so that their order is not known; "
                    "make two graph operators of it"
                )
            self._place.record_graph(captured, op.name)

    def stop_graph_recording(self) -> Graph:
        """Ends recording, and makes the graph. When that fails, the recording and its memory are given up."""
        self._check()
        self._check_recording()
        if self._place is not None:
            return Graph(self._place.stop_recording(), self._device)
        operators, reserve = self._end_recording()
        try:
            with self._as_current():
                return Graph(CallGraph(operators, self, reserve), self._device)
        except BaseException:
            reserve.close(self._stream)
            raise

    def cancel_graph_recording(self) -> None:
        """Gives up the graph being recorded, and its memory."""
        self._check_recording()
        if self._place is not None:
            self._place.cancel_recording()
            return
        _, reserve = self._end_recording()
        if not self._is_closed:
            reserve.close(self._stream)

    def _check_recording(self) -> None:
        if not self.is_graph_recording():
            raise RuntimeError("no graph is being recorded on this thread; start_graph_recording() first")

    def _end_recording(self) -> tuple[list[GraphOperator], infinirt.CacheReserve]:
        operators, reserve = self._recording.operators, self._recording.reserve
        assert operators is not None and reserve is not None
        self._recording.operators = self._recording.reserve = None
        self._allocator.end_pin()
        return operators, reserve

    # ---- the end

    def close(self) -> None:
        """Ends the runtime: allocators, then the operators' handle, then the stream. CloseError says what failed.

        Memory in use stays valid, and goes back to the device when it is let go of. A second time does nothing.
        """
        with self._closing:
            if self._is_closed:
                return
            foreign = os.getpid() != self._process and self._device.type != "cpu"
            if self.is_graph_recording():
                self.cancel_graph_recording()
            self._is_closed = True
        if current.runtime is self:
            current.runtime = None
            _core.set_current(None)
        if foreign:  # the parent's: there is nothing here to be closed
            return
        failures = self._close_parts()
        if failures:
            raise CloseError(failures)

    def _close_parts(self) -> list[tuple[str, Exception]]:
        failures: list[tuple[str, Exception]] = []
        for what, close in reversed(self._parts):
            try:
                close()
            except Exception as error:
                failures.append((what, error))
        self._parts.clear()
        return failures

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Runtime of {self._device}{', closed' if self._is_closed else ''}>"


def _without_stream(operator: GraphOperator) -> Callable[[infinirt.Stream], None]:
    """As places call functions: with the stream, which an operator has from elsewhere."""

    def call(_: infinirt.Stream) -> None:
        operator.run()

    call.__name__ = operator.name
    return call


def _size(value: object, name: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    number = value.__index__()
    if number < 0:
        raise ValueError(f"{name} must not be negative, and is {number}")
    return int(number)


def _host_bytes(given: Any, name: str, writable: bool) -> memoryview:
    """Memory of the host behind the buffer protocol, as bytes."""
    import numpy

    if isinstance(given, numpy.ndarray) and given.flags.c_contiguous:
        given = given.reshape(-1).view(
            numpy.uint8
        )  # also of types that the buffer protocol has no letter for
    try:
        view = memoryview(given)
    except (TypeError, ValueError, BufferError):
        kind = type(given).__name__
        raise TypeError(
            f"{name} must be an address, Memory, or have the buffer protocol (a NumPy array, bytes), not {kind}"
        ) from None
    if not view.c_contiguous:
        raise ValueError(f"{name} must be contiguous; numpy.ascontiguousarray() makes it so")
    if writable and view.readonly:
        raise ValueError(f"{name} is read-only and cannot be written to")
    return memoryview(b"") if view.nbytes == 0 else view.cast("B")


def _address(view: memoryview) -> int:
    import numpy

    return int(numpy.frombuffer(view, dtype=numpy.uint8).ctypes.data) if len(view) else 0
