"""Memory that frees itself, and looking at memory: recorded traces, snapshots.

>>> import infinicore
>>> runtime = infinicore.Runtime("cpu")
>>> with infinicore.memory.record_trace(runtime) as recorded:
...     memory = runtime.allocate_memory(4096)
...     del memory
>>> [event.kind for event in recorded.trace.events]
['allocate', 'free']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import infinirt

if TYPE_CHECKING:
    from ._snapshot import Block, Segment, Snapshot, record_history, save_html, snapshot
    from ._trace import AllocationTrace, Recording, TraceEvent, record_trace, replay
    from .device import device as Device  # Memory has a method of that name

__all__ = [
    "AllocationTrace",
    "Block",
    "Memory",
    "Recording",
    "Segment",
    "Snapshot",
    "TraceEvent",
    "record_history",
    "record_trace",
    "replay",
    "save_html",
    "snapshot",
]

_PARTS = {
    "_trace": ("AllocationTrace", "Recording", "TraceEvent", "record_trace", "replay"),
    "_snapshot": ("Block", "Segment", "Snapshot", "record_history", "save_html", "snapshot"),
}


def __getattr__(name: str) -> object:
    """Tools for looking at memory are loaded when they are first used."""
    for module, names in _PARTS.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"{__package__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Memory:
    """A block of memory. It goes back with the last reference, in stream order, after everything this library did with it.

    The methods are InfiniCore's; `buffer` is the same memory as an `infinirt.Buffer`, with copies, NumPy and DLPack.

    >>> import infinicore
    >>> memory = infinicore.Runtime("cpu").allocate_memory(16)
    >>> memory.size(), memory.is_pinned(), str(memory.device())
    (16, False, 'cpu:0')
    """

    __slots__ = ("__weakref__", "_buffer", "_device", "_is_pinned")

    def __init__(self, buffer: infinirt.Buffer, device: Device, is_pinned: bool = False) -> None:
        self._buffer = buffer
        self._device = device
        self._is_pinned = is_pinned

    def data(self) -> int:
        """The address; 0 of an empty block."""
        return self._buffer.ptr

    def size(self) -> int:
        """The number of bytes that were asked for."""
        return self._buffer.size

    def device(self) -> Device:
        """The device whose memory it is; of page-locked host memory, the device it was locked for."""
        return self._device

    def is_pinned(self) -> bool:
        """Whether it is page-locked memory of the host."""
        return self._is_pinned

    @property
    def buffer(self) -> infinirt.Buffer:
        """The same memory as an `infinirt.Buffer`."""
        return self._buffer

    def record_stream(self, stream: infinirt.Stream) -> None:
        """Work of `stream` that this library does not know of uses the memory: its free waits for that."""
        self._buffer.record_stream(stream)

    def __len__(self) -> int:
        return self._buffer.size

    def __repr__(self) -> str:
        kind = "pinned host memory for" if self._is_pinned else "memory of"
        return f"<Memory: {self._buffer.size} bytes at {self._buffer.ptr:#x}, {kind} {self._device}>"
