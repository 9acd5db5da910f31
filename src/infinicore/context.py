"""One runtime for each device, made when it is first used, and for each thread the one it works with.

The functions are InfiniCore's: `set_device`, `get_device`, `sync_stream` and so on act on the calling thread's runtime. A thread that
has chosen none works with the device that `INFINIRT_DEVICE` names, else the first accelerator, else the CPU.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable

import infinirt

from . import _core
from ._current import current
from .device import DeviceLike, device
from .graph import Graph, GraphOperator
from .memory import Memory
from .runtime import CloseError, Runtime

__all__ = [
    "Context",
    "add_graph_operator",
    "allocate_host_memory",
    "allocate_memory",
    "allocate_pinned_host_memory",
    "cancel_graph_recording",
    "get_context",
    "get_device",
    "get_device_count",
    "get_infiniop_handle",
    "get_runtime",
    "get_stream",
    "is_graph_recording",
    "set_device",
    "start_graph_recording",
    "stop_graph_recording",
    "sync_device",
    "sync_stream",
    "synchronize",
    "trim_memory",
]


class Context:
    """The runtimes of the process, one for each device. `get_context()` gives the one that everything here uses."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runtimes: dict[device, Runtime] = {}

    def runtime(self, device_: DeviceLike) -> Runtime:
        """The runtime of a device, made when it is first asked for, once, whichever thread asks."""
        wanted = device(device_)
        found = self._runtimes.get(wanted)
        if found is not None and not found.is_closed:
            return found
        with self._lock:
            found = self._runtimes.get(wanted)
            if found is None or found.is_closed:
                found = self._runtimes[wanted] = Runtime(wanted)
            return found

    def runtimes(self) -> list[Runtime]:
        """Those that were made and not closed."""
        with self._lock:
            return [runtime for runtime in self._runtimes.values() if not runtime.is_closed]

    def close(self) -> None:
        """Closes all runtimes, each in the order allocators, operators' handle, stream; CloseError says what failed.

        Everything is closed whatever fails. Runtimes that are asked for afterwards are made anew.
        """
        with self._lock:
            closing = list(self._runtimes.values())
            self._runtimes.clear()
        failures: list[tuple[str, Exception]] = []
        for runtime in reversed(closing):
            try:
                runtime.close()
            except CloseError as error:
                failures += [(f"{what} of {runtime.device}", failure) for what, failure in error.failures]
            except Exception as error:
                failures.append((f"runtime of {runtime.device}", error))
        if failures:
            raise CloseError(failures)

    def _after_fork(self) -> None:
        """In the child: locks that another thread of the parent held are nobody's, and its threads' choices are gone."""
        self._lock = threading.Lock()


_context = Context()


def get_context() -> Context:
    """The process's runtimes."""
    return _context


def _close_at_exit() -> None:
    # Nothing is taken from under threads that still run; the process's end takes it all.
    if any(thread is not threading.current_thread() for thread in threading.enumerate()):
        return
    try:
        _context.close()
    except CloseError as error:
        for what, failure in error.failures:
            print(f"infinicore: closing the {what} failed: {failure}", file=sys.stderr)


# Registered after infinirt's own, and so called before it, while its objects are usable.
atexit.register(_close_at_exit)
# For threads of the C++ half that have chosen none.
_core.set_default(lambda: get_runtime().place)
os.register_at_fork(after_in_child=lambda: _context._after_fork())


def get_runtime(device_: DeviceLike = None) -> Runtime:
    """The runtime of a device: the calling thread's, if it is of that device. Without a device, the calling thread's."""
    chosen = current.runtime
    if device_ is not None:
        wanted = device(device_)
        if chosen is not None and not chosen.is_closed and chosen.device == wanted:
            return chosen
        return _context.runtime(wanted)
    if chosen is None or chosen.is_closed:
        chosen = _context.runtime(infinirt.Device()).activate()
    return chosen


def set_device(device_: DeviceLike) -> None:
    """Makes the runtime of a device the calling thread's.

    >>> import infinicore
    >>> infinicore.set_device("cpu:0")
    >>> infinicore.get_device()
    device(type='cpu', index=0)
    """
    wanted = device(device_)
    chosen = current.runtime
    if (
        chosen is not None
        and chosen.device == wanted
        and not chosen.is_closed
        and chosen.is_graph_recording()
    ):
        chosen.activate()
        return
    if chosen is not None and chosen.is_graph_recording():
        raise RuntimeError(
            f"a graph is being recorded on {chosen.device}; stop or cancel that before another device is chosen"
        )
    _context.runtime(wanted).activate()


def get_device() -> device:
    """The calling thread's device."""
    return get_runtime().device


def get_device_count(device_type: str) -> int:
    """How many devices there are of a type: "cuda", "cpu", "nvidia".

    >>> import infinicore
    >>> infinicore.get_device_count("cpu") >= 1
    True
    """
    from .device import _MAKERS

    makers = _MAKERS.get(device_type, (device_type,))
    known = {info.name: info.count for info in infinirt.device_types()}
    if device_type not in _MAKERS and device_type not in known:
        names = ", ".join(sorted({*_MAKERS, *known}))
        raise ValueError(f"there is no device type {device_type!r}; there are {names}")
    return sum(known.get(maker, 0) for maker in makers)


def get_stream() -> infinirt.Stream:
    """The stream of the calling thread's runtime."""
    return get_runtime().stream


def get_infiniop_handle(device_: DeviceLike = None) -> int:
    """The operator library's handle of a device, by default the calling thread's."""
    return get_runtime(device_).infiniop_handle


def sync_stream() -> None:
    """Waits for the stream of the calling thread's runtime."""
    get_runtime().sync_stream()


def sync_device() -> None:
    """Waits for all work of the calling thread's device."""
    get_runtime().sync_device()


def synchronize(device: DeviceLike = None) -> None:
    """Waits for all work of a device, or of the calling thread's: PyTorch's name of sync_device().

    >>> import infinicore
    >>> infinicore.synchronize("cpu")
    """
    get_runtime(device).sync_device()


def trim_memory() -> None:
    """Gives cached memory of the calling thread's runtime that nothing uses back to the device."""
    get_runtime().trim_memory()


def allocate_memory(size: int) -> Memory:
    """Memory of the calling thread's device."""
    return get_runtime().allocate_memory(size)


def allocate_host_memory(size: int) -> Memory:
    """Memory of the CPU device; unlike in InfiniCore the thread's device stays what it is."""
    return _context.runtime("cpu").allocate_memory(size)


def allocate_pinned_host_memory(size: int) -> Memory:
    """Page-locked memory of the host for the calling thread's device."""
    return get_runtime().allocate_pinned_host_memory(size)


def is_graph_recording() -> bool:
    """Whether the calling thread records a graph on its device."""
    return get_runtime().is_graph_recording()


def start_graph_recording(
    device_: DeviceLike = None, *, remove_unused: bool = True, fuse: bool = True, share_memory: bool = True
) -> None:
    """Begins a graph of the calling thread, on a device if one is given, which becomes the thread's.

    What may be done to the graph before it runs is said at `infinicore.record()`.
    """
    if device_ is not None:
        set_device(device_)
    get_runtime().start_graph_recording(remove_unused=remove_unused, fuse=fuse, share_memory=share_memory)


def add_graph_operator(op: GraphOperator | Callable[[], object]) -> None:
    """Notes work for the graph that the calling thread records."""
    get_runtime().add_graph_operator(op)


def stop_graph_recording() -> Graph:
    """Ends recording, and makes the graph."""
    return get_runtime().stop_graph_recording()


def cancel_graph_recording() -> None:
    """Gives up the graph that the calling thread records, and its memory."""
    get_runtime().cancel_graph_recording()
