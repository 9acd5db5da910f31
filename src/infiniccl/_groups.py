"""Groups of calls, and what a thread has to wait for when the outermost one ends."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from . import _core

if TYPE_CHECKING:
    from types import TracebackType

    import infinirt

__all__ = ["Group", "group", "waits_at_end"]


class _State(threading.local):
    depth = 0

    def __init__(self) -> None:
        self.streams: list[infinirt.Stream] = []


_state = _State()


def in_group() -> bool:
    """Whether the calling thread is inside a group."""
    return _state.depth > 0


def waits_at_end(stream: infinirt.Stream) -> None:
    """The thread's outermost group is complete only when this stream is."""
    _state.streams.append(stream)


class Group:
    """What `group()` returns: `with` it, calls are issued together at the end."""

    __slots__ = ()

    def __enter__(self) -> Group:
        _core.group_start()
        _state.depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            if _state.depth > 0:
                _state.depth = 0
                _state.streams.clear()
                _core.group_cancel()
            return
        if _state.depth == 0:
            raise RuntimeError("an inner group failed, and the whole group was dropped with it")
        _state.depth -= 1
        streams: list[infinirt.Stream] = []
        if _state.depth == 0:
            streams, _state.streams = _state.streams, streams
        _core.group_end()
        for stream in streams:
            stream.sync()


def group() -> Group:
    """Calls of this thread inside are issued together when it ends, and none of them if one fails.

    Needed where one call would otherwise wait for the next: sends and receives that cross, or several ranks of one thread
    that give memory of the host.

    >>> import infiniccl, numpy
    >>> comms = infiniccl.init_all([0, 0])
    >>> arrays = [numpy.array([1.0, 2.0]), numpy.array([10.0, 20.0])]
    >>> with infiniccl.group():
    ...     for comm, array in zip(comms, arrays):
    ...         comm.all_reduce(array)
    >>> arrays[1]
    array([11., 22.])
    """
    return Group()
