"""A device type in Python: a simulated chip with memory of its own, which it keeps in one piece and hands out from the front.

Run it: `python examples/backends/simulator.py`. To have it in every program, announce it in a package's pyproject.toml:

    [project.entry-points."infinirt.backends"]
    simulator = "my_package:Simulator"
"""

from __future__ import annotations

import threading

import infinirt


class Block:
    """A part of the chip's memory."""

    def __init__(self, start: int, size: int) -> None:
        self.start = start
        self.size = size


class Simulator(infinirt.Backend):
    """Two devices with 256 MiB each. Copies and fills are the chip's own; nothing is ever pending, so there is no synchronize."""

    type = "simulator"
    capacity = 256 << 20

    def __init__(self) -> None:
        self.memory = [bytearray(self.capacity) for _ in range(self.device_count())]
        self.used: list[list[Block]] = [[] for _ in self.memory]  # in order of their addresses
        self.lock = threading.Lock()  # methods are called on several threads

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
        with self.lock:
            self.used[device].remove(block)

    def write(self, device: int, block: Block, offset: int, data: memoryview) -> None:
        start = block.start + offset
        self.memory[device][start : start + len(data)] = data

    def read(self, device: int, block: Block, offset: int, into: memoryview) -> None:
        start = block.start + offset
        into[:] = memoryview(self.memory[device])[start : start + len(into)]

    def copy(self, device: int, dst: Block, dst_offset: int, src: Block, src_offset: int, size: int) -> None:
        memory = memoryview(self.memory[device])
        target, source = dst.start + dst_offset, src.start + src_offset
        memory[target : target + size] = memory[source : source + size]

    def fill(self, device: int, block: Block, offset: int, value: int, size: int) -> None:
        start = block.start + offset
        self.memory[device][start : start + size] = bytes([value]) * size

    def name(self, device: int) -> str:
        return f"simulated chip {device}"

    def total_memory(self, device: int) -> int:
        return self.capacity


def main() -> None:
    Simulator().register()
    device = infinirt.Device("simulator")
    stream = device.create_stream()
    buffer = device.allocate(1 << 20, stream=stream)
    with infinirt.capture(stream) as captured:
        buffer.fill(1, stream=stream)
        buffer[: 1 << 19].fill(2, stream=stream)
    captured.graph.instantiate().launch(stream)
    result = bytearray(1 << 20)
    buffer.copy_to(result, stream=stream)
    stream.sync()
    assert result == b"\2" * (1 << 19) + b"\1" * (1 << 19)
    print(f"{device.name}: a captured graph ran on {device.memory_info()[1] >> 20} MiB of simulated memory")


if __name__ == "__main__":
    main()
