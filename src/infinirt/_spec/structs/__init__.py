"""All structs and unions, each after what it contains."""

from __future__ import annotations

from ..model import Struct
from . import device, execution, graph, memory

STRUCTS: tuple[Struct, ...] = (*memory.STRUCTS, *device.STRUCTS, *execution.STRUCTS, *graph.STRUCTS)
