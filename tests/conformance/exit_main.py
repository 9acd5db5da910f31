"""Works on eight threads, Python host functions among the work, and leaves at a random moment. Used by test_process.py."""

from __future__ import annotations

import random
import sys
import threading
import time

from infinirt import runtime as rt

seed = int(sys.argv[1])
rng = random.Random(seed)
counter = [0]


def work(index: int) -> None:
    local = random.Random(seed * 100 + index)
    _, stream = rt.infinirtStreamCreateWithFlags(local.choice((0, 1)))
    _, event = rt.infinirtEventCreate()
    _, memory = rt.infinirtMalloc(1 << 16)
    while True:
        (_error,) = rt.infinirtMemsetAsync(memory, local.randrange(256), 1 << 16, stream)
        rt.infinirtLaunchHostFunc(stream, lambda _: counter.__setitem__(0, counter[0] + 1), 0)
        rt.infinirtEventRecord(event, stream)
        if local.random() < 0.3:
            rt.infinirtStreamSynchronize(stream)
        if local.random() < 0.1:
            rt.infinirtLaunchHostFunc(0, lambda _: time.sleep(0.0005), 0)
        if local.random() < 0.1:
            _, pooled = rt.infinirtMallocAsync(4096, stream)
            rt.infinirtFreeAsync(pooled, stream)


for i in range(8):
    threading.Thread(target=work, args=(i,), daemon=True).start()
time.sleep(rng.random() * 0.15)
if rng.random() < 0.3:
    raise SystemExit(0)
