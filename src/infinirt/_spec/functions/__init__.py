"""All functions, in the order of the header and of the backend table."""

from __future__ import annotations

from ..model import Function
from . import (
    device,
    error,
    event,
    execution,
    graph,
    graph_exec,
    graph_node,
    ipc,
    memory,
    pool,
    profiler,
    stream,
)

_MODULES = (
    device,
    error,
    stream,
    event,
    memory,
    pool,
    execution,
    ipc,
    graph,
    graph_node,
    graph_exec,
    profiler,
)

FUNCTIONS: tuple[Function, ...] = tuple(f for module in _MODULES for f in module.FUNCTIONS)

GROUP_TITLES: dict[str, str] = {}
for _module in _MODULES:  # the first module of a group describes it
    GROUP_TITLES.setdefault(_module.FUNCTIONS[0].group, (_module.__doc__ or "").strip())
