"""InfiniCore's interface on this runtime: devices, runtimes, memory, events and recorded graphs.

>>> import infinicore
>>> infinicore.set_device("cpu")
>>> memory = infinicore.get_runtime().allocate_memory(1 << 20)
>>> memory.size()
1048576
"""

from __future__ import annotations

from . import context, memory
from .allocators import (
    DevicePinnedHostAllocator,
    MemoryAllocator,
    PinnableBlockAllocator,
    StreamOrderedAllocator,
)
from .context import (
    Context,
    add_graph_operator,
    allocate_host_memory,
    allocate_memory,
    allocate_pinned_host_memory,
    cancel_graph_recording,
    get_context,
    get_device,
    get_device_count,
    get_infiniop_handle,
    get_runtime,
    get_stream,
    is_graph_recording,
    set_device,
    start_graph_recording,
    stop_graph_recording,
    sync_device,
    sync_stream,
    trim_memory,
)
from .device import device
from .device_event import DeviceEvent
from .graph import Graph, GraphOperator
from .memory import Memory
from .runtime import CloseError, Runtime

__all__ = [
    "CloseError",
    "Context",
    "DeviceEvent",
    "DevicePinnedHostAllocator",
    "Graph",
    "GraphOperator",
    "Memory",
    "MemoryAllocator",
    "PinnableBlockAllocator",
    "Runtime",
    "StreamOrderedAllocator",
    "add_graph_operator",
    "allocate_host_memory",
    "allocate_memory",
    "allocate_pinned_host_memory",
    "cancel_graph_recording",
    "context",
    "device",
    "get_context",
    "get_device",
    "get_device_count",
    "get_infiniop_handle",
    "get_runtime",
    "get_stream",
    "is_graph_recording",
    "memory",
    "set_device",
    "start_graph_recording",
    "stop_graph_recording",
    "sync_device",
    "sync_stream",
    "trim_memory",
]
