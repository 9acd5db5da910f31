"""Random programs over streams, events, copies, pools, graphs and devices, and the sequential model they must equal.

A program is generated together with its happens-before relation (vector clocks). Before an operation touches memory that
another stream touched last, the generator checks whether the rules of the runtime already order the two (same stream, an
event it waited for, the legacy stream, a host synchronisation); if not, it adds one of the means that do. The program is
therefore free of races, and its result must be that of executing the operations one by one, under any schedule.
`skip_dependency` leaves one of these means out: the planted bug that a schedule must expose.
"""

from __future__ import annotations

import ctypes
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from infinirt import runtime as rt

LEGACY = 0
SIZE = 256  # bytes of a buffer


def check(result: tuple[Any, ...]) -> Any:
    """The values of a flat call, or an exception with the runtime's own message."""
    if int(result[0]) != 0:
        raise RuntimeError(f"{result[0]!r}: {rt.infinirtXGetLastErrorMessage()}")
    return result[1] if len(result) == 2 else result[1:] or None


Clock = dict[int, int]


def merged(a: Clock, b: Clock) -> Clock:
    out = dict(a)
    for key, value in b.items():
        out[key] = max(out.get(key, 0), value)
    return out


@dataclass
class Lane:
    """A stream, and what the model knows of its order. `clock[i]` is the last operation of lane i that is ordered before."""

    index: int
    handle: Any
    device: int
    blocking: bool
    legacy: bool = False
    clock: Clock = field(default_factory=dict)


@dataclass
class Cell:
    """A piece of memory, its contents by the sequential model, and who touched it last."""

    pointer: int
    device: int | None  # None: pinned host memory
    expected: np.ndarray
    writer: tuple[int, int] | None = None  # lane, operation
    readers: dict[int, int] = field(default_factory=dict)
    pool_lane: Lane | None = None  # stream-ordered memory: freed on this lane


class Program:
    def __init__(
        self, seed: int, length: int, skip_dependency: int | None = None, graphs: bool = True
    ) -> None:
        self.rng = random.Random(seed)
        self.length = length
        self.skip = skip_dependency
        self.graphs = graphs
        self.dependencies = 0
        self.devices = check(rt.infinirtGetDeviceCount())
        self.lanes: list[Lane] = []
        self.cells: list[Cell] = []
        self.retired: list[Cell] = []
        self.events: list[Any] = []
        self.graph_handles: list[tuple[Any, Any]] = []
        self.mismatches: list[str] = []
        self.host_clock: Clock = {}
        self._make_world()

    # ---- the world

    def _make_world(self) -> None:
        for device in range(self.devices):
            check(rt.infinirtSetDevice(device))
            self._add_lane(LEGACY, device, blocking=False, legacy=True)
            for _ in range(self.rng.randint(1, 3)):
                flags = self.rng.choice((0, 1))
                self._add_lane(check(rt.infinirtStreamCreateWithFlags(flags)), device, blocking=flags == 0)
            for _ in range(3):
                self.cells.append(Cell(int(check(rt.infinirtMalloc(SIZE))), device, np.zeros(SIZE, np.uint8)))
        for _ in range(2):
            self.cells.append(Cell(int(check(rt.infinirtHostAlloc(SIZE, 0))), None, np.zeros(SIZE, np.uint8)))
        for cell in self.cells:
            lane = self._lane_of(cell.device if cell.device is not None else 0)
            self._memset(lane, cell, 0, SIZE, 0)

    def _add_lane(self, handle: Any, device: int, blocking: bool, legacy: bool = False) -> None:
        self.lanes.append(Lane(len(self.lanes), handle, device, blocking, legacy))

    def _lane_of(self, device: int) -> Lane:
        return self.rng.choice([lane for lane in self.lanes if lane.device == device])

    def _use(self, lane: Lane) -> Any:
        """Makes the lane's device current (a default stream belongs to the current device) and gives its handle."""
        check(rt.infinirtSetDevice(lane.device))
        return lane.handle

    # ---- order

    def _sees(self, lane: Lane, other: int, operation: int) -> bool:
        return (
            other == lane.index or max(lane.clock.get(other, 0), self.host_clock.get(other, 0)) >= operation
        )

    def _join_implicit(self, lane: Lane) -> None:
        """What the runtime orders by itself when work is enqueued: the legacy stream's rule, and the host's own waiting."""
        for other in self.lanes:
            if other.device != lane.device or other is lane:
                continue
            if (lane.legacy and other.blocking) or (lane.blocking and other.legacy):
                lane.clock = merged(lane.clock, other.clock)
        lane.clock = merged(lane.clock, self.host_clock)

    def _tick(self, lane: Lane) -> int:
        lane.clock[lane.index] = lane.clock.get(lane.index, 0) + 1
        return lane.clock[lane.index]

    def _order_after(self, lane: Lane, other: Lane) -> None:
        """Adds one of the means that order `lane` behind all of `other`."""
        self.dependencies += 1
        if self.skip == self.dependencies:
            lane.clock = merged(lane.clock, other.clock)  # the model believes it; the program does not do it
            return
        means = self.rng.random()
        if means < 0.7:
            check(rt.infinirtSetDevice(other.device))
            event = check(rt.infinirtEventCreateWithFlags(self.rng.choice((0, 2))))
            check(rt.infinirtEventRecord(event, other.handle))
            if other.legacy:
                self._join_implicit(other)
            check(rt.infinirtStreamWaitEvent(self._use(lane), event, 0))
            lane.clock = merged(lane.clock, other.clock)
            if self.rng.random() < 0.5:  # a later record must not disturb the wait
                check(rt.infinirtSetDevice(other.device))
                check(rt.infinirtEventRecord(event, other.handle))
            self.events.append(event)
        elif means < 0.9:
            check(rt.infinirtStreamSynchronize(self._use(other)))
            if (
                other.legacy
            ):  # waits for the blocking streams too; a blocking stream does not wait for the legacy stream
                self._join_implicit(other)
            self.host_clock = merged(self.host_clock, other.clock)
        else:
            check(rt.infinirtSetDevice(other.device))
            check(rt.infinirtDeviceSynchronize())
            for each in self.lanes:
                if each.device == other.device:
                    self.host_clock = merged(self.host_clock, each.clock)

    def _prepare(self, lane: Lane, reads: list[Cell], writes: list[Cell]) -> int:
        """Orders the lane's next operation behind every access it conflicts with; returns the operation's number."""
        self._join_implicit(lane)
        for cell in (*reads, *writes):
            accesses = [cell.writer] if cell.writer else []
            if cell in writes:
                accesses += cell.readers.items()
            for other, operation in accesses:
                if not self._sees(lane, other, operation):
                    self._order_after(lane, self.lanes[other])
        self._join_implicit(lane)
        return self._tick(lane)

    def _touch(self, lane: Lane, operation: int, reads: list[Cell], writes: list[Cell]) -> None:
        for cell in reads:
            cell.readers[lane.index] = operation
        for cell in writes:
            cell.writer, cell.readers = (lane.index, operation), {}

    # ---- operations

    def _memset(self, lane: Lane, cell: Cell, begin: int, count: int, value: int) -> None:
        operation = self._prepare(lane, [], [cell])
        check(rt.infinirtMemsetAsync(cell.pointer + begin, value, count, self._use(lane)))
        cell.expected[begin : begin + count] = value
        self._touch(lane, operation, [], [cell])

    def _copy(self, lane: Lane, dst: Cell, src: Cell, to: int, begin: int, count: int) -> None:
        operation = self._prepare(lane, [src], [dst])
        kind = rt.infinirtMemcpyKind.infinirtMemcpyDefault
        check(rt.infinirtMemcpyAsync(dst.pointer + to, src.pointer + begin, count, kind, self._use(lane)))
        dst.expected[to : to + count] = src.expected[begin : begin + count]
        self._touch(lane, operation, [src], [dst])

    def _host_increment(self, lane: Lane, cell: Cell) -> None:
        """A host function that adds one to every byte of pinned memory."""
        operation = self._prepare(lane, [], [cell])
        view = (ctypes.c_uint8 * SIZE).from_address(cell.pointer)

        def increment(_: object) -> None:
            array = np.frombuffer(view, np.uint8)
            array += 1

        check(rt.infinirtLaunchHostFunc(self._use(lane), increment, 0))
        cell.expected += 1
        self._touch(lane, operation, [], [cell])

    def _allocate(self, lane: Lane) -> None:
        pointer = int(check(rt.infinirtMallocAsync(SIZE, self._use(lane))))
        self._join_implicit(lane)
        operation = self._tick(lane)
        cell = Cell(pointer, lane.device, np.zeros(SIZE, np.uint8), (lane.index, operation), {}, lane)
        self.cells.append(cell)
        self._memset(lane, cell, 0, SIZE, self.rng.randrange(256))

    def _free(self, cell: Cell) -> None:
        lane = self._lane_of(cell.device or 0)
        operation = self._prepare(lane, [], [cell])
        check(rt.infinirtFreeAsync(cell.pointer, self._use(lane)))
        self._touch(lane, operation, [], [cell])
        self.cells.remove(cell)

    def _read_back(self, cell: Cell) -> None:
        """Compares the memory with the model, through a copy that itself is ordered."""
        lane = self._lane_of(cell.device or 0)
        self._prepare(lane, [cell], [])
        out = np.full(SIZE, 0xEE, np.uint8)
        kind = rt.infinirtMemcpyKind.infinirtMemcpyDefault
        check(rt.infinirtMemcpyAsync(out.ctypes.data, cell.pointer, SIZE, kind, self._use(lane)))
        check(rt.infinirtStreamSynchronize(lane.handle))
        self.host_clock = merged(self.host_clock, lane.clock)
        self._touch(lane, lane.clock[lane.index], [cell], [])
        if not np.array_equal(out, cell.expected):
            wrong = np.flatnonzero(out != cell.expected)
            self.mismatches.append(
                f"cell {cell.pointer:#x}: {wrong.size} bytes differ, first at {wrong[0]}: "
                f"got {out[wrong[0]]}, expected {cell.expected[wrong[0]]}"
            )

    def _graph(self) -> None:
        """Captures a few operations, on one stream or forked over two, and launches them once or twice on any stream."""
        device = self.rng.randrange(self.devices)
        capturable = [lane for lane in self.lanes if lane.device == device and not lane.legacy]
        origin = self.rng.choice(capturable)
        side = self.rng.choice([lane for lane in capturable if lane is not origin] or [origin])
        cells = [cell for cell in self.cells if cell.device == device and cell.pool_lane is None]
        first, second, third = self.rng.sample(cells, 3)
        effects = [
            ("set", first, self.rng.randrange(256)),
            ("set", second, self.rng.randrange(256)),
            ("copy", third, first),
        ]
        check(rt.infinirtSetDevice(device))
        relaxed = rt.infinirtStreamCaptureMode.infinirtStreamCaptureModeRelaxed
        check(rt.infinirtStreamBeginCapture(origin.handle, relaxed))
        fork, join = (check(rt.infinirtEventCreateWithFlags(2)) for _ in range(2))
        if side is not origin:
            check(rt.infinirtEventRecord(fork, origin.handle))
            check(rt.infinirtStreamWaitEvent(side.handle, fork, 0))
        check(rt.infinirtMemsetAsync(first.pointer, effects[0][2], SIZE, origin.handle))
        check(rt.infinirtMemsetAsync(second.pointer, effects[1][2], SIZE, side.handle))
        kind = rt.infinirtMemcpyKind.infinirtMemcpyDeviceToDevice
        check(rt.infinirtMemcpyAsync(third.pointer, first.pointer, SIZE, kind, origin.handle))
        if side is not origin:
            check(rt.infinirtEventRecord(join, side.handle))
            check(rt.infinirtStreamWaitEvent(origin.handle, join, 0))
        graph = check(rt.infinirtStreamEndCapture(origin.handle))
        executable = check(rt.infinirtGraphInstantiate(graph, 0))
        self.graph_handles.append((graph, executable))
        self.events += [fork, join]
        for _ in range(self.rng.randint(1, 2)):
            lane = self._lane_of(device)
            operation = self._prepare(lane, [], [first, second, third])
            check(rt.infinirtGraphLaunch(executable, self._use(lane)))
            for what, target, argument in effects:
                if what == "set":
                    target.expected[:] = argument
                else:
                    target.expected[:] = argument.expected
            self._touch(lane, operation, [], [first, second, third])

    # ---- the run

    def run(self) -> list[str]:
        """Runs the program; what differed from the model, as text (empty: nothing)."""
        for _ in range(self.length):
            self._one_operation()
        for cell in list(self.cells):
            self._read_back(cell)
        self._close()
        return self.mismatches

    def _one_operation(self) -> None:
        rng = self.rng
        choice = rng.random()
        cell = rng.choice(self.cells)
        lane = self._lane_of(cell.device if cell.device is not None else rng.randrange(self.devices))
        if choice < 0.30:
            begin = rng.randrange(SIZE)
            self._memset(lane, cell, begin, rng.randint(1, SIZE - begin), rng.randrange(256))
        elif choice < 0.62:
            source = rng.choice([c for c in self.cells if c is not cell])
            count = rng.randint(1, SIZE)
            self._copy(lane, cell, source, rng.randint(0, SIZE - count), rng.randint(0, SIZE - count), count)
        elif choice < 0.70:
            self._host_increment(lane, rng.choice([c for c in self.cells if c.device is None]))
        elif choice < 0.80:
            self._allocate(rng.choice(self.lanes))
        elif choice < 0.86:
            pooled = [c for c in self.cells if c.pool_lane is not None]
            if pooled:
                self._free(rng.choice(pooled))
        elif choice < 0.93 or not self.graphs:
            self._read_back(cell)
        else:
            self._graph()

    def _close(self) -> None:
        for device in range(self.devices):
            check(rt.infinirtSetDevice(device))
            check(rt.infinirtDeviceSynchronize())
        for graph, executable in self.graph_handles:
            check(rt.infinirtGraphExecDestroy(executable))
            check(rt.infinirtGraphDestroy(graph))
        for event in self.events:
            check(rt.infinirtEventDestroy(event))
        for cell in self.cells:
            if cell.device is None:
                check(rt.infinirtFreeHost(cell.pointer))
            else:
                check(rt.infinirtFree(cell.pointer))
        for lane in self.lanes:
            if not lane.legacy:
                check(rt.infinirtStreamDestroy(lane.handle))
