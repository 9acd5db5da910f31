"""What a call costs from Python, beside the same call from C and beside an empty Python function, in one run.

Each round times every candidate once; the table shows medians over the rounds. INFINIRT_BENCH_DIR names the folder with the
executable of benchmarks/cpp/calls_bench.cpp (tools/bench.sh sets it); without it the C column is empty.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import timeit
from collections.abc import Callable

import infinirt
from infinirt import runtime as rt

ROUNDS, CALLS = 31, 5000

device = infinirt.Device("cpu:0")
device.set_current()
stream = device.create_stream(nonblocking=True)
event = device.create_event()
_, flat_stream = rt.infinirtStreamCreateWithFlags(1)
_, flat_event = rt.infinirtEventCreateWithFlags(2)


def flat_pool() -> None:
    _, pointer = rt.infinirtMallocAsync(1 << 20, flat_stream)
    rt.infinirtFreeAsync(pointer, flat_stream)


def object_pool() -> None:
    device.allocate(1 << 20, stream=stream).close()


CANDIDATES: dict[str, tuple[Callable[[], object] | None, Callable[[], object] | None]] = {
    "get_device": (rt.infinirtGetDevice, infinirt.current_device),
    "set_device": (lambda: rt.infinirtSetDevice(0), device.set_current),
    "stream_query": (lambda: rt.infinirtStreamQuery(flat_stream), stream.query),
    "stream_synchronize": (lambda: rt.infinirtStreamSynchronize(flat_stream), stream.sync),
    "event_record": (lambda: rt.infinirtEventRecord(flat_event, flat_stream), lambda: stream.record(event)),
    "event_query": (lambda: rt.infinirtEventQuery(flat_event), lambda: event.is_done),
    "stream_wait_event": (
        lambda: rt.infinirtStreamWaitEvent(flat_stream, flat_event, 0),
        lambda: stream.wait(event),
    ),
    "pool_allocate_free": (flat_pool, object_pool),
}


def nanoseconds(call: Callable[[], object]) -> float:
    return timeit.timeit(call, number=CALLS) / CALLS * 1e9


def c_times() -> dict[str, float]:
    program = shutil.which("calls_bench", path=os.environ.get("INFINIRT_BENCH_DIR", ""))
    if program is None:
        return {}
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split("\n")
    return {name: float(value) for name, value in (line.split() for line in lines if line)}


def main() -> None:
    samples: dict[tuple[str, int], list[float]] = {}
    in_c: dict[str, list[float]] = {}
    empty: list[float] = []
    wrapped: list[float] = []
    for round_number in range(ROUNDS):
        if round_number % 10 == 0:
            for name, value in c_times().items():
                in_c.setdefault(name, []).append(value)
        empty.append(nanoseconds(lambda: None))
        wrapped.append(nanoseconds(int))
        for name, calls in CANDIDATES.items():
            for which, call in enumerate(calls):
                if call is not None:
                    samples.setdefault((name, which), []).append(nanoseconds(call))
    overhead = statistics.median(empty)
    print(
        f"empty lambda {overhead:.0f} ns (part of every lambda row below), int() {statistics.median(wrapped):.0f} ns\n"
    )
    print(f"{'call':22}{'C':>8}{'flat':>9}{'- C':>8}{'object':>9}{'- C':>8}   (ns)")
    for name in CANDIDATES:
        below = statistics.median(in_c[name]) if name in in_c else float("nan")
        flat, object_ = (statistics.median(samples[name, which]) for which in (0, 1))
        print(f"{name:22}{below:8.0f}{flat:9.0f}{flat - below:8.0f}{object_:9.0f}{object_ - below:8.0f}")


if __name__ == "__main__":
    main()
