"""`infinirt demo`: one program, run on every device found, that shows what the runtime does and says what it saw."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import infinirt

MEBI = 1 << 20
CHUNKS = 6
CHUNK_BYTES = 8 * MEBI

Step = tuple[str, str, bool]  # title, what was seen, whether it was right


def overlap(device: infinirt.Device) -> Step:
    """Work on one stream that can only finish if another stream runs meanwhile; then the times on one and on two streams."""
    copies, compute = device.create_stream(), device.create_stream()
    pinned = infinirt.PinnedPool(device).allocate(CHUNK_BYTES)
    target = device.allocate(CHUNK_BYTES, stream=copies)
    data = np.ones(CHUNK_BYTES // 8, np.float64)

    def work() -> None:  # NumPy lets the interpreter go while it computes
        np.sqrt(data, out=data)

    def issue(copy_stream: infinirt.Stream, work_stream: infinirt.Stream) -> float:
        begin = time.perf_counter()
        for _ in range(CHUNKS):
            target.copy_from(pinned, stream=copy_stream)
            work_stream.launch_host_func(work)
        copy_stream.sync()
        work_stream.sync()
        return (time.perf_counter() - begin) * 1e3

    copied = threading.Event()
    met: list[bool] = []
    compute.launch_host_func(
        lambda: met.append(copied.wait(timeout=5))
    )  # holds its stream until the copy below is done
    target.copy_from(pinned, stream=copies)
    copies.launch_host_func(copied.set)
    copies.sync()
    compute.sync()
    issue(copies, compute)  # warm up
    together = min(issue(copies, compute) for _ in range(3))
    one_by_one = min(issue(copies, copies) for _ in range(3))
    times = f"{CHUNKS} copies of 8 MiB and {CHUNKS} computations took {one_by_one:.1f} ms on one stream, {together:.1f} ms on two"
    if met != [True]:
        return (
            "two streams at once",
            f"the second stream did not run while the first was held; {times}",
            False,
        )
    return "two streams at once", f"a copy ran while the other stream was held; {times}", True


def events(device: infinirt.Device) -> Step:
    """Times a fill with events, and orders a second stream behind the first by one of them.

    It is the second fill that is timed: the first one waits for the system to find the pages, which says nothing of the device.
    """
    first, second = device.create_stream(), device.create_stream()
    buffer = device.allocate(64 * MEBI, stream=first)
    timed = infinirt.EventOptions(timing_enabled=True)
    start, end = device.create_event(timed), device.create_event(timed)
    buffer.fill(0, stream=first)
    first.record(start)
    buffer.fill(1, stream=first)
    first.record(end)
    second.wait(end)
    out = np.zeros(4, np.uint8)
    buffer[:4].copy_to(out, stream=second)
    second.sync()
    rate = buffer.size / ((end - start) * 1e-3) / 1e9
    right = bool((out == 1).all())
    return (
        "events order and time",
        f"the second fill of 64 MiB took {end - start:.2f} ms ({rate:.1f} GB/s); the other stream saw it",
        right,
    )


def pool(device: infinirt.Device) -> Step:
    """Allocates and frees in stream order: the same memory comes back without waiting."""
    stream = device.create_stream()
    addresses = set()
    begin = time.perf_counter()
    for _ in range(1000):
        buffer = device.allocate(MEBI, stream=stream)
        addresses.add(int(buffer.handle))
        buffer.close(stream)
    each = (time.perf_counter() - begin) * 1e6 / 1000
    stream.sync()
    seen = f"1000 times 1 MiB, {each:.2f} µs for each allocate and free, {len(addresses)} address(es) used"
    return "stream-ordered memory", seen, len(addresses) < 10


def graph(device: infinirt.Device) -> Step:
    """Captures a hundred operations once, replays them with one call."""
    stream = device.create_stream()
    buffer = device.allocate(100 * 256, stream=stream)
    out = np.zeros(100 * 256, np.uint8)

    def operations() -> None:
        for i in range(100):
            buffer[i * 256 : (i + 1) * 256].fill(i, stream=stream)

    with infinirt.capture(stream) as recording:
        operations()
    executable = recording.graph.instantiate()

    def microseconds(run: Callable[[], None]) -> float:
        best = 1e9
        for _ in range(5):
            begin = time.perf_counter()
            run()
            best = min(best, (time.perf_counter() - begin) * 1e6)
            stream.sync()
        return best

    one_by_one, replayed = microseconds(operations), microseconds(lambda: executable.launch(stream))
    buffer.copy_to(out, stream=stream)
    stream.sync()
    right = bool((out.reshape(100, 256) == np.arange(100, dtype=np.uint8)[:, None]).all())
    seen = f"100 operations: {one_by_one:.0f} µs to issue, {replayed:.1f} µs to launch as a graph"
    return "capture and replay", seen, right


def deliberate_error(device: infinirt.Device) -> Step:
    """Copies past the end of an allocation: an error with a message, and everything goes on."""
    stream = device.create_stream()
    small, large = device.allocate(1024, stream=stream), device.allocate(4096, stream=stream)
    try:
        infinirt.Buffer.from_handle(int(small.handle), 4096).copy_from(large, stream=stream)
    except infinirt.InfiniRTError as error:
        stream.sync()
        return "a deliberate error", str(error), True
    return "a deliberate error", "copying 4096 bytes into 1024 was not noticed", False


STEPS: tuple[Callable[[infinirt.Device], Step], ...] = (overlap, events, pool, graph, deliberate_error)


def run(only: str | None, as_json: bool) -> int:
    """Runs the steps on every device (or `only` one); 0 when all saw what they should."""
    try:
        devices = [infinirt.Device(only)] if only else list(infinirt.devices())
    except (infinirt.InfiniRTError, ValueError) as error:
        print(f"infinirt demo: {error}", file=sys.stderr)
        return 2
    report: list[dict[str, Any]] = []
    for device in devices:
        device.set_current()  # whatever INFINIRT_DEVICE says
        steps = [step(device) for step in STEPS]
        device.sync()
        report.append(
            {
                "device": str(device),
                "name": device.name,
                "steps": [{"step": title, "seen": seen, "ok": right} for title, seen, right in steps],
            }
        )
    good = all(step["ok"] for entry in report for step in entry["steps"])
    if as_json:
        print(json.dumps(report, indent=2, ensure_ascii=False))
    else:
        show(report)
    return 0 if good else 1


def show(report: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for entry in report:
        console.print(f"\n[bold]{entry['device']}[/]  {entry['name']}", highlight=False)
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for step in entry["steps"]:
            table.add_row("[green]ok[/]" if step["ok"] else "[red]WRONG[/]", step["step"], step["seen"])
        console.print(table)
    console.print("\nTimes are of this machine and this moment.", style="dim")
