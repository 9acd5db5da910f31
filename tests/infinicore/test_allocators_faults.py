"""What InfiniCore's own allocator, and simple caches in general, get wrong: each case, and that ours gets it right."""

from __future__ import annotations

import sys
import threading
from textwrap import dedent

import pytest

import infinicore
import infinirt
from installed import output_of

KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture
def allocator() -> infinicore.PinnableBlockAllocator:
    return infinicore.PinnableBlockAllocator("cpu")


class ExactFitCache:
    """The simplest cache there is: a freed block serves a request of the very same size on the same stream."""

    def __init__(self, limit: int) -> None:
        self.limit, self.held = limit, 0
        self.free_blocks: dict[tuple[int, object], int] = {}

    def allocate(self, size: int, stream: object) -> tuple[int, object]:
        key = size, stream
        if self.free_blocks.get(key):
            self.free_blocks[key] -= 1
        elif self.held + size > self.limit:
            raise MemoryError(f"{size} bytes, {self.held} of {self.limit} held")
        else:
            self.held += size
        return key

    def free(self, block: tuple[int, object]) -> None:
        self.free_blocks[block] = self.free_blocks.get(block, 0) + 1


def test_the_block_that_fits_best_is_taken_not_the_first(
    allocator: infinicore.PinnableBlockAllocator,
) -> None:
    blocks = {}
    fences = []
    for size in (96, 40, 72):
        blocks[size] = allocator.allocate(size * MIB)
        fences.append(allocator.allocate(MIB))  # keeps neighbours apart
    addresses = {size: memory.data() for size, memory in blocks.items()}
    blocks.clear()
    held = allocator.statistics.reserved
    taken = {size: allocator.allocate(size * MIB) for size in (40, 72, 96)}
    assert {size: memory.data() for size, memory in taken.items()} == addresses
    assert allocator.statistics.reserved == held


def test_a_large_block_is_split_and_joined_again(allocator: infinicore.PinnableBlockAllocator) -> None:
    whole = allocator.allocate(64 * MIB)
    address, held = whole.data(), allocator.statistics.reserved
    del whole
    parts = [allocator.allocate(16 * MIB) for _ in range(4)]
    assert allocator.statistics.reserved == held
    assert sorted(part.data() for part in parts) == [address + n * 16 * MIB for n in range(4)]
    parts.clear()
    assert allocator.allocate(64 * MIB).data() == address
    assert allocator.statistics.reserved == held


def test_little_is_wasted_by_rounding(allocator: infinicore.PinnableBlockAllocator) -> None:
    """InfiniCore's rounds 33 KiB to 256 KiB, and 2.1 MiB to 4."""
    for size in (33 * KIB, 257 * KIB, 2 * MIB + 100 * KIB, 33 * MIB):
        before = allocator.statistics.used
        memory = allocator.allocate(size)
        assert allocator.statistics.used - before <= 1.25 * size
        del memory


def test_what_is_cached_in_the_wrong_sizes_is_used_before_memory_is_out() -> None:
    allocator = infinicore.PinnableBlockAllocator("cpu", limit=64 * MIB)
    small = [allocator.allocate(6 * MIB) for _ in range(10)]
    small.clear()
    assert allocator.allocate(60 * MIB).size() == 60 * MIB


def test_what_other_caches_hold_unused_is_used_before_memory_is_out() -> None:
    said = output_of(
        sys.executable,
        "-c",
        dedent("""
        import infinicore, infinirt
        infinirt.Device("cpu").set_memory_limit(100 << 20)
        first, second = (infinicore.PinnableBlockAllocator("cpu") for _ in range(2))
        first.allocate(64 << 20)
        assert first.statistics.reserved >= 64 << 20
        memory = second.allocate(80 << 20)
        print(first.statistics.reserved, memory.size() >> 20)
        kept = second.allocate(8 << 20)
        try:
            first.allocate(64 << 20)
        except MemoryError as error:
            print(error)
        # Afterwards everything works on.
        del memory
        print(first.allocate(64 << 20).size() >> 20, kept.size() >> 20)
        """),
    )
    assert said.startswith("0 80\n")
    assert said.endswith("64 8\n")
    assert "67108864 bytes were asked for; the cache of cpu:0 holds 0: 0 in use" in said
    assert "1 other cache of the process holds" in said
    assert "are free; no more could be had: free blocks of the other caches" in said


def test_memory_that_is_out_is_explained(allocator: infinicore.PinnableBlockAllocator) -> None:
    allocator.limit = 32 * MIB
    assert allocator.limit == 32 * MIB
    with allocator.pin() as reserve:
        pinned = allocator.allocate(4 * MIB)
    kept = [allocator.allocate(6 * MIB) for _ in range(4)]
    del kept[::2]
    with pytest.raises(infinirt.OutOfMemoryError) as caught:
        allocator.allocate(20 * MIB)
    said = str(caught.value)
    assert f"{20 * MIB} bytes were asked for" in said
    assert f"of at most {32 * MIB}" in said
    assert f"{16 * MIB} in use" in said
    assert f"{4 * MIB} set aside for graphs" in said
    assert "largest block" in said
    assert "of the device's" in said
    assert "free blocks, or raise the limit of the cache" in said
    with pytest.raises(infinirt.OutOfMemoryError, match="ask for less, or raise the limit"):
        allocator.allocate(33 * MIB)
    allocator.limit = 0
    assert allocator.allocate(33 * MIB).size() == 33 * MIB
    del pinned
    reserve.close()


def test_a_second_free_is_refused_and_does_no_harm(allocator: infinicore.PinnableBlockAllocator) -> None:
    pool = allocator.pool
    buffer = pool.allocate(5000)
    address = buffer.ptr
    with allocator.pin() as reserve:
        pinned = allocator.allocate(5000)
        kept = pinned.data()
    del pinned  # freed, and still the reserve's
    buffer.close()
    buffer.close()
    for wrong in (address, address + 256):
        with pytest.raises(infinirt.InvalidValueError, match=r"freed already|no block begins there"):
            pool.deallocate(wrong, 5000)
    taken = [allocator.allocate(5000) for _ in range(64)]
    addresses = [memory.data() for memory in taken]
    assert len(set(addresses)) == 64
    assert kept not in addresses
    taken.append(infinicore.Memory(reserve.allocate(5000), allocator.device))
    assert taken[-1].data() == kept
    reserve.close()


def test_pin_mode_is_of_a_thread(allocator: infinicore.PinnableBlockAllocator) -> None:
    found = []
    with allocator.pin() as reserve:
        assert allocator.is_pinning
        thread = threading.Thread(
            target=lambda: found.append((allocator.is_pinning, allocator.allocate(MIB)))
        )
        thread.start()
        thread.join()
        with pytest.raises(RuntimeError, match="already"):
            allocator.begin_pin()
    assert not found[0][0]
    (row,) = [row for row in allocator.pool.blocks() if row.address == found[0][1].data()]
    assert not row.is_reserved
    assert not allocator.is_pinning
    reserve.close()
    allocator.set_pin_mode(True)
    allocator.set_pin_mode(True)
    address = allocator.allocate(MIB).data()
    allocator.set_pin_mode(False)
    assert address not in [allocator.allocate(MIB).data() for _ in range(4)]

    class Mine(Exception):
        pass

    with pytest.raises(Mine), allocator.pin() as reserve:
        raise Mine
    assert reserve.is_closed
    assert not allocator.is_pinning


def test_big_small_big() -> None:
    """Batches that grow and shrink, with something small that stays: a cache by size holds every size it ever saw."""
    limit = 64 * MIB
    sizes = [(20 + step) * MIB for step in (0, 3, 6, 9, 6, 3, 0, 12)]
    naive = ExactFitCache(limit)

    def run_naive() -> None:
        for number, size in enumerate(sizes):
            naive.allocate(4096 + number, 0)
            naive.free(naive.allocate(size, 0))

    with pytest.raises(MemoryError):
        run_naive()
    allocator = infinicore.PinnableBlockAllocator("cpu", limit=limit)
    stay = []
    for number, size in enumerate(sizes):
        stay.append(allocator.allocate(4096 + number))
        allocator.allocate(size)
    assert allocator.statistics.out_of_memory == 0


def test_two_streams_share_what_one_alone_could_have() -> None:
    limit = 64 * MIB
    naive = ExactFitCache(limit)
    naive.free(naive.allocate(48 * MIB, "first"))
    with pytest.raises(MemoryError):
        naive.allocate(48 * MIB, "second")
    allocator = infinicore.PinnableBlockAllocator("cpu", limit=limit)
    device = allocator.pool.device
    first, second = device.create_stream(), device.create_stream()
    gate = threading.Event()
    for _ in range(4):
        gate.clear()
        first.launch_host_func(gate.wait, 30)  # the memory is in use when the other stream asks for it
        memory = allocator.allocate(48 * MIB, first)
        memory.buffer[:64].fill(1, stream=first)
        del memory
        threading.Timer(0.02, gate.set).start()
        memory = allocator.allocate(48 * MIB, second)
        memory.buffer[:64].fill(2, stream=second)
        del memory
    device.sync()
    assert allocator.statistics.out_of_memory == 0
