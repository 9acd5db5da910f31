"""The place that a device's tensors live on."""

from __future__ import annotations

from typing import Any

from . import _core
from .context import get_runtime


def place_for(device: Any = None) -> _core.Place:
    """The place of a device, however it is named; None: the calling thread's current one."""
    if device is None:
        return _core.current()
    return device if isinstance(device, _core.Place) else get_runtime(device).place
