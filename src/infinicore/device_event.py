"""Events after PyTorch's and InfiniCore's manner: points in the work of a stream, to wait for and to take the time by."""

from __future__ import annotations

import infinirt

from .context import get_runtime
from .device import DeviceLike
from .device import device as Device  # a DeviceEvent has an attribute of that name

__all__ = ["DeviceEvent"]


class DeviceEvent:
    """A point in the work of a stream of `device`, by default the calling thread's.

    `enable_timing`: it takes the time, for `elapsed_time()`. `blocking`: waiting for it sleeps instead of spinning.
    `interprocess`: it can be given to other processes; such events take no time.

    >>> import infinicore
    >>> start, end = (infinicore.DeviceEvent(enable_timing=True, device="cpu") for _ in range(2))
    >>> start.record()
    >>> end.record()
    >>> start.elapsed_time(end) >= 0
    True
    """

    __slots__ = ("_blocking", "_enable_timing", "_event", "_interprocess", "_is_recorded", "_runtime")

    def __init__(
        self,
        enable_timing: bool = False,
        device: DeviceLike = None,
        *,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        self._runtime = get_runtime(device)
        self._enable_timing = bool(enable_timing)
        self._blocking = bool(blocking)
        self._interprocess = bool(interprocess)
        self._is_recorded = False
        self._event = self._runtime.device.resolve().create_event(
            timing_enabled=self._enable_timing,
            blocking_sync=self._blocking,
            ipc_enabled=self._interprocess,
        )

    def record(self, stream: infinirt.Stream | None = None) -> None:
        """Marks the point that `stream` has been given work up to; by default the stream of the event's device."""
        self._runtime.record_event(self._event, stream)
        self._is_recorded = True

    def synchronize(self) -> None:
        """Waits until the point is reached."""
        self._event.sync()

    def query(self) -> bool:
        """Whether the point was reached; true of an event that was never recorded."""
        return self._event.is_done

    def elapsed_time(self, other: DeviceEvent) -> float:
        """The milliseconds from this event to `other`, for which it waits."""
        if not isinstance(other, DeviceEvent):
            raise TypeError(f"other must be a DeviceEvent, not {type(other).__name__}")
        for event, name in ((self, "this event"), (other, "the other event")):
            if not event._enable_timing:
                raise RuntimeError(
                    f"{name} does not measure the time; make it by DeviceEvent(enable_timing=True)"
                )
            if not event._is_recorded:
                raise RuntimeError(f"{name} was not recorded; call its record() first")
        if self.device != other.device:
            raise RuntimeError(
                f"the events are of {self.device} and {other.device}; time is taken on one device"
            )
        return self._runtime.elapsed_time(self._event, other._event)

    def wait(self, stream: infinirt.Stream | None = None) -> None:
        """Makes `stream`, by default the calling thread's, wait for the point; the host does not wait."""
        get_runtime().stream_wait_event(stream, self._event)

    @property
    def event(self) -> infinirt.Event:
        """The same event as an `infinirt.Event`."""
        return self._event

    @property
    def device(self) -> Device:
        """The device whose streams it marks."""
        return self._runtime.device

    @property
    def is_recorded(self) -> bool:
        """Whether record() was called."""
        return self._is_recorded

    @property
    def enable_timing(self) -> bool:
        """Whether it takes the time."""
        return self._enable_timing

    @property
    def blocking(self) -> bool:
        """Whether waiting for it sleeps instead of spinning."""
        return self._blocking

    @property
    def interprocess(self) -> bool:
        """Whether it can be given to other processes."""
        return self._interprocess

    def __repr__(self) -> str:
        flags = [name for name in ("enable_timing", "blocking", "interprocess") if getattr(self, name)]
        return f"DeviceEvent(device={self.device}, flags={', '.join(flags) or 'none'}, recorded={self.is_recorded})"
