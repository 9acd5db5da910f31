"""Events: points in the work of a stream."""

from __future__ import annotations

from . import _core
from ._options import Options
from ._other_names import with_other_names
from .errors import InfiniRTError, InvalidHandleError, NotReadyError

__all__ = ["Event", "EventOptions"]

_BLOCKING_SYNC = 1
_DISABLE_TIMING = 2
_INTERPROCESS = 4


class EventOptions(Options):
    """What an event can do beyond marking a point.

    `timing_enabled`: it takes the time, for `end - start`. `blocking_sync`: waiting for it sleeps instead of spinning.
    `ipc_enabled`: it can be given to other processes; such events take no time.

    >>> import infinirt
    >>> infinirt.EventOptions(timing_enabled=True)
    EventOptions(timing_enabled=True, blocking_sync=False, ipc_enabled=False)
    """

    __slots__ = ("blocking_sync", "ipc_enabled", "timing_enabled")
    timing_enabled: bool
    blocking_sync: bool
    ipc_enabled: bool

    def __init__(
        self,
        timing_enabled: bool | None = False,
        blocking_sync: bool | None = False,
        ipc_enabled: bool | None = False,
    ) -> None:
        self._set(
            timing_enabled=bool(timing_enabled),
            blocking_sync=bool(blocking_sync),
            ipc_enabled=bool(ipc_enabled),
        )

    def _flags(self) -> int:
        if self.ipc_enabled and self.timing_enabled:
            raise ValueError("an event cannot both take the time and be shared with other processes")
        return (
            (0 if self.timing_enabled else _DISABLE_TIMING)
            | (_BLOCKING_SYNC if self.blocking_sync else 0)
            | (_INTERPROCESS if self.ipc_enabled else 0)
        )


@with_other_names
class Event(_core.EventBase):
    """A point in the work of a stream, for other streams and the host to wait for.

    Made by `Device.create_event()` or `Stream.record()`; destroyed with the last reference.

    >>> import infinirt
    >>> stream = infinirt.Device("cpu").create_stream()
    >>> event = stream.record()
    >>> event.sync()
    >>> event.is_done
    True
    """

    __slots__ = ()

    def __sub__(self, start: Event) -> float:
        """The milliseconds between two recorded events, `end - start`.

        >>> import infinirt
        >>> stream = infinirt.Device("cpu").create_stream()
        >>> timed = infinirt.EventOptions(timing_enabled=True)
        >>> start, end = stream.record(options=timed), stream.record(options=timed)
        >>> stream.sync()
        >>> end - start >= 0
        True
        """
        if not isinstance(start, Event):
            return NotImplemented
        try:
            return self._elapsed_since(start)
        except (InvalidHandleError, NotReadyError) as error:
            raise _with_advice(error, start, self) from None

    def __enter__(self) -> Event:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else f"{self.handle:#x}"
        return f"<Event {state} of {self.device.type}:{self.device.ordinal}>"


_core.register_class("Event", Event)
_core.register_class("EventOptions", EventOptions)


def _with_advice(error: InfiniRTError, start: Event, end: Event) -> InfiniRTError:
    """The same error, saying which event is the cause and how to avoid it."""
    for name, event in (("start", start), ("end", end)):
        if event.is_closed:
            return error
        if not event.is_timing_enabled:
            advice = f"the {name} event does not measure the time; create it with EventOptions(timing_enabled=True)"
            return type(error)(error._code, advice)
    if isinstance(error, NotReadyError):
        unfinished = "start" if not start.is_done else "end"
        advice = f"the {unfinished} event has not been reached; call end.sync() before subtracting"
        return NotReadyError(error._code, advice)
    if start.device is not end.device:
        return type(error)(
            error._code, f"the events belong to {start.device} and {end.device}; time is taken on one device"
        )
    return type(error)(
        error._code, f"both events must have been recorded, by stream.record(event), before: {error.message}"
    )
