"""The summary of a trace as tables: what `infinirt trace` and `print(trace.summary)` show."""

from __future__ import annotations

from io import StringIO

from rich.console import Console
from rich.table import Table

from .records import readable_bytes
from .summary import Line, Summary

_SHOWN = 15  # lines of a table
PIPED = 120  # columns where there is no terminal


def as_text(summary: Summary) -> str:
    """The tables as plain text, whatever it is printed to."""
    text = StringIO()
    console = Console(
        file=text,
        width=PIPED,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
        markup=False,
        emoji=False,
    )
    print_summary(summary, console)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def print_summary(summary: Summary, console: Console) -> None:
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


def _time(nanoseconds: float) -> str:
    for limit, scale, unit in ((1e3, 1, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if nanoseconds < limit:
            return f"{nanoseconds / scale:.3g} {unit}"
    return f"{nanoseconds / 1e9:.4g} s"
