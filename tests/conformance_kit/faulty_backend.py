"""A device type in Python with a fault in it, which KIT_FAULT names; without one it keeps the rules."""

from __future__ import annotations

import os
import threading

import infinirt

FAULT = os.environ.get("KIT_FAULT", "")


class Block:
    def __init__(self, start: int, size: int) -> None:
        self.start = start
        self.size = size


class Faulty(infinirt.Backend):
    """Two devices with 256 MiB each; first fit."""

    type = "faulty"
    capacity = 256 << 20

    def __init__(self) -> None:
        stores = [bytearray(self.capacity) for _ in range(1 if FAULT == "devices-alias" else 2)]
        self.memory = [stores[0], stores[-1]]
        self.used: list[list[Block]] = [[], []]
        self.lock = threading.Lock()

    def device_count(self) -> int:
        return 2

    def allocate(self, device: int, size: int) -> Block:
        with self.lock:
            start = 0
            for index, block in enumerate(self.used[device]):
                if block.start - start >= size:
                    self.used[device].insert(index, Block(start, size))
                    return self.used[device][index]
                start = block.start + block.size
            if self.capacity - start < size:
                raise MemoryError(f"{size} bytes asked for, {self.capacity - start} left in one piece")
            self.used[device].append(Block(start, size))
            return self.used[device][-1]

    def release(self, device: int, block: Block, size: int) -> None:
        if FAULT == "leak" and size > self.capacity // 4:
            return
        with self.lock:
            self.used[device].remove(block)

    def write(self, device: int, block: Block, offset: int, data: memoryview) -> None:
        start, size = block.start + offset, len(data)
        if FAULT == "odd-tail" and size % 2:
            size -= 1
        self.memory[device][start : start + size] = data[:size]

    def read(self, device: int, block: Block, offset: int, into: memoryview) -> None:
        start = block.start + offset
        into[:] = memoryview(self.memory[device])[start : start + len(into)]

    def copy(self, device: int, dst: Block, dst_offset: int, src: Block, src_offset: int, size: int) -> None:
        if FAULT == "copy-aligned":
            dst_offset -= dst_offset % 2
        memory = memoryview(self.memory[device])
        target, source = dst.start + dst_offset, src.start + src_offset
        memory[target : target + size] = memory[source : source + size]

    def fill(self, device: int, block: Block, offset: int, value: int, size: int) -> None:
        if FAULT == "set-signed":
            value = min(value, 127)
        if FAULT == "set-overruns":
            size = min((size + 3) // 4 * 4, block.size - offset)
        start = block.start + offset
        self.memory[device][start : start + size] = bytes([value]) * size

    def name(self, device: int) -> str:
        return f"faulty chip {device} ({FAULT or 'without a fault'})"

    def total_memory(self, device: int) -> int:
        return self.capacity
