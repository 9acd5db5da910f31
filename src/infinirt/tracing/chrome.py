"""A trace in the JSON that Perfetto (ui.perfetto.dev) and Chrome (chrome://tracing) open.

Every device is a process of the picture with a track for each stream, and every process of the program one with a track for
each thread. Arrows lead from calls to the work they issued, and from work to what had to wait for it.
"""

from __future__ import annotations

import bisect
import os
from collections.abc import Iterable, Iterator

from .records import Call, Process, Work

Event = dict[str, object]

_SIZES = ("size", "count", "width")
_POINTERS = ("devPtr", "ptr", "pHost")
_ALLOCATES = {
    "infinirtMalloc",
    "infinirtMallocAsync",
    "infinirtMallocFromPoolAsync",
    "infinirtMallocManaged",
    "infinirtMallocPitch",
    "infinirtMallocHost",
    "infinirtHostAlloc",
    "infinirtXCacheAllocate",
}
_ON_HOST = {"infinirtMallocHost", "infinirtHostAlloc"}
_FREES = {"infinirtFree", "infinirtFreeAsync", "infinirtFreeHost", "infinirtXCacheFree"}


def chrome_trace(processes: Iterable[Process]) -> dict[str, object]:
    """The whole trace as one JSON object."""
    listed = list(processes)
    events: list[Event] = []
    numbers = iter(range(1, 1 << 30))
    flows = iter(range(1, 1 << 60))
    # Viewers drop what begins before 0. What was issued before the trace may have begun before its first call.
    begins = [call.begin for p in listed for call in p.calls]
    begins += [work.begin for p in listed for work in p.work]
    begins += [part.begin for p in listed for part in p.ranges]
    start = min(begins, default=0)
    for process in listed:
        events += _Picture(process, start, numbers, flows).events()
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {"lost_records": sum(p.lost for p in listed), "monotonic_start_ns": start},
    }


def stream_title(work: Work) -> str:
    """Streams that the program created are counted from 1, as `infinirt sanitize` and messages count them."""
    return {1: "default stream", 2: f"a thread's default stream, {work.stream & 0xFFFFFFFF}"}.get(
        work.handle, f"stream {work.stream}"
    )


def memory_in_use(process: Process) -> Iterator[tuple[int, str, int]]:
    """Time, device, and how many bytes calls have allocated there and not freed yet."""
    live: dict[int, tuple[str, int]] = {}
    totals: dict[str, int] = {}
    for call in process.calls:
        if call.result != 0:
            continue
        if call.function in _ALLOCATES and call.created:
            size = _first(call, _SIZES) * (_first(call, ("height",)) or 1)
            place = "page-locked" if call.function in _ON_HOST else f"{call.device_type}:{call.device}"
            live[call.created] = (place, size)
        elif call.function in _FREES and (known := live.pop(_first(call, _POINTERS), None)) is not None:
            place, size = known[0], -known[1]
        else:
            continue
        totals[place] = totals.get(place, 0) + size
        yield call.end, place, totals[place]


def _first(call: Call, names: tuple[str, ...]) -> int:
    for name in names:
        value = call.arguments.get(name)
        if isinstance(value, int):
            return value
    return 0


class _Lanes:
    """Puts work that overlaps on one stream (branches of a graph) on tracks of its own."""

    def __init__(self) -> None:
        self._open: list[list[int]] = []

    def place(self, begin: int, end: int) -> int:
        for lane, ends in enumerate(self._open):
            while ends and ends[-1] <= begin:
                ends.pop()
            if not ends or ends[-1] >= end:  # after all of it, or inside what is open
                ends.append(end)
                return lane
        self._open.append([end])
        return len(self._open) - 1


class _Picture:
    """One process of the program: its threads, and the devices as it saw them."""

    def __init__(self, process: Process, start: int, numbers: Iterator[int], flows: Iterator[int]) -> None:
        self._process = process
        self._start = start
        self._numbers = numbers
        self._flows = flows
        self._calls = {call.number: call for call in process.calls}
        self._own = next(numbers)
        self._devices: dict[str, int] = {}
        self._tracks: dict[tuple[int, int, int], int] = {}
        self._placed: dict[int, tuple[int, int]] = {}  # id(work) → process and track of the picture

    def events(self) -> Iterator[Event]:
        process = self._process
        who = f"rank {process.rank} · " if process.rank is not None else ""
        yield _meta(self._own, 0, "process_name", f"{who}calls of {_program(process.command)}")
        yield {
            "ph": "M",
            "pid": self._own,
            "tid": 0,
            "name": "process_sort_index",
            "args": {"sort_index": self._own},
        }
        for thread, name in process.threads.items():
            if thread in {call.thread for call in process.calls} | {r.thread for r in process.ranges}:
                yield _meta(self._own, thread, "thread_name", name)
        for part in process.ranges:
            yield self._slice(self._own, part.thread, part.name, "range", part.begin, part.end, {})
        for call in process.calls:
            yield self._call(call)
        yield from self._work(who)
        yield from self._orders()
        yield from self._event_orders()
        for time, place, total in memory_in_use(process):
            pid = self._own if place == "page-locked" else self._device(place)
            name = "page-locked memory in use" if place == "page-locked" else "memory in use"
            yield {
                "ph": "C",
                "pid": pid,
                "tid": 0,
                "name": name,
                "ts": self._us(time),
                "args": {"bytes": total},
            }
        for place, pid in self._devices.items():
            yield _meta(pid, 0, "process_name", f"{who}{place}")

    def _us(self, time: int) -> float:
        return round((time - self._start) / 1000, 3)

    def _slice(
        self, pid: int, tid: int, name: str, category: str, begin: int, end: int, args: dict[str, object]
    ) -> Event:
        duration = round(max(end - begin, 0) / 1000, 3)
        event: Event = {"ph": "X", "pid": pid, "tid": tid, "name": name, "cat": category}
        return {**event, "ts": self._us(begin), "dur": duration, "args": args}

    def _call(self, call: Call) -> Event:
        args: dict[str, object] = {name: _shown(value) for name, value in call.arguments.items()}
        args["result"] = call.result
        args["call"] = call.number
        if call.created:
            args["created"] = hex(call.created)
        if call.stack:
            args["stack"] = call.stack
        return self._slice(self._own, call.thread, call.function, "call", call.begin, call.end, args)

    def _device(self, place: str) -> int:
        if place not in self._devices:
            self._devices[place] = next(self._numbers)
        return self._devices[place]

    def _work(self, who: str) -> Iterator[Event]:
        lanes: dict[tuple[int, int], _Lanes] = {}
        # What contains comes before what it contains, so that the lane of a graph's launch is the stream's own.
        for work in sorted(self._process.work, key=lambda w: (w.begin, -w.end)):
            if not (work.is_busy or work.kind.startswith("wait")):
                continue
            pid = self._device(f"{work.device_type}:{work.device}")
            key = (pid, work.stream)
            lane = lanes.setdefault(key, _Lanes()).place(work.begin, work.end)
            track = self._tracks.get((pid, work.stream, lane))
            if track is None:
                track = self._tracks[pid, work.stream, lane] = next(self._numbers)
                title = stream_title(work) + (f" · branch {lane + 1}" if lane else "")
                yield _meta(pid, track, "thread_name", title)
                order = {"sort_index": work.stream * 64 + lane}
                yield {"ph": "M", "pid": pid, "tid": track, "name": "thread_sort_index", "args": order}
            self._placed[id(work)] = (pid, track)
            args: dict[str, object] = {"call": work.call, "stream": work.stream, "position": work.position}
            if work.graph_launch:
                args["graph_launch"], args["node"] = work.graph_launch, work.node
            for i, access in enumerate(work.accesses):
                args[f"{'writes' if access.writes else 'reads'} {i}"] = f"{access.address:#x} +{access.bytes}"
            yield self._slice(pid, track, work.title, work.kind, work.begin, work.end, args)
            call = self._calls.get(work.call)
            if call is not None and work.node < 0:
                out = max(call.begin, min(call.end - 1, work.begin))  # work may begin before its call returns
                yield from self._arrow("issue", (self._own, call.thread), out, (pid, track), work.begin)

    def _arrow(
        self, name: str, source: tuple[int, int], out: int, target: tuple[int, int], into: int
    ) -> Iterator[Event]:
        into = max(into, out)  # viewers drop an arrow that leads back in time
        number = next(self._flows)
        head: Event = {"name": name, "cat": name, "id": number}
        yield {**head, "ph": "s", "pid": source[0], "tid": source[1], "ts": self._us(out)}
        yield {**head, "ph": "f", "bp": "e", "pid": target[0], "tid": target[1], "ts": self._us(into)}

    def _orders(self) -> Iterator[Event]:
        queues: dict[int, list[Work]] = {}
        for work in self._process.work:
            if work.order and work.is_busy and work.node < 0:
                queues.setdefault(work.order, []).append(work)
        for queue in queues.values():
            queue.sort(key=lambda work: work.position)
        for order in self._process.orders:
            earlier, later = queues.get(order.earlier_order, []), queues.get(order.later_order, [])
            last = bisect.bisect_right(earlier, order.earlier_position, key=lambda w: w.position) - 1
            first = bisect.bisect_left(later, order.later_position, key=lambda w: w.position)
            if last < 0 or first == len(later):
                continue
            source, target = earlier[last], later[first]
            out = max(source.begin, source.end - 1)
            yield from self._arrow(
                "order", self._placed[id(source)], out, self._placed[id(target)], target.begin
            )

    def _event_orders(self) -> Iterator[Event]:
        """The same where a vendor's streams keep the order, and nobody reports it: from the calls that record and wait."""
        issued: dict[int, list[Work]] = {}
        for work in self._process.work:
            if work.order == 0 and work.is_busy:
                issued.setdefault(work.call, []).append(work)
        if not issued:
            return
        latest: dict[int, Work] = {}  # by stream
        recorded: dict[int, Work] = {}  # by event: what its latest record stands for
        awaited: dict[int, list[Work]] = {}  # by stream: what its next work has to wait for
        for call in self._process.calls:
            stream, event = _first(call, ("stream", "hStream")), _first(call, ("event",))
            if call.function in ("infinirtEventRecord", "infinirtEventRecordWithFlags"):
                recorded.pop(event, None)
                if stream in latest:
                    recorded[event] = latest[stream]
            elif call.function == "infinirtStreamWaitEvent" and event in recorded:
                awaited.setdefault(stream, []).append(recorded[event])
            for work in issued.get(call.number, ()):
                for source in awaited.pop(stream, ()):
                    out = max(source.begin, source.end - 1)
                    target = self._placed[id(work)]
                    yield from self._arrow("order", self._placed[id(source)], out, target, work.begin)
                latest[stream] = work


def _program(command: str) -> str:
    """Short, since viewers cut it: the script that Python runs, or the program."""
    words = [os.path.basename(word) if not word.startswith("-") else word for word in command.split()[:3]]
    if len(words) > 1 and words[0].startswith("python"):
        return words[2] if words[1] == "-m" and len(words) > 2 else words[1]
    return words[0] if words else "the program"


def _shown(value: int | tuple[int, int, int]) -> object:
    if isinstance(value, tuple):
        return list(value)
    return hex(value) if value >= 1 << 32 else value


def _meta(pid: int, tid: int, what: str, name: str) -> Event:
    return {"ph": "M", "pid": pid, "tid": tid, "name": what, "args": {"name": name}}
