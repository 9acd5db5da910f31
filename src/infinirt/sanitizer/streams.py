"""Streams, events and captures as the checker knows them."""

from __future__ import annotations

from dataclasses import dataclass, field

from .clocks import Clock, Stack, Timeline, Work
from .graphs import Graph, Node

Device = tuple[str, int]  # type and number


@dataclass(eq=False)
class Capture:
    """What a capture has recorded; `ends` are the nodes that each stream's next one comes after."""

    graph: Graph
    origin: Stream
    ends: dict[Stream, tuple[Node, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EventWait:
    """A stream's wait, with what the event stood for then."""

    event: Event
    stream: Stream | None  # that it had been recorded on; None: it had not
    work: Work | None  # the latest of that stream
    recorded: Stack
    stack: Stack


@dataclass(eq=False)
class Stream:
    timeline: Timeline
    device: Device
    blocking: bool = True
    legacy: bool = False
    capture: Capture | None = None
    waits: list[EventWait] = field(default_factory=list)  # the latest

    @property
    def name(self) -> str:
        return self.timeline.name


@dataclass(eq=False)
class Event:
    name: str
    device: Device = ("", 0)
    clock: Clock | None = None  # None: never recorded
    stream: Stream | None = None
    work: Work | None = None  # the latest of its stream when it was recorded
    recorded: Stack = ()
    captured: tuple[Capture, tuple[Node, ...]] | None = None
    destroyed: Stack | None = None
