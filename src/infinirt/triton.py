"""Triton kernels on this runtime's streams and memory, without PyTorch.

    import infinirt, infinirt.triton as on_infinirt

    with on_infinirt.stream(stream):
        kernel[(blocks,)](on_infinirt.tensor(x, "float32"), on_infinirt.tensor(y, "float32"), n, BLOCK=1024)

Inside the block Triton launches on the stream: on an NVIDIA GPU compiled, through a driver that knows the current device and
stream of this runtime; on the CPU device by Triton's interpreter, for tests. Other threads and code outside the block keep what they had.
The autotuner times kernels with this runtime's events, and takes the first configuration where they are interpreted. What Triton's
testing helpers take from PyTorch is not there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from . import _core
from ._triton_launch import (
    Block,
    Launch,
    current_stream,
    installed,
    milliseconds,
    not_installed,
    raise_failure,
)
from .buffer import Buffer
from .stream import Stream

__all__ = ["Launch", "Tensor", "driver", "host_facts", "raise_failure", "stream", "tensor"]

_state = threading.local()
_lock = threading.Lock()
_driver: Any = None
_users = 0
_before: Any = None


class Tensor:
    """A buffer with an element type: what Triton wants to see of an argument."""

    __slots__ = ("_address", "buffer", "dtype")

    def __init__(self, buffer: Buffer, dtype: str, offset: int = 0) -> None:
        self.buffer = buffer
        self.dtype = dtype
        self._address = int(buffer.handle) + offset

    def data_ptr(self) -> int:
        return self._address

    def __repr__(self) -> str:
        return f"<Tensor of {self.dtype} at {self._address:#x}, {self.buffer!r}>"


def tensor(buffer: Buffer, dtype: object, *, offset: int = 0) -> Tensor:
    """The buffer as an argument of a Triton kernel: `dtype` is a name ("float32", "bfloat16", "int64", ...) or a NumPy type.

    The kernel's use of it is noted: the buffer is not freed before the work on the current stream is done.
    """
    if not isinstance(buffer, Buffer):
        raise TypeError(f"buffer must be an infinirt.Buffer, not {type(buffer).__name__}")
    size = buffer.size
    if not 0 <= offset <= size:
        raise ValueError(f"offset {offset} lies outside the buffer of {size} bytes")
    name = (
        dtype
        if isinstance(dtype, str)
        else getattr(dtype, "name", None) or getattr(dtype, "__name__", str(dtype))
    )
    current = current_stream()
    if current is not None:
        buffer.record_stream(current)
    return Tensor(buffer, str(name), offset)


def driver() -> Any:
    """The driver that is installed with `triton.runtime.driver.set_active`; stream() does it for a while."""
    global _driver
    if _driver is None:
        try:
            from triton.backends.nvidia import driver as nvidia
        except ModuleNotFoundError as error:
            raise not_installed() from error

        class InfiniRTDriver(nvidia.CudaDriver):  # type: ignore[misc]
            """Triton's own NVIDIA driver, with this runtime instead of PyTorch behind its questions."""

            def __init__(self) -> None:
                # Not the parent's: that one asks PyTorch.
                self.utils = nvidia.CudaUtils()
                self.launcher_cls = nvidia.CudaLauncher
                self.get_device_capability = _capability
                self.get_current_device = _current_ordinal
                self.set_current_device = _set_ordinal
                self.get_current_stream = _current_stream

            def get_benchmarker(self) -> Any:
                return milliseconds

            def get_device_interface(self) -> Any:
                raise NotImplementedError(
                    "triton.testing needs PyTorch; use infinirt's events to time kernels"
                )

            def get_empty_cache_for_benchmark(self) -> Any:
                return self.get_device_interface()

        _driver = InfiniRTDriver()
    return _driver


def stream(stream: Stream, around: Callable[[Launch], None] | None = None) -> AbstractContextManager[Stream]:
    """Triton launches of this thread go to `stream`, on its device, until the end of the block. Blocks may nest.

    `around` is given each launch in place of making it, for who has to do something before or after; calling the `Launch` makes it.

    On the CPU device a launch is a host function that interprets the kernel, in the order of the stream. What a kernel raises there is
    written to stderr at once, and raised by the next block on a stream of the same device.
    """
    if not isinstance(stream, Stream):
        raise TypeError(f"stream must be an infinirt.Stream, not {type(stream).__name__}")
    kind = stream.device.type
    if kind == "nvidia":
        return _GpuBlock(stream, around)
    if kind == "cpu":
        return Block(stream, around)
    raise ValueError(
        f"Triton kernels run on NVIDIA GPUs and, interpreted, on the CPU device; the stream is one of {stream.device}"
    )


class _GpuBlock(Block):
    __slots__ = ("_device",)
    only_runs = True

    def __enter__(self) -> Stream:
        self._device = _core.current_device()
        # In any case: of a new thread the device may be right, and the driver's context not there yet, which Triton needs.
        self.stream.device.set_current()
        _install()
        return super().__enter__()

    def __exit__(self, *what: object) -> None:
        super().__exit__(*what)
        _uninstall()
        if self._device != self.stream.device:
            self._device.set_current()


@contextmanager
def host_facts() -> Iterator[None]:
    """Inside the block this thread is told the figures of a common GPU where it asks Triton for the device's.

    For what generates Triton's text and chooses sizes by them, on a machine without a GPU.
    """
    installed()
    _install()
    before = getattr(_state, "facts", None)
    _state.facts = _HostFacts()
    try:
        yield
    finally:
        _state.facts = before
        _uninstall()


class _HostFacts:
    """The part of a driver that generators ask, with an A100's answers."""

    utils: Any

    def __init__(self) -> None:
        self.utils = self

    def get_current_device(self) -> int:
        return 0

    def get_device_properties(self, _ordinal: int) -> dict[str, int]:
        return {
            "max_shared_mem": 166_912,
            "max_num_regs": 65_536,
            "multiprocessor_count": 108,
            "warpSize": 32,
        }


def _install() -> None:
    global _users, _before
    from triton.runtime import driver as config

    with _lock:
        if _users == 0:
            _before = config._active
            config.set_active(_Switch(_before))
        _users += 1


def _uninstall() -> None:
    global _users, _before
    from triton.runtime import driver as config

    with _lock:
        _users -= 1
        if _users == 0:
            config._active = _before
            _before = None


class _Switch:
    """Ours for threads inside a block, what was active before for the others."""

    def __init__(self, before: Any) -> None:
        self._before = before

    def __getattr__(self, name: str) -> Any:
        facts = getattr(_state, "facts", None)
        if facts is not None:
            return getattr(facts, name)
        current = current_stream()
        if current is not None and current.device.type == "nvidia":
            return getattr(driver(), name)
        if self._before is None:
            from triton.runtime import driver as config

            self._before = config.default
        return getattr(self._before, name)


def _current_ordinal() -> int:
    return int(_core.current_device().ordinal)


def _set_ordinal(ordinal: int) -> None:
    from .device import Device

    Device(f"nvidia:{ordinal}").set_current()


def _current_stream(_ordinal: int) -> int:
    current = current_stream()
    return int(current.handle) if current is not None else 0


def _capability(ordinal: int) -> tuple[int, int]:
    from .device import Device

    return Device(f"nvidia:{ordinal}").compute_capability
