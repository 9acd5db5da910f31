"""One runtime for every accelerator: devices, streams, events, memory and graphs, with CUDA's semantics on the CPU too.

>>> import infinirt
>>> device = infinirt.Device("cpu")
>>> with device.create_stream() as stream:
...     buffer = device.allocate(8, stream=stream)
...     buffer.fill(42, stream=stream)
...     stream.sync()
>>> bytes(buffer)
b'********'

The flat API, one function per C function, is `infinirt.runtime`.
"""

from __future__ import annotations

import atexit
import os
import sys

from . import _core
from ._capture import Capture, GraphBuilder, capture
from .adaptors import (
    CachingResource,
    FailingResource,
    LimitingResource,
    ResourceAdaptor,
    TrackingResource,
)
from .buffer import Buffer
from .caching import CacheBlock, CacheReserve, CacheStatistics, CacheTrace, CachingPool, PinnedPool
from .device import Device, DeviceProperties, DeviceTypeInfo, device_types, devices
from .errors import (
    CaptureError,
    CompileError,
    GraphUpdateError,
    InfiniRTError,
    InvalidDeviceError,
    InvalidHandleError,
    InvalidValueError,
    NoDeviceError,
    NotPermittedError,
    NotReadyError,
    NotSupportedError,
    OutOfMemoryError,
    StickyError,
)
from .event import Event, EventOptions
from .graph import Graph, GraphCompleteOptions, GraphExec, GraphNode
from .interchange import as_buffer, from_dlpack
from .launch import Kernel, LaunchConfig, launch
from .memory import (
    DirectResource,
    ManagedResource,
    MemoryPool,
    MemoryPoolAttributes,
    MemoryPoolOptions,
    MemoryResource,
    PinnedResource,
)
from .stream import LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM, Stream, StreamOptions

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from ._protocols import IsStreamType
    from ._version import __version__
    from .backend import Backend
    from .object_code import ObjectCode
    from .plugin import PluginInfo, load_plugin, plugins
    from .program import Program, ProgramOptions
    from .tracing import keep_stacks, trace
    from .tracing import range as range

# Without `range`, which would take the place of Python's own where all names are imported.
__all__ = [
    "LEGACY_DEFAULT_STREAM",
    "PER_THREAD_DEFAULT_STREAM",
    "Backend",
    "Buffer",
    "CacheBlock",
    "CacheReserve",
    "CacheStatistics",
    "CacheTrace",
    "CachingPool",
    "CachingResource",
    "Capture",
    "CaptureError",
    "CompileError",
    "Device",
    "DeviceProperties",
    "DeviceTypeInfo",
    "DirectResource",
    "Event",
    "EventOptions",
    "FailingResource",
    "Graph",
    "GraphBuilder",
    "GraphCompleteOptions",
    "GraphExec",
    "GraphNode",
    "GraphUpdateError",
    "InfiniRTError",
    "InvalidDeviceError",
    "InvalidHandleError",
    "InvalidValueError",
    "IsStreamType",
    "Kernel",
    "LaunchConfig",
    "LimitingResource",
    "ManagedResource",
    "MemoryPool",
    "MemoryPoolAttributes",
    "MemoryPoolOptions",
    "MemoryResource",
    "NoDeviceError",
    "NotPermittedError",
    "NotReadyError",
    "NotSupportedError",
    "ObjectCode",
    "OutOfMemoryError",
    "PinnedPool",
    "PinnedResource",
    "PluginInfo",
    "Program",
    "ProgramOptions",
    "ResourceAdaptor",
    "StickyError",
    "Stream",
    "StreamOptions",
    "TrackingResource",
    "__version__",
    "as_buffer",
    "capture",
    "current_device",
    "device_types",
    "devices",
    "from_dlpack",
    "keep_stacks",
    "launch",
    "load_plugin",
    "per_thread_default_stream",
    "plugins",
    "support",
    "synchronize",
    "trace",
]

# Names that load on first use, and the module that has them.
_LATER = {
    "Backend": "backend",
    "IsStreamType": "_protocols",
    "ObjectCode": "object_code",
    "PluginInfo": "plugin",
    "Program": "program",
    "ProgramOptions": "program",
    "__version__": "_version",
    "keep_stacks": "tracing",
    "load_plugin": "plugin",
    "plugins": "plugin",
    "range": "tracing",
    "trace": "tracing",
}


def __getattr__(name: str) -> object:
    import importlib

    if name in _LATER:
        value = getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
        globals()[name] = value
        return value
    if name in ("runtime", "v0"):
        return importlib.import_module(f"{__name__}.{name}")
    from ._other_names import OTHER_NAMES

    advice = OTHER_NAMES["infinirt"].get(name)
    if advice is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {advice}", name=name, obj=None)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


current_device = _core.current_device


def synchronize(device: Device | str | int | None = None) -> None:
    """Waits until all work of a device, by default the current one, is done.

    >>> import infinirt
    >>> infinirt.synchronize("cpu")
    """
    Device(device).sync()


def per_thread_default_stream(enabled: bool = True) -> bool:
    """Makes every thread's default stream its own instead of one for all; returns how it was before.

    The environment variable INFINIRT_PYTHON_PER_THREAD_DEFAULT_STREAM=1 does so from the start.

    >>> import infinirt
    >>> before = infinirt.per_thread_default_stream(True)
    >>> infinirt.Device("cpu").default_stream
    <Stream per-thread default of cpu:0>
    >>> infinirt.per_thread_default_stream(before)
    True
    """
    return _core.use_per_thread_default(enabled)


def support(function: str, type: str | None = None) -> str:
    """How a device type implements a function of the C API: "native", "emulated" or "none".

    >>> import infinirt
    >>> infinirt.support("infinirtMemcpyAsync", "cpu")
    'native'
    """
    return ("none", "emulated", "native")[_core.support(Device().type if type is None else type, function)]


_SETTINGS = frozenset(
    {
        "INFINIRT_API_PER_THREAD_DEFAULT_STREAM", "INFINIRT_CACHE_DIR", "INFINIRT_CACHE_DISABLE", "INFINIRT_CONFORMANCE_LOAD",
        "INFINIRT_CPU_CACHE", "INFINIRT_CPU_DEVICES", "INFINIRT_CPU_LINGER", "INFINIRT_CPU_MEMORY", "INFINIRT_CPU_MEMORY_LIMIT",
        "INFINIRT_CPU_MIN", "INFINIRT_CPU_SCHEDULE", "INFINIRT_CPU_THREADS", "INFINIRT_DEVICE", "INFINIRT_LAUNCH_BLOCKING",
        "INFINIRT_LOG", "INFINIRT_PLUGIN_LAYOUT", "INFINIRT_PLUGIN_PATH", "INFINIRT_PLUGIN_TIMEOUT",
        "INFINIRT_PYTHON_PER_THREAD_DEFAULT_STREAM", "INFINIRT_PYTHON_RELEASE_GIL", "INFINIRT_STACKS", "INFINIRT_TRACE",
        "INFINIRT_TRACE_LIMIT", "INFINIRT_VISIBLE_DEVICES",
    }
)  # fmt: skip
"""What the environment may set, beside the vendors' libraries (`INFINIRT_..._LIBRARY`)."""


def _is_set(variable: str) -> bool:
    """Of a switch in the environment; what is neither on nor off is reported, as the C library reports its own."""
    value = os.environ.get(variable, "")
    if value not in ("", "0", "1"):
        text = f"[infinirt {os.getpid()}] setting: {variable}={value[:200]} is not known; it may be 0 or 1; it is 0"
        print(text, file=sys.stderr)
    return value == "1"


def _report_misspelt() -> None:
    """Settings that are nearly those of this runtime: a program that is thought to be tested under one should be."""
    ours = (name for name in os.environ if name.startswith("INFINIRT_") and not name.endswith("_LIBRARY"))
    unknown = [name for name in ours if name not in _SETTINGS]
    if not unknown:
        return
    from difflib import get_close_matches

    for name in unknown:
        for meant in get_close_matches(name, _SETTINGS, 1, 0.88):
            print(
                f"[infinirt {os.getpid()}] setting: {name} is not known; was {meant} meant?", file=sys.stderr
            )


_report_misspelt()
if _is_set("INFINIRT_PYTHON_PER_THREAD_DEFAULT_STREAM"):
    per_thread_default_stream(True)
if _is_set("INFINIRT_STACKS"):
    from .tracing import keep_stacks

    keep_stacks(True)

# After this no thread of the runtime enters the interpreter any more.
atexit.register(_core.shut_down)
