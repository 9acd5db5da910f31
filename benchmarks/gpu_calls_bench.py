"""Host cost per call on an NVIDIA GPU, beside plain C and beside every other Python route that is installed, in one run.

All routes work on the same stream, events, memory, kernel and graphs: the handles are the vendor's own. Each round times every
route of every row once; the table shows medians in nanoseconds. A batch is timed, then drained untimed. The functions and objects
of a statement are local variables. Needs a GPU and a C++ compiler (for the columns C and bare); without a GPU it says so and ends
well.

What a route takes more than C is some 50 ns of calls that take up to 80 us and drift by more than that. So C, bare and flat are
timed in further rounds, in random order, and their differences are medians over the rounds of each round's difference; in processes
of their own, since where the loader puts things is worth as much as what is looked for, and the median of those is shown.

Memory of up to 1 MiB comes out of pieces of 2 MiB that the driver maps: a pair of malloc and free costs 2 us while something else lives
in the piece, and 60 us when the piece is mapped for it and given back. The row of 1 MiB has company, as it has in programs that
hold any memory; the row of 2 MiB is mapped every time.

The column "bare" is a Python extension made for this table: a function for each call that takes no arguments, checks nothing,
keeps the interpreter's lock and returns None (an address, where memory is allocated). What it takes more than C is the
interpreter's own part, which no Python route can be without.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Callable

os.environ["INFINIRT_DEVICE"] = "nvidia"

from gpu_calls import own, rivals
from gpu_calls.objects import Objects, ok
from gpu_calls.rows import PAIRS, ROWS, Timer

from infinirt import runtime as rt

ROUNDS = int(os.environ.get("INFINIRT_BENCH_ROUNDS", "81"))
PROCESSES = int(os.environ.get("INFINIRT_BENCH_PROCESSES", "5"))  # for what flat and bare take more than C
MIB = 1 << 20

ROUTES: dict[str, tuple[Callable[[Objects], dict[str, Timer]], str | None]] = {
    "C": (own.c_route, None),
    "bare": (own.bare_route, None),
    "flat": (own.flat_route, None),
    "object": (own.object_route, None),
    "bindings": (rivals.bindings_route, "cuda.bindings"),
    "core": (rivals.core_route, "cuda.core"),
    "cupy.rt": (rivals.cupy_runtime_route, "cupy"),
    "cupy": (rivals.cupy_route, "cupy"),
    "torch": (rivals.torch_route, "torch"),
    "ctypes": (rivals.ctypes_route, None),
}


def is_installed(module: str | None) -> bool:
    with contextlib.suppress(ModuleNotFoundError):
        return module is None or importlib.util.find_spec(module) is not None
    return False


def calls_per_batch(row: str) -> int:
    return 20 if "100" in row or "malloc" in row else 50 if "graph" in row else 256


def closer_rounds(row: str) -> int:
    return ROUNDS * (12 if row == "malloc+free" else 4)


def is_mapped_each_time(flat: dict[str, Timer]) -> bool:
    """Whether a pair of malloc and free of 1 MiB maps memory, as one of 2 MiB does."""
    one, mapped = (
        statistics.median(flat[row](5) for _ in range(9)) for row in ("malloc+free", "malloc+free 2M")
    )
    return one > mapped / 4


def give_malloc_company(flat: dict[str, Timer]) -> None:
    """Allocates until it does not; what the routes hold may have filled pieces up."""
    for _ in range(8):
        if is_mapped_each_time(flat):
            ok(rt.infinirtMalloc(MIB - 65536))


def median_difference(one: list[float], other: list[float]) -> float:
    pairs = zip(one, other, strict=True)
    return statistics.median(a - b for a, b in pairs) if one and other else float("nan")


Differences = dict[str, dict[str, float]]  # by row, of "bare" and "flat"


def differences_here(o: Objects) -> Differences:
    """What bare and flat take more than C in this process: medians over many rounds of each round's difference."""
    routes = {name: ROUTES[name][0](o) for name in ("C", "bare", "flat")}
    give_malloc_company(routes["flat"])
    found: Differences = {}
    for row in ROWS:
        names = [name for name in routes if row in routes[name]]
        taken: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(closer_rounds(row)):
            random.shuffle(names)
            for name in names:
                taken[name].append(routes[name][row](calls_per_batch(row)))
                ok(rt.infinirtDeviceSynchronize())
        found[row] = {
            name: median_difference(taken[name], taken["C"])
            for name in ("bare", "flat")
            if {name, "C"} <= taken.keys()
        }
    if is_mapped_each_time(routes["flat"]):
        found["malloc+free"] = {}  # the company is gone: it is not what the row says
    return found


def differences_elsewhere() -> Differences:
    """The same in a process of its own: where code and memory lie differs, and with them what evicts what from the caches."""
    done = subprocess.run(
        [sys.executable, __file__, "--differences"], capture_output=True, text=True, check=True
    )
    found: Differences = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    error, *_ = rt.infinirtXSetDeviceType("nvidia")
    if int(error) != 0:
        print(rt.infinirtXGetLastErrorMessage()[1])
        return 0
    o = Objects()
    if "--differences" in sys.argv:
        print(json.dumps(differences_here(o)))
        return 0
    routes = {name: make(o) for name, (make, module) in ROUTES.items() if is_installed(module)}
    give_malloc_company(routes["flat"])
    samples: dict[tuple[str, str], list[float]] = {}
    for each_round in range(ROUNDS):
        # Whoever comes first after another row would always pay for what that row left behind.
        first = each_round % len(routes)
        in_turn = [*routes.items()][first:] + [*routes.items()][:first]
        for row in ROWS:
            for name, route in in_turn:
                if row in route:
                    o.device.set_current()
                    samples.setdefault((row, name), []).append(route[row](calls_per_batch(row)))
                    ok(rt.infinirtDeviceSynchronize())
    closer = [differences_elsewhere() for _ in range(PROCESSES)] if routes["C"] else []
    print(
        f"{'ns per call':16}"
        + "".join(f"{name:>10}" for name in routes)
        + f"{'flat-C':>9}{'of processes':>15}{'bare-C':>8}{'obj-C':>8}{'ours/best':>11}"
    )
    for row in ROWS:
        medians = {name: statistics.median(samples[row, name]) for name in routes if (row, name) in samples}
        cells = "".join(f"{medians[name]:10.0f}" if name in medians else f"{'':>10}" for name in routes)
        ours = ("C", "bare", "flat", "object")
        c, flat, object_ = (medians.get(name, float("nan")) for name in ("C", "flat", "object"))
        more = {
            name: sorted(each[row][name] for each in closer if name in each[row]) for name in ("bare", "flat")
        }
        bare_more, flat_more = (
            statistics.median(more[name]) if more[name] else float("nan") for name in ("bare", "flat")
        )
        spread = f"{more['flat'][0]:.0f} to {more['flat'][-1]:.0f}" if more["flat"] else ""
        rivals = [value for name, value in medians.items() if name not in ours]
        ratio = min(flat, object_) / min(rivals) if rivals else float("nan")
        budget = 120 if row in PAIRS else 60
        mark = "!" if flat_more > budget else " "
        over = f"{flat_more:8.0f}{mark}{spread:>15}{bare_more:8.0f}{object_ - c:8.0f}".replace("nan", "   ")
        print(f"{row:16}{cells}{over}{ratio:11.2f}")
    print(
        f"flat-C, bare-C: medians of {len(closer)} processes. '!': more than 60 ns over C (120 for pairs). ours/best: the better of ours"
        " against the best other Python route. bare: no route, but the interpreter's own part."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
