"""The rows of `gpu_calls_bench.py`, and how a statement in Python becomes a timer of one."""

from __future__ import annotations

import sys
import timeit
from collections.abc import Callable
from typing import Any

ROWS = (
    "get device",
    "set device",
    "stream query",
    "stream sync",
    "event record",
    "event query",
    "stream wait",
    "pool alloc+free",
    "cached alloc+free",
    "malloc+free",
    "malloc+free 2M",
    "copy 4 KiB",
    "set 4 KiB",
    "empty launch",
    "graph of 1",
    "graph of 100",
)
PAIRS = {"pool alloc+free", "cached alloc+free", "malloc+free", "malloc+free 2M"}

Timer = Callable[[int], float]  # nanoseconds of a call, of so many


def key_of(row: str) -> str:
    """A row's name where names are identifiers."""
    return row.replace(" ", "_").replace("+", "_")


def statements(names: dict[str, Any], **rows: str) -> dict[str, Timer]:
    """Timers of statements; a row that is missing or fails at once is left out."""
    route: dict[str, Timer] = {}
    for key, text in rows.items():
        row = next(r for r in ROWS if key_of(r) == key)
        used = [name for name in compile(text, key, "exec").co_names if name in names]
        setup = "; ".join(f"{name} = names[{name!r}]" for name in used) or "pass"
        timer = timeit.Timer(text, setup, globals={"names": names})
        try:
            timer.timeit(3)
        except Exception as error:  # noqa: BLE001: a route without this row is no failure of the benchmark
            print(f"  ({row}: {text}: {error})", file=sys.stderr)
            continue
        route[row] = lambda n, t=timer: t.timeit(n) / n * 1e9
    return route
