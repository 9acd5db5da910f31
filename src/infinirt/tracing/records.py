"""Reads the files that a traced process leaves behind. Their layout is that of csrc/core/trace_file.h, and must agree."""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_MAGIC = b"InfiniRT"
_VERSION = 1
_CHUNK_HEADER = 64
_WRITES = 1 << 63
_DURATION = (1 << 48) - 1

# In the order of work_kind_name() in csrc/core/observe.cpp.
KINDS = (
    "nothing",
    "copy",
    "fill",
    "host",
    "callback",
    "kernel",
    "record",
    "wait",
    "wait shared",
    "record shared",
    "graph",
    "step",
    "memory",
)


@dataclass(frozen=True, slots=True)
class Access:
    """Memory that a call or a piece of work reads or writes."""

    address: int
    bytes: int
    writes: bool


@dataclass(frozen=True, slots=True)
class Signature:
    name: str
    parameters: tuple[tuple[str, str], ...]
    """Name and kind of each; the kinds are those of csrc/core/observe.h."""


@dataclass(slots=True)
class Call:
    """One call of the API. Times are nanoseconds of the machine's monotonic clock."""

    number: int
    thread: int
    function: str
    begin: int
    end: int
    result: int
    device_type: str
    device: int
    arguments: dict[str, int | tuple[int, int, int]]
    created: int
    """The pointer or handle that the call made; 0: none."""
    stack: str
    accesses: tuple[Access, ...]


@dataclass(slots=True)
class Work:
    """One piece of work of a stream."""

    call: int
    """Number of the call that issued it; 0: not known."""
    begin: int
    end: int
    kind: str
    name: str
    device_type: str
    device: int
    stream: int
    handle: int
    order: int
    position: int
    graph_launch: int
    node: int
    accesses: tuple[Access, ...]

    @property
    def title(self) -> str:
        """What people call it."""
        if self.name:
            return self.name
        if self.kind in ("copy", "fill") and self.accesses:
            return f"{self.kind} {readable_bytes(self.accesses[0].bytes)}"
        return {"host": "host function", "graph": "graph launch"}.get(self.kind, self.kind)

    @property
    def is_busy(self) -> bool:
        """Whether the stream does something in it, rather than wait or keep its order."""
        return self.kind not in ("nothing", "record", "wait", "wait shared", "record shared")


@dataclass(slots=True)
class Order:
    """Work of one order from a position on comes after another order's up to a position."""

    call: int
    time: int
    later_order: int
    later_position: int
    earlier_order: int
    earlier_position: int


@dataclass(slots=True)
class Range:
    """A part of the program that it named itself."""

    thread: int
    name: str
    begin: int
    end: int


@dataclass(slots=True)
class Process:
    """What one process recorded."""

    pid: int
    parent: int = 0
    rank: int | None = None
    command: str = ""
    monotonic: int = 0
    realtime: int = 0
    lost: int = 0
    threads: dict[int, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether it has loaded the runtime, and then done nothing with it."""
        return not (self.calls or self.work or self.ranges)


def readable_bytes(count: int) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count = count // 1024 if count % 1024 == 0 else round(count / 1024)
    return f"{count} GiB"


def read_folder(folder: str | Path) -> list[Process]:
    """All processes of a trace, by rank and age. ValueError says which file is no trace."""
    found = [read_file(path) for path in sorted(Path(folder).glob("*.irtrace"))]
    return sorted(found, key=lambda p: (p.rank if p.rank is not None else -1, p.monotonic, p.pid))


def read_file(path: Path) -> Process:
    data = path.read_bytes()
    if len(data) < 64 or data[:8] != _MAGIC:
        raise ValueError(f"{path} is not a trace of this runtime")
    version, header_bytes, chunk_bytes, text_bytes = struct.unpack_from("<4I", data, 8)
    if version != _VERSION:
        raise ValueError(
            f"{path} has version {version}, and this is a reader of version {_VERSION}; "
            "read it with the infinirt that wrote it"
        )
    process, signatures, rate = _read_header(data[64 : 64 + text_bytes].decode("utf-8", "replace"))
    (process.lost,) = struct.unpack_from("<Q", data, 56)
    chunks = [data[at : at + chunk_bytes] for at in range(header_bytes, len(data), chunk_bytes)]
    names, backends = _read_names(chunks)
    clock = _Clock(data, chunks, rate)
    by_thread: dict[int, list[tuple[int, ...]]] = {}
    for chunk in chunks:
        if len(chunk) < _CHUNK_HEADER:
            continue
        thread, system_thread = struct.unpack_from("<2I", chunk, 8)
        name = chunk[16:32].split(b"\0")[0].decode("utf-8", "replace")
        process.threads.setdefault(thread, f"{name} ({system_thread})")
        by_thread.setdefault(thread, []).extend(_records(chunk))
    for thread, records in by_thread.items():
        _read_thread(process, thread, records, signatures, names, backends, clock)
    process.calls.sort(key=lambda call: call.begin)
    process.work.sort(key=lambda work: work.begin)
    process.orders.sort(key=lambda order: order.time)
    return process


class _Clock:
    """From the recorder's ticks to nanoseconds, along the pairs of both that stand in the file."""

    def __init__(self, data: bytes, chunks: list[bytes], rate: float) -> None:
        places = [(data, 24), (data, 40)]
        places += [(chunk, 32) for chunk in chunks if len(chunk) >= _CHUNK_HEADER]
        pairs: set[tuple[int, int]] = {struct.unpack_from("<2q", text, at) for text, at in places}
        self._pairs = sorted(pair for pair in pairs if pair[0])
        self._ticks = [ticks for ticks, _ in self._pairs]
        first, last = self._pairs[0], self._pairs[-1]
        # A rate that was measured in a millisecond is good enough only where there is nothing better.
        long_enough = last[1] - first[1] > 5_000_000
        self._rate: float = (last[1] - first[1]) / (last[0] - first[0]) if long_enough else rate

    def ns(self, ticks: int) -> int:
        ticks0, ns0 = self._pairs[max(bisect.bisect_right(self._ticks, ticks) - 1, 0)]
        return ns0 + round((ticks - ticks0) * self._rate)


def _read_header(text: str) -> tuple[Process, dict[int, Signature], float]:
    process = Process(pid=0)
    signatures = {}
    rate = 1.0
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == "function":
            number, name, _, *rest = value.split(" ")
            parts = [part.split(":") for part in rest[0].split(",")] if rest and rest[0] else []
            signatures[int(number)] = Signature(name, tuple((a, b) for a, b in parts))
        elif key == "rank":
            process.rank = int(value) if value.isdigit() else None
        elif key == "command":
            process.command = value.strip()
        elif key in ("pid", "parent"):
            setattr(process, key, int(value))
        elif key == "monotonic_ns":
            process.monotonic = int(value)
        elif key == "realtime_ns":
            process.realtime = int(value)
        elif key == "ns_per_tick":
            rate = float(value)
    return process, signatures, rate


def _records(chunk: bytes) -> Iterator[tuple[int, ...]]:
    (used,) = struct.unpack_from("<Q", chunk, 0)
    words = struct.unpack_from(f"<{min(used, len(chunk)) // 8}Q", chunk, 0)
    at = _CHUNK_HEADER // 8
    while at < len(words):
        length = words[at] >> 8 & 0xFF
        if length == 0 or at + length > len(words):
            return
        yield words[at : at + length]
        at += length


def _text(record: tuple[int, ...]) -> str:
    packed = struct.pack(f"<{len(record) - 3}Q", *record[3:])
    return packed[: record[2]].decode("utf-8", "replace")


def _read_names(chunks: list[bytes]) -> tuple[dict[int, str], dict[int, str]]:
    names: dict[int, str] = {}
    backends: dict[int, str] = {}
    for chunk in chunks:
        if len(chunk) < _CHUNK_HEADER:
            continue
        for record in _records(chunk):
            kind = record[0] & 0xFF
            if kind in (4, 7) and len(record) >= 3:
                (names if kind == 4 else backends)[record[1]] = _text(record)
    return names, backends


def _accesses(words: tuple[int, ...]) -> tuple[Access, ...]:
    return tuple(
        Access(words[i], words[i + 1] & ~_WRITES, bool(words[i + 1] & _WRITES))
        for i in range(0, len(words), 2)
    )


def _argument(kind: str, word: int) -> int | tuple[int, int, int]:
    if kind == "d":
        return word & 0xFFFFFFFF, word >> 32 & 0xFFFF, word >> 48
    if kind == "i":
        low = word & 0xFFFFFFFF
        return low - (1 << 32) if low >= 1 << 31 else low
    return word


def _read_thread(
    process: Process,
    thread: int,
    records: list[tuple[int, ...]],
    signatures: dict[int, Signature],
    names: dict[int, str],
    backends: dict[int, str],
    clock: _Clock,
) -> None:
    open_ranges: list[tuple[str, int]] = []
    latest = 0
    for record in records:
        head = record[0]
        kind = head & 0xFF
        backend = backends.get(head >> 48 & 0xFF, "")
        device = head >> 56
        if kind == 1:
            signature = signatures[head >> 16 & 0xFFFF]
            facts = record[3]
            at = 4 + (facts >> 48 & 1) + (facts >> 49 & 1)
            count = facts >> 50 & 0x3F
            arguments = {
                name: _argument(sort, word)
                for (name, sort), word in zip(signature.parameters, record[at : at + count], strict=True)
            }
            latest = clock.ns(record[2] + (facts & _DURATION))
            call = Call(
                record[1],
                thread,
                signature.name,
                clock.ns(record[2]),
                latest,
                head >> 32 & 0xFFFF,
                backend,
                device,
                arguments,
                record[at - 1] if facts >> 49 & 1 else 0,
                names.get(record[4], "") if facts >> 48 & 1 else "",
                _accesses(record[at + count :]),
            )
            process.calls.append(call)
        elif kind == 2:
            facts = record[3]
            in_graph = facts >> 48 & 1
            begin, end = record[2], record[2] + (facts & _DURATION)
            if not head >> 24 & 1:  # a vendor's tracer gives nanoseconds
                begin, end = clock.ns(begin), clock.ns(end)
            work = Work(
                record[1],
                begin,
                end,
                KINDS[head >> 16 & 0xFF],
                names.get(record[8], ""),
                backend,
                device,
                record[4],
                record[5],
                record[6],
                record[7],
                record[9] if in_graph else 0,
                record[10] if in_graph else -1,
                _accesses(record[9 + 2 * in_graph :]),
            )
            process.work.append(work)
        elif kind == 3:
            process.orders.append(Order(record[1], clock.ns(record[2]), *record[3:7]))
        elif kind == 5:
            latest = clock.ns(record[1])
            open_ranges.append((names.get(record[2], "?"), latest))
        elif kind == 6:
            latest = clock.ns(record[1])
            if open_ranges:  # else it was pushed before the trace began
                name, begin = open_ranges.pop()
                process.ranges.append(Range(thread, name, begin, latest))
    for name, begin in open_ranges:
        process.ranges.append(Range(thread, name, begin, max(latest, begin)))
