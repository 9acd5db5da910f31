"""The program of the picture of memory: layers that come and go on two streams, of which some stay. Writes the page named."""

from __future__ import annotations

import random
import sys

import infinicore
import infinirt
from infinicore.memory import record_history, save_html

device = infinirt.Device("cpu")
allocator = infinicore.PinnableBlockAllocator("cpu")
record_history(source=allocator)
streams = [device.create_stream(), device.create_stream()]
sizes = [96 << 10, 700 << 10, 1 << 20, 2 << 20, 5 << 20]
chosen = random.Random(3)
kept = [
    allocator.allocate(size, stream=streams[0]) for size in (3 << 20, 1 << 20, 512 << 10, 4096, 300 << 10)
]
for step in range(12):
    stream = chosen.choice(streams)
    layer = [allocator.allocate(chosen.choice(sizes), stream=stream) for _ in range(6)]
    if step % 3 == 0:
        kept.append(layer.pop())
    layer.clear()
save_html(sys.argv[1], allocator)
