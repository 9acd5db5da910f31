"""PyTorch's CUDA memory from this runtime's caching allocator.

>>> import infinirt.torch                      # doctest: +SKIP
>>> infinirt.torch.use_allocator()             # before PyTorch's first CUDA allocation
>>> torch.ones(1 << 20, device="cuda")
>>> infinirt.torch.memory_stats()

Streams are known by `tensor.record_stream`, CUDA graphs have memory of their own as long as they live, and
`torch.cuda.empty_cache()` and `torch.cuda.set_per_process_memory_fraction()` do what they always do. PyTorch's own counters
(`torch.cuda.memory_allocated()` and the like) belong to its own allocator; `memory_stats()` has ours.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from .caching import CacheStatistics

if TYPE_CHECKING:
    import torch

__all__ = ["allocator", "empty_cache", "memory_stats", "reset_peak_memory_stats", "use_allocator"]

# PyTorch's setters, and what they get.
_HOOKS = {
    "set_record_stream_fn": "infinirt_torch_record_stream",
    "set_base_alloc_fn": "infinirt_torch_base_allocation",
    "set_reset_fn": "infinirt_torch_empty_cache",
    "set_memory_fraction_fn": "infinirt_torch_set_memory_fraction",
    "set_begin_allocate_to_pool": "infinirt_torch_begin_pool",
    "set_end_allocate_to_pool_fn": "infinirt_torch_end_pool",
    "set_release_pool": "infinirt_torch_release_pool",
}

_made: list[torch.cuda.memory.CUDAPluggableAllocator] = []


def _path() -> Path:
    return Path(_core.__file__).parent / "lib" / "libinfinirt_torch.so"


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(_path()))
    library.infinirt_torch_cache.restype = ctypes.c_void_p
    library.infinirt_torch_cache.argtypes = [ctypes.c_int]
    return library


def allocator() -> torch.cuda.memory.CUDAPluggableAllocator:
    """This runtime as an allocator of PyTorch's, with all hooks set; one object per process.

    For `torch.cuda.memory.change_current_allocator`, which `use_allocator` calls, or as the source of a
    `torch.cuda.MemPool`.
    """
    if not _made:
        import torch

        plugged = torch.cuda.memory.CUDAPluggableAllocator(
            str(_path()), "infinirt_torch_allocate", "infinirt_torch_free"
        )
        library = _library()
        inner: Any = plugged.allocator()
        for setter, function in _HOOKS.items():
            address = ctypes.cast(getattr(library, function), ctypes.c_void_p).value
            getattr(inner, setter)(address)
        _made.append(plugged)
    return _made[0]


def use_allocator() -> None:
    """Makes all further CUDA memory of PyTorch come from this runtime. Before the first tensor on a GPU, or not at all."""
    import torch

    try:
        torch.cuda.memory.change_current_allocator(allocator())
    except RuntimeError as failed:
        raise RuntimeError(
            "PyTorch has allocated CUDA memory already, and cannot change its allocator any more; call "
            f"infinirt.torch.use_allocator() before the first tensor on a GPU ({failed})"
        ) from None


def _handle(device: torch.device | int | str | None) -> int:
    if device is None or isinstance(device, str):
        import torch

        chosen = torch.device("cuda" if device is None else device)
        index = torch.cuda.current_device() if chosen.index is None else chosen.index
    else:
        index = device if isinstance(device, int) else (device.index or 0)
    handle = _library().infinirt_torch_cache(index)
    if not handle:
        raise RuntimeError(f"there is no cache for CUDA device {index}: does it exist?")
    return int(handle)


def memory_stats(device: torch.device | int | str | None = None) -> CacheStatistics:
    """What PyTorch's memory on a GPU, by default the current one, amounts to."""
    return CacheStatistics(*_core.cache_stats(_handle(device)))


def reset_peak_memory_stats(device: torch.device | int | str | None = None) -> None:
    """Starts the high-water marks of `memory_stats` again."""
    _core.cache_reset_peaks(_handle(device))


def empty_cache() -> None:
    """Gives unused memory back to the GPUs, as `torch.cuda.empty_cache()` does."""
    _library().infinirt_torch_empty_cache()
