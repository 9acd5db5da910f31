"""Operators on the CPU device beside PyTorch's on as many threads, in one run: microseconds a call, and the ratio.

    python benchmarks/cpu_operators_bench.py                        # two threads each
    python benchmarks/cpu_operators_bench.py --threads 1 --filter softmax --json softmax.json

A call is what a program writes: the Python function of the operator and a wait for its stream on our side, PyTorch's function on the
other, into memory that is there (`out=`) where both sides can; where PyTorch has no such operator, the shortest composition of its calls.
Results are compared before anything is timed. Batches of calls take turns, ours and theirs, and the least over the rounds
counts, so that other work on the machine disturbs neither side alone. Rows in which ours took longer have as many rounds again, --again times,
whatever these show, at the end, when the machine may have less to do; the least of all rounds counts, of both sides. With several threads there is a pause between them, in which the
other side's threads go to sleep. `<` marks what is slower than PyTorch.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ["INFINIRT_DEVICE"] = "cpu"
# Read once, by the import below.
os.environ["INFINIRT_CPU_THREADS"] = (
    sys.argv[sys.argv.index("--threads") + 1] if "--threads" in sys.argv[:-1] else "2"
)
sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch
from cpu_operators.cases import Case, cases

import infinicore

# On a machine that others use, the processor's time of one thread says more than the clock on the wall.
clock = time.process_time if "--processor-time" in sys.argv else time.perf_counter


def avoid_unusable_instructions() -> None:
    """Some virtual machines name AMX among the processor's instructions and do not have it; PyTorch's products of bf16 then end the process."""
    probe = "import torch; a = torch.ones(64, 64, dtype=torch.bfloat16); torch.nn.functional.linear(a, a)"
    if (
        "ONEDNN_MAX_CPU_ISA" not in os.environ
        and subprocess.run([sys.executable, "-c", probe], check=False).returncode < 0
    ):
        os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_BF16"
        print("AMX is not usable here: PyTorch is kept from it by ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16")


def seconds_per_call(function: Callable[[], object], calls: int) -> float:
    started = clock()
    for _ in range(calls):
        function()
    return (clock() - started) / calls


def agree(case: Case) -> None:
    """Raises if the two sides do not compute the same thing."""
    ours, theirs = case.ours(), case.theirs()
    if case.result is not None:
        ours, theirs = case.result()
    if not isinstance(ours, infinicore.Tensor) or not isinstance(theirs, torch.Tensor):
        return
    infinicore.sync_stream()
    mine = torch.utils.dlpack.from_dlpack(ours).float()
    torch.testing.assert_close(
        mine, theirs.float().reshape(mine.shape), rtol=case.tolerance, atol=case.tolerance
    )


# OpenMP's threads, which PyTorch computes on, look for more work for several milliseconds before they sleep: meanwhile they keep a
# processor from the other side.
SETTLE = 0.015
# After that it takes a while until this side's threads, and on virtual machines the processors, wake as fast as they do in a program that computes.
AWAKE = 0.01
# The first calls after the other side's have their operands in memory, and how much of them is a matter of luck.
FEWEST = 4


def measure(case: Case, rounds: int, seconds: float, threads: int) -> tuple[float, float]:
    """The least time of a call of each side, over rounds in which both take turns."""
    stream = infinicore.get_runtime().stream

    def ours() -> None:
        case.ours()
        stream.sync()

    def theirs() -> None:  # a function around the call, as around ours
        case.theirs()

    for _ in range(3):  # descriptors are made, caches filled
        ours()
        theirs()
    once = max(seconds_per_call(ours, 3), seconds_per_call(theirs, 3))
    calls = max(FEWEST, min(2000, int(seconds / max(once, 1e-7))))
    least = [math.inf, math.inf]
    for round_ in range(rounds):
        for side in (0, 1) if round_ % 2 else (1, 0):
            call = (ours, theirs)[side]
            if threads > 1:
                time.sleep(SETTLE)
                seconds_per_call(call, max(1, int(AWAKE / max(once, 1e-7))))
            least[side] = min(least[side], seconds_per_call(call, calls))
    return least[0], least[1]


@dataclass
class Row:
    """Of the table: seconds a call."""

    case: Case
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    @property
    def is_slower(self) -> bool:
        return self.ratio < self.case.wanted

    def take_in(self, ours: float, theirs: float) -> None:
        self.ours, self.theirs = min(self.ours, ours), min(self.theirs, theirs)

    def __str__(self) -> str:
        case, mark = self.case, "<" if self.is_slower else " "
        times = f"{self.ours * 1e6:10.1f} {self.theirs * 1e6:10.1f} {self.ratio:6.2f}"
        return f"{case.name:28} {case.dtype:5} {case.size:26} {times} {mark}"

    def figures(self) -> dict[str, object]:
        return {
            "operator": self.case.name,
            "dtype": self.case.dtype,
            "size": self.case.size,
            "ours_us": self.ours * 1e6,
            "torch_us": self.theirs * 1e6,
            "ratio": self.ratio,
            "wanted": self.case.wanted,
        }


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--threads", type=int, default=2, help="of either side")
    arguments.add_argument(
        "--filter", default="", help="only operators whose 'name dtype size' has this in it"
    )
    arguments.add_argument("--rounds", type=int, default=40)
    arguments.add_argument("--batch", type=float, default=0.005, help="seconds of a batch of calls")
    arguments.add_argument("--processor-time", action="store_true", help="of the process; for --threads 1")
    arguments.add_argument(
        "--again", type=int, default=3, help="times that rows in which ours took longer are measured again"
    )
    arguments.add_argument("--json", type=Path, help="a file for the figures")
    given = arguments.parse_args()
    avoid_unusable_instructions()
    torch.set_num_threads(given.threads)
    torch.set_grad_enabled(False)

    print(
        f"PyTorch {torch.__version__}, {given.threads} threads; microseconds a call, least of {given.rounds} rounds"
    )
    print(f"{'operator':28} {'type':5} {'size':26} {'ours':>10} {'PyTorch':>10} {'ratio':>6}")
    rows: list[Row] = []
    for case in cases(given.filter):
        agree(case)
        rows.append(Row(case, *measure(case, given.rounds, given.batch, given.threads)))
        print(rows[-1], flush=True)
    slower = [row for row in rows if row.is_slower]
    if slower and given.again:
        print(f"geometric mean {geometric_mean([row.ratio for row in rows]):.2f} of {len(rows)}")
        print(f"\nthe {len(slower)} slower ones with {given.again} times as many rounds more")
    for row in slower:
        for _ in range(given.again):
            row.take_in(*measure(row.case, given.rounds, given.batch, given.threads))
        if given.again:
            print(row, flush=True)
    ratios = [row.ratio for row in rows]
    below = sum(row.is_slower for row in rows)
    print(f"geometric mean {geometric_mean(ratios):.2f} of {len(rows)}; {below} slower than PyTorch")
    if given.json:
        given.json.write_text(
            json.dumps(
                {
                    "threads": given.threads,
                    "torch": torch.__version__,
                    "rows": [row.figures() for row in rows],
                },
                indent=1,
            )
        )


if __name__ == "__main__":
    main()
