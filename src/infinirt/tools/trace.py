"""`infinirt trace script.py`: runs a program, and shows where the time of its calls and streams went."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from infinirt._arguments import not_writable
from infinirt.tools.launch import words_of
from infinirt.tracing import convert, scratch_folder
from infinirt.tracing.records import readable_bytes
from infinirt.tracing.summary import Line, Summary

_SHOWN = 15  # lines of a table


def run(command: list[str], output: str, stacks: bool, as_json: bool, raw: str) -> int:
    """Runs the program with its own input and output, but that JSON has the output to itself; the exit status is the program's."""
    folder = Path(raw) if raw else Path(scratch_folder())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        told = {"INFINIRT_TRACE": str(folder.resolve()), **({"INFINIRT_STACKS": "1"} if stacks else {})}
        words = words_of(command)
        missing = words is not command and not Path(command[0]).is_file()
        problem = f"there is no file {command[0]}" if missing else not_writable(output)
        if problem:
            print(f"infinirt trace: {problem}", file=sys.stderr)
            return 2
        try:
            status = subprocess.call(
                words, env={**os.environ, **told}, stdout=sys.stderr if as_json else None
            )
        except OSError as error:
            print(f"infinirt trace: {words[0]}: {error.strerror}", file=sys.stderr)
            return 127
        if status < 0:
            status = 128 - status
        shown = show(folder, output, as_json, status, where=f" in {raw}" if raw else "")
        return status or shown
    finally:
        if not raw:
            shutil.rmtree(folder, ignore_errors=True)


def show(folder: Path, output: str, as_json: bool, status: int = 0, where: str = "") -> int:
    """Makes the file and prints the summary. `status` is what the program ended with, `where` what a message calls the folder."""
    try:
        processes, summary = convert(folder, output or None)
    except (OSError, ValueError) as error:
        print(f"infinirt trace: {error}", file=sys.stderr)
        return 1
    if not processes:
        why = (
            f"the program failed (exit status {status}) before it called the runtime"
            if status
            else "the program did not load the runtime's library"
        )
        print(f"infinirt trace: nothing was recorded{where}: {why}", file=sys.stderr)
        return 1
    if as_json:
        print(json.dumps({"file": output, "processes": len(processes), **summary.to_json()}))
    else:
        _print(summary, output)
    return 0


def _time(nanoseconds: float) -> str:
    for limit, scale, unit in ((1e3, 1, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if nanoseconds < limit:
            return f"{nanoseconds / scale:.3g} {unit}"
    return f"{nanoseconds / 1e9:.4g} s"


def _print(summary: Summary, output: str) -> None:
    # Beside what the program itself prints, and whole where it is piped.
    console = Console(stderr=True, width=None if sys.stderr.isatty() else 120)
    if summary.operations:
        console.print(
            _lines("Work by operation", summary.operations, sum(o.total for o in summary.operations))
        )
    if summary.ranges:
        console.print(_lines("Ranges", summary.ranges, summary.duration))
    if summary.calls:
        console.print(_lines("Calls", summary.calls, sum(c.total for c in summary.calls)))
    if summary.streams:
        table = Table(title="Streams", title_justify="left")
        for head in ("device", "stream", "work", "busy", "utilisation", "waits", "largest gap", "before"):
            table.add_column(head, justify="left" if head in ("device", "stream", "before") else "right")
        for line in summary.streams[:_SHOWN]:
            table.add_row(
                line.device,
                line.stream,
                str(line.count),
                _time(line.busy),
                f"{line.utilisation:.1%}",
                _time(line.waited),
                _time(line.largest_gap),
                line.gap_before,
            )
        console.print(table)
    overlap = summary.overlapped / summary.busy if summary.busy else 0.0
    console.print(
        f"{_time(summary.duration)} in all; streams busy {_time(summary.busy)}, of it {overlap:.1%} two or more at once; "
        f"{_time(summary.synchronising)} in calls that wait for devices"
    )
    for place, peak in sorted(summary.peak_memory.items()):
        console.print(f"most memory in use on {place}: {readable_bytes(peak)}")
    if summary.lost:
        console.print(
            f"{summary.lost} records were lost: raise INFINIRT_TRACE_LIMIT, or make room on the disk"
        )
    if output:
        console.print(f"{output}: open it in https://ui.perfetto.dev or chrome://tracing")


def _lines(title: str, lines: list[Line], whole: int) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("name", overflow="fold")
    for head in ("count", "total", "share", "mean", "longest", "failed"):
        table.add_column(head, justify="right")
    for line in lines[:_SHOWN]:
        share = line.total / whole if whole else 0.0
        table.add_row(
            line.name,
            str(line.count),
            _time(line.total),
            f"{share:.1%}",
            _time(line.total / line.count),
            _time(line.longest),
            str(line.failed) if line.failed else "",
        )
    if len(lines) > _SHOWN:
        table.add_row(f"... and {len(lines) - _SHOWN} more")
    return table
