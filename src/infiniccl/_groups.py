"""Groups of calls, and what a thread has to wait for when the outermost one ends."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from . import _core

if TYPE_CHECKING:
    from types import TracebackType

    import infinirt

    from ._operands import Operand

__all__ = ["Group", "group", "in_group", "issued"]


class _State(threading.local):
    depth = 0

    def __init__(self) -> None:
        self.used: list[tuple[infinirt.Stream, tuple[Operand, ...]]] = []


_state = _State()


def in_group() -> bool:
    """Whether the calling thread is inside a group."""
    return _state.depth > 0


def issued(stream: infinirt.Stream, operands: tuple[Operand, ...]) -> None:
    """Work on `stream` uses these; inside a group it will, once the group has ended."""
    if _state.depth > 0:
        _state.used.append((stream, operands))
    else:
        _settle(stream, operands)


def _settle(stream: infinirt.Stream, operands: tuple[Operand, ...]) -> None:
    for operand in operands:
        if operand.buffer is not None:
            operand.buffer.record_stream(stream)
    if any(operand.host for operand in operands) and not stream.is_capturing:
        stream.sync()


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
                _state.used = []
                _core.group_cancel()
            return
        if _state.depth == 0:
            raise RuntimeError("an inner group failed, and the whole group was dropped with it")
        _state.depth -= 1
        used: list[tuple[infinirt.Stream, tuple[Operand, ...]]] = []
        if _state.depth == 0:
            used, _state.used = _state.used, used
        _core.group_end()
        for stream, operands in used:
            _settle(stream, operands)


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
