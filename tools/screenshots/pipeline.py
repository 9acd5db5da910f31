"""The program of the picture of a trace: one stream brings batches, another works on them, each when it is there. Writes the trace named."""

from __future__ import annotations

import sys

import infinirt

BYTES = 4 << 20
device = infinirt.Device("cpu")
copies, work = device.create_stream(), device.create_stream()
pinned = infinirt.PinnedPool(device)
staging = [pinned.allocate(BYTES, stream=copies) for _ in range(2)]
batches = [device.allocate(BYTES, stream=copies) for _ in range(2)]
results = [device.allocate(BYTES, stream=work) for _ in range(2)]
worked_on: list[infinirt.Event | None] = [None, None]


def pipeline() -> None:
    for number in range(6):
        slot = number % 2
        event = worked_on[slot]
        if event is not None:
            copies.wait(event)
        batches[slot].copy_from(staging[slot], stream=copies)
        work.wait(copies.record())
        results[slot].copy_from(batches[slot], stream=work)
        results[slot].fill(number, stream=work)
        worked_on[slot] = work.record()
    device.sync()


pipeline()  # the memory's first touch takes longest
with infinirt.trace(sys.argv[1]), infinirt.range("pipeline"):
    pipeline()
