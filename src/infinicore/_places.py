"""The place that a device's tensors live on.

`infinicore.context` has one for each device and announces it here (`set_finder`); without it places are made on first use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import infinirt

from . import _core

_finder: Callable[[Any], _core.Place] | None = None
_made: dict[infinirt.Device, _core.Place] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class _Where:
    """A device for places that are made here."""

    type_name: str
    index: int

    @property
    def type(self) -> str:
        return self.type_name

    def __str__(self) -> str:
        return f"{self.type_name}:{self.index}"


def set_finder(finder: Callable[[Any], _core.Place]) -> None:
    """From now on `finder(device)` gives the place of a device, however the device is named."""
    global _finder
    _finder = finder


def place_for(device: Any = None) -> _core.Place:
    """The place of a device; None: the calling thread's current one."""
    if device is None:
        return _core.current()
    if isinstance(device, _core.Place):
        return device
    return _make(device) if _finder is None else _finder(device)


def _make(device: Any) -> _core.Place:
    name = getattr(device, "type_name", None)
    where = infinirt.Device(device if name is None else f"{name}:{device.index}")
    with _lock:
        found = _made.get(where)
        if found is None or found.is_closed:
            place = _Where(where.type, where.ordinal)
            found = _made[where] = _core.Place(place, where.create_stream(), infinirt.CachingPool(where))
        return found


_core.set_default(lambda: place_for(infinirt.Device()))
