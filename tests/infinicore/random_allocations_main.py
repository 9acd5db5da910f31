"""Random programs on one thread under the random schedule, seed after seed: first and last seed are the arguments."""

from __future__ import annotations

import random
import sys

from allocator_model import Program, Step

import infinicore
import infinirt
from infinirt import runtime as rt

KINDS = ["allocate"] * 5 + ["free"] * 5 + ["use"] * 2 + ["sync"] + ["trim"]
SIZES = (1, 500, 4_000, 30_000, 40_000, 300_000, 1 << 20, 3 << 20)


def run(seed: int) -> None:
    chance = random.Random(seed)
    device = infinirt.Device("cpu")
    program = Program(
        infinicore.PinnableBlockAllocator("cpu", limit=64 << 20), [device.create_stream() for _ in range(3)]
    )
    (error,) = rt.infinirtXSeedSchedule(seed)
    assert error == rt.infinirtError_t.infinirtSuccess
    for number in range(80):
        kind = chance.choice(KINDS)
        what = chance.choice(SIZES) + chance.randrange(1000) if kind == "allocate" else chance.randrange(1000)
        if kind == "allocate" and len(program.live) > 10:
            kind = "free"
        program.step(Step(kind, chance.randrange(3), what))
        if number % 16 == 0:
            program.check_statistics()
    program.finish()


for each in range(int(sys.argv[1]), int(sys.argv[2])):
    try:
        run(each)
    except BaseException:
        print(f"seed {each}")
        raise
print("all well")
