"""All enums, in the order of the header."""

from __future__ import annotations

from ..model import Enum
from . import device, execution, graph, memory
from .error import ERROR

ENUMS: tuple[Enum, ...] = (ERROR, *device.ENUMS, *memory.ENUMS, *execution.ENUMS, *graph.ENUMS)
