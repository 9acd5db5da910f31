"""What one operator call costs to issue from Python, beside PyTorch's on the CPU, and what replaying a recorded graph saves.

Each round times every candidate once, in turns; the table shows medians over the rounds, and ratios of those. PyTorch's calls compute
before they return, ours enqueue: the stream is waited for between rounds, not within them. Without PyTorch its column is empty.

    python benchmarks/tensor_bench.py
"""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable

import infinicore
from infinicore.nn import functional

try:
    import torch
except ImportError:
    torch = None

ROUNDS, CALLS, STEPS = 21, 2000, 200
Candidates = dict[str, tuple[Callable[[], object], Callable[[], object] | None]]


def candidates() -> Candidates:
    x, y, out = (infinicore.ones([4], device="cpu") for _ in range(3))
    if torch is None:
        a = b = c = None
    else:
        torch.set_num_threads(1)
        a, b, c = (torch.ones(4) for _ in range(3))
    pairs: Candidates = {
        "add(x, y)": (lambda: infinicore.add(x, y), lambda: torch.add(a, b)),
        "add(x, y, out=z)": (lambda: infinicore.add(x, y, out=out), lambda: torch.add(a, b, out=c)),
        "silu(x)": (lambda: functional.silu(x), lambda: torch.nn.functional.silu(a)),
        "x + y": (lambda: x + y, lambda: a + b),
        "x * 2.0": (lambda: x * 2.0, lambda: a * 2.0),
        "x + 2.0": (lambda: x + 2.0, lambda: a + 2.0),
        "x[1:3]": (lambda: x[1:3], lambda: a[1:3]),
        "empty([4])": (lambda: infinicore.empty([4], device="cpu"), lambda: torch.empty([4])),
    }
    return {name: (ours, None if torch is None else theirs) for name, (ours, theirs) in pairs.items()}


def time_calls() -> None:
    all_of_them = candidates()
    place = infinicore.empty([0], device="cpu")._place
    times: dict[tuple[str, int], list[float]] = {}
    for _ in range(ROUNDS):
        for name, pair in all_of_them.items():
            for side, call in enumerate(pair):
                if call is not None:
                    times.setdefault((name, side), []).append(timeit.timeit(call, number=CALLS) / CALLS * 1e9)
                place.sync()
    print(f"{'call, 4 elements':20} {'infinicore':>12} {'PyTorch':>12} {'ratio':>8}")
    for name in all_of_them:
        ours = statistics.median(times[name, 0])
        if torch is None:
            print(f"{name:20} {ours:9.0f} ns")
            continue
        theirs = statistics.median(times[name, 1])
        print(f"{name:20} {ours:9.0f} ns {theirs:9.0f} ns {ours / theirs:8.2f}")


def time_descriptors() -> None:
    """The same call with a shape that it had before, and with one that it never had."""
    x = infinicore.ones([ROUNDS * 500 + 1], device="cpu")
    out, place = infinicore.empty_like(x), x._place
    known, new = [], []
    for turn in range(ROUNDS):
        views = [(x[:n], out[:n]) for n in range(turn * 500 + 1, turn * 500 + 501)]
        for times in (new, known):
            begin = timeit.default_timer()
            for view, into in views:
                infinicore.add(view, view, out=into)
            times.append((timeit.default_timer() - begin) / len(views) * 1e9)
            place.sync()
    first, again = statistics.median(new), statistics.median(known)
    print(
        f"\nadd(x, y, out=z) of a new shape {first:.0f} ns, of a known one {again:.0f} ns: {first / again:.1f} x"
    )


def time_replay() -> None:
    x = infinicore.zeros([16], device="cpu")

    def program() -> infinicore.Tensor:
        y = x
        for step in range(STEPS):
            y = functional.relu(y) if step % 2 else infinicore.add(y, x)
        return y

    results, graphs = [], []
    for fuse in (False, True):
        with infinicore.record("cpu", fuse=fuse) as recorded:
            results.append(program())
        graphs.append(recorded.graph)
    place = x._place
    routes = {"one by one": program, "as a graph": graphs[0].run, "fused": graphs[1].run}
    issued: dict[str, list[float]] = {name: [] for name in routes}
    for _ in range(ROUNDS):
        for name, work in routes.items():
            issued[name].append(timeit.timeit(work, number=1) * 1e6)
            place.sync()
    times = {name: statistics.median(values) for name, values in issued.items()}
    print(f"\n{STEPS} operators on the CPU, us to issue")
    for name, value in times.items():
        print(f"{name:12} {value:8.1f} {times['one by one'] / value:6.1f} x")


def time_chains() -> None:
    """silu(a * 2 + b) * c on tensors that are larger than the caches: an operator at a time, and one pass."""
    a, b, c = (infinicore.ones([1 << 23], device="cpu") for _ in range(3))

    def program() -> infinicore.Tensor:
        return functional.silu(a * 2 + b) * c

    results, routes = [], {}
    for name, fuse in (("apart", False), ("fused", True)):
        with infinicore.record("cpu", fuse=fuse) as recorded:
            results.append(program())
        routes[name] = recorded.graph
    times: dict[str, list[float]] = {name: [] for name in routes}
    for _ in range(7):
        for name, graph in routes.items():
            begin = timeit.default_timer()
            graph.run()
            a._place.sync()
            times[name].append((timeit.default_timer() - begin) * 1e3)
    apart, fused = (statistics.median(times[name]) for name in ("apart", "fused"))
    print(
        f"\nsilu(a * 2 + b) * c, 8 Mi elements: {apart:.1f} ms apart, {fused:.1f} ms fused: {apart / fused:.1f} x"
    )


if __name__ == "__main__":
    time_calls()
    time_descriptors()
    time_replay()
    time_chains()
