"""A device type in Python that drives another runtime: OpenCL, through pyopencl.

    pip install pyopencl pocl-binary-distribution        # the second brings a CPU as an OpenCL device
    python examples/backends/opencl.py

Every OpenCL device becomes `opencl:0`, `opencl:1`, …, with streams, events, graphs and pools that OpenCL does not have.
"""

from __future__ import annotations

from typing import Any

import infinirt


class OpenCL(infinirt.Backend):
    """Blocks are `cl.Buffer` objects; a queue per device carries copies and fills out in order."""

    type = "opencl"

    def __init__(self) -> None:
        import pyopencl

        self.cl = pyopencl
        try:
            platforms = pyopencl.get_platforms()
        except pyopencl.LogicError:  # there is none at all
            platforms = []
        self.devices = [device for platform in platforms for device in platform.get_devices()]
        self.contexts = [pyopencl.Context([device]) for device in self.devices]
        self.queues = [pyopencl.CommandQueue(context) for context in self.contexts]

    def device_count(self) -> int:
        return len(self.devices)

    def allocate(self, device: int, size: int) -> Any:
        flags = self.cl.mem_flags.READ_WRITE
        try:
            block = self.cl.Buffer(self.contexts[device], flags, size)
            # OpenCL may put memory off until it is used; a device that has not got it should say so now.
            self.cl.enqueue_migrate_mem_objects(self.queues[device], [block]).wait()
        except (self.cl.MemoryError, self.cl.LogicError, self.cl.RuntimeError) as error:
            raise MemoryError(f"{size} bytes: {error}") from None
        return block

    def release(self, device: int, block: Any, size: int) -> None:
        block.release()

    def write(self, device: int, block: Any, offset: int, data: memoryview) -> None:
        self.cl.enqueue_copy(self.queues[device], block, data, dst_offset=offset, is_blocking=True)

    def read(self, device: int, block: Any, offset: int, into: memoryview) -> None:
        self.cl.enqueue_copy(self.queues[device], into, block, src_offset=offset, is_blocking=True)

    def copy(self, device: int, dst: Any, dst_offset: int, src: Any, src_offset: int, size: int) -> None:
        queue = self.queues[device]
        if dst is src and abs(dst_offset - src_offset) < size:  # OpenCL does not copy onto itself
            between = self.cl.Buffer(self.contexts[device], self.cl.mem_flags.READ_WRITE, size)
            self.cl.enqueue_copy(queue, between, src, src_offset=src_offset, byte_count=size)
            self.cl.enqueue_copy(queue, dst, between, dst_offset=dst_offset, byte_count=size)
            return
        self.cl.enqueue_copy(queue, dst, src, dst_offset=dst_offset, src_offset=src_offset, byte_count=size)

    def fill(self, device: int, block: Any, offset: int, value: int, size: int) -> None:
        self.cl.enqueue_fill(self.queues[device], block, bytes([value]), size, offset=offset)

    def synchronize(self, device: int) -> None:
        self.queues[device].finish()

    def name(self, device: int) -> str:
        return str(self.devices[device].name)

    def total_memory(self, device: int) -> int:
        return int(self.devices[device].global_mem_size)

    def multiprocessor_count(self, device: int) -> int:
        return int(self.devices[device].max_compute_units)


def main() -> None:
    try:
        OpenCL().register()
    except ImportError:
        print("pyopencl is not installed: pip install pyopencl pocl-binary-distribution")
        return
    if not any(info.count for info in infinirt.device_types() if info.name == "opencl"):
        print("pyopencl finds no device: pip install pocl-binary-distribution brings one")
        return
    device = infinirt.Device("opencl")
    stream, other = device.create_stream(), device.create_stream()
    source = device.allocate(1 << 20, stream=stream)
    source.fill(b"\1\2\3\4", stream=stream)
    other.wait(stream)
    target = source.copy_to(stream=other)
    result = bytearray(1 << 20)
    target.copy_to(result, stream=other)
    other.sync()
    assert result == b"\1\2\3\4" * (1 << 18)
    print(f"{device.name}: filled on one stream, copied on another that waited for it")


if __name__ == "__main__":
    main()
