"""Memory: how fast bytes are copied and set, by size and by number of streams; what an allocation costs, by size and by threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

import infinirt

from .case import OURS, Case, Contenders, Setting
from .measure import Contender

KIBI, MEBI = 1 << 10, 1 << 20
COPIED = (4 * KIBI, 64 * KIBI, MEBI, 16 * MEBI, 128 * MEBI)
ALLOCATED = (256, 64 * KIBI, MEBI, 64 * MEBI)
STREAMS = (1, 2, 4)
THREADS = (1, 2, 4)
PER_THREAD = 200  # allocations of a thread in one call
CACHE, POOL = f"{OURS} CachingPool", f"{OURS} MemoryPool"


def copied_and_waited(stream: infinirt.Stream, copy: Callable[[], object]) -> Callable[[], object]:
    def call() -> None:
        copy()
        stream.sync()

    return call


def fits(setting: Setting, size: int) -> bool:
    return size <= setting.largest


def copy_within(setting: Setting, size: int) -> Contenders | None:
    if not fits(setting, size):
        return None
    stream = setting.device.create_stream()
    source, target = (setting.device.allocate(size, stream=stream) for _ in range(2))
    for buffer in (source, target):
        buffer.fill(1, stream=stream)
    stream.sync()
    found = {OURS: Contender(copied_and_waited(stream, partial(target.copy_from, source, stream=stream)))}
    if setting.type.startswith("cpu"):
        first, second = np.ones(size, np.uint8), np.ones(size, np.uint8)
        found["NumPy"] = Contender(partial(np.copyto, second, first))
    torch = setting.torch()
    if torch is not None:
        theirs = [torch.ones(size, dtype=torch.uint8, device=setting.torch_device()) for _ in range(2)]
        found["PyTorch"] = Contender(torch_waited(torch, setting, partial(theirs[1].copy_, theirs[0])))
    cupy = setting.peers.get("CuPy")
    if cupy is not None:
        arrays = [cupy.ones(size, cupy.uint8) for _ in range(2)]
        found["CuPy"] = Contender(cupy_waited(cupy, partial(cupy.copyto, arrays[1], arrays[0])))
    return found


def torch_waited(torch: Any, setting: Setting, call: Callable[[], object]) -> Callable[[], object]:
    if setting.type != "nvidia":
        return call

    def waited() -> None:
        call()
        torch.cuda.synchronize()

    return waited


def cupy_waited(cupy: Any, call: Callable[[], object]) -> Callable[[], object]:
    def waited() -> None:
        call()
        cupy.cuda.get_current_stream().synchronize()

    return waited


def copy_from_host(setting: Setting, size: int) -> Contenders | None:
    """From page-locked memory."""
    if not fits(setting, size):
        return None
    stream = setting.device.create_stream()
    pinned = infinirt.PinnedPool(setting.device).allocate(size)
    np.asarray(pinned)[:] = 1
    target = setting.device.allocate(size, stream=stream)
    target.fill(1, stream=stream)
    stream.sync()
    found = {OURS: Contender(copied_and_waited(stream, partial(target.copy_from, pinned, stream=stream)))}
    torch = setting.torch()
    if torch is not None and setting.type == "nvidia":
        source = torch.ones(size, dtype=torch.uint8).pin_memory()
        theirs = torch.empty(size, dtype=torch.uint8, device=setting.torch_device())
        copy = partial(theirs.copy_, source, non_blocking=True)
        found["PyTorch"] = Contender(torch_waited(torch, setting, copy))
    return found


def fill(setting: Setting, size: int) -> Contenders | None:
    if not fits(setting, size):
        return None
    stream = setting.device.create_stream()
    target = setting.device.allocate(size, stream=stream)
    target.fill(1, stream=stream)
    stream.sync()
    found = {OURS: Contender(copied_and_waited(stream, partial(target.fill, 2, stream=stream)))}
    if setting.type.startswith("cpu"):
        found["NumPy"] = Contender(partial(np.ones(size, np.uint8).fill, 2))
    torch = setting.torch()
    if torch is not None:
        theirs = torch.ones(size, dtype=torch.uint8, device=setting.torch_device())
        found["PyTorch"] = Contender(torch_waited(torch, setting, partial(theirs.fill_, 2)))
    return found


def over_streams(setting: Setting, count: int) -> Contenders | None:
    """The same bytes, set by one stream or shared among several."""
    if not fits(setting, 64 * MEBI):
        return None
    size = 64 * MEBI // count
    streams = [setting.device.create_stream() for _ in range(count)]
    buffers = [setting.device.allocate(size, stream=stream) for stream in streams]
    for buffer, stream in zip(buffers, streams, strict=True):
        buffer.fill(1, stream=stream)

    def call() -> None:
        for buffer, stream in zip(buffers, streams, strict=True):
            buffer.fill(2, stream=stream)
        for stream in streams:
            stream.sync()

    call()
    return {OURS: Contender(call)}


def allocate(setting: Setting, size: int) -> Contenders | None:
    if not fits(setting, size):
        return None
    device = setting.device
    stream = device.create_stream()
    cache, pool = infinirt.CachingPool(device), infinirt.MemoryPool(device)

    def from_cache() -> None:
        cache.allocate(size, stream=stream).close(stream)

    def from_pool() -> None:
        pool.allocate(size, stream=stream).close(stream)

    found = {CACHE: Contender(from_cache, stream.sync, 5000), POOL: Contender(from_pool, stream.sync, 5000)}
    torch = setting.torch()
    if torch is not None:
        make = partial(torch.empty, size, dtype=torch.uint8, device=setting.torch_device())
        found["PyTorch"] = Contender(make)
    cupy = setting.peers.get("CuPy")
    if cupy is not None:
        found["CuPy"] = Contender(partial(cupy.cuda.alloc, size))
    if setting.type.startswith("cpu"):
        found["NumPy"] = Contender(partial(np.empty, size, np.uint8))
    return found


def allocate_on_threads(setting: Setting, count: int) -> Contenders:
    """Each thread on a stream of its own; the time is that of one allocation and free, as a thread sees it."""
    device = setting.device
    cache = infinirt.CachingPool(device)
    found = {CACHE: Contender(together(count, partial(one_thread, device, cache)))}
    torch = setting.torch()
    if torch is not None:
        make = partial(torch.empty, 64 * KIBI, dtype=torch.uint8, device=setting.torch_device())
        found["PyTorch"] = Contender(together(count, partial(calls_of, make)))
    return found


def one_thread(device: infinirt.Device, cache: infinirt.CachingPool) -> Callable[[], None]:
    stream = device.create_stream()

    def work() -> None:
        for _ in repeat(None, PER_THREAD):
            cache.allocate(64 * KIBI, stream=stream).close(stream)

    return work


def calls_of(make: Callable[[], object]) -> Callable[[], None]:
    def work() -> None:
        for _ in repeat(None, PER_THREAD):
            make()

    return work


def together(count: int, prepare: Callable[[], Callable[[], None]]) -> Callable[[], None]:
    """All threads at once, from a common start to the last one's end."""
    works = [prepare() for _ in range(count)]

    def call() -> None:
        threads = [threading.Thread(target=work) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return call


def by(
    prepare: Callable[[Setting, int], Contenders | None], at: int
) -> Callable[[Setting], Contenders | None]:
    def prepared(setting: Setting) -> Contenders | None:
        return prepare(setting, at)

    return prepared


CASES = (
    *(
        Case("memory.copy", "memory", "copy within the device", by(copy_within, n), n, "size", n)
        for n in COPIED
    ),
    *(
        Case("memory.upload", "memory", "copy from page-locked memory", by(copy_from_host, n), n, "size", n)
        for n in COPIED
    ),
    *(Case("memory.fill", "memory", "fill", by(fill, n), n, "size", n) for n in COPIED),
    *(
        Case(
            "memory.fill-streams",
            "memory",
            "fill 64 MiB, shared among streams",
            by(over_streams, n),
            64 * MEBI,
            "streams",
            n,
        )
        for n in STREAMS
    ),
    *(
        Case("allocator.one", "allocator", "allocate and free", by(allocate, n), 0, "size", n)
        for n in ALLOCATED
    ),
    *(
        Case(
            "allocator.threads",
            "allocator",
            f"{PER_THREAD} times 64 KiB allocated and freed by each thread",
            by(allocate_on_threads, n),
            0,
            "threads",
            n,
        )
        for n in THREADS
    ),
)
