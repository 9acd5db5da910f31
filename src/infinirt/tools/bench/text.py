"""Tables for people, readable when piped."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from . import document
from .case import OURS
from .compare import Comparison
from .document import by_case, place

COLUMNS = (("", 15), ("", 22), ("median", 13), ("10 to 90 %", 18), ("times", 6))
STYLE = {"slower": "red", "faster": "green", "same": ""}


def figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def show(data: dict[str, Any], console: Console) -> None:
    device = data["device"]
    console.print(
        f"[bold]{device['device']}[/]  {escape(device['name'])}  ·  infinirt {data['version']}",
        highlight=False,
    )
    for group in dict.fromkeys(result["group"] for result in data["results"]):
        results = [result for result in data["results"] if result["group"] == group]
        console.print(f"\n[bold]{group}[/]", highlight=False)
        for number, places in enumerate(by_case(results).values()):
            title = next(iter(next(iter(places.values())).values()))["title"]
            # Columns of one width, so that they stand below one another, and all of them on a terminal of 80.
            if number == 0:
                console.print(columns(with_head=True))
            table = columns(with_head=False)
            for contenders in places.values():
                add_rows(table, contenders)
            console.print(f"[cyan]{escape(title)}[/]", highlight=False)
            console.print(table)
    if document.busy(data):
        console.print(f"\n{document.busy(data)}", style="yellow", highlight=False)
    if data["skipped"]:
        console.print(
            f"\nleft out, as this device cannot do it or the time (--quick) and memory do not allow it: {'; '.join(data['skipped'])}",
            style="dim",
            highlight=False,
        )
    told = ", ".join(f"{name} {what}" for name, what in data["peers"].items())
    console.print(f"\npeers: {told}", style="dim", highlight=False)
    pace = data["pace"]
    console.print(
        f"Medians of {pace['rounds']} rounds in which contenders take turns; times: how many times as long as the first of ours "
        "it takes. Figures are of this machine and this moment.",
        style="dim",
    )


def columns(with_head: bool) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim", show_header=with_head)
    for name, width in COLUMNS:
        table.add_column(name, width=width, justify="right" if name else "left", no_wrap=True)
    return table


def add_rows(table: Table, contenders: dict[str, dict[str, Any]]) -> None:
    ours = next((result for name, result in contenders.items() if name.startswith(OURS)), None)
    for number, (name, result) in enumerate(contenders.items()):
        times = ""
        if ours is not None and result is not ours:
            share = result["value"] / ours["value"]
            longer = 1 / share if result["more_is_better"] else share
            times = f"{longer:.2f}" if longer < 100 else figure(longer)
        table.add_row(
            "" if number else f" {place(result)}",
            name,
            f"{figure(result['value'])} {result['unit']}",
            f"{figure(result['low'])} … {figure(result['high'])}",
            times,
        )


def show_comparison(found: Comparison, threshold: float, console: Console) -> None:
    if found.other_machine:
        console.print("The two runs are not alike:", style="yellow")
        for line in found.other_machine:
            console.print(f"  {line}", highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("", "", "earlier", "now", "times as long", ""):
        table.add_column(name, justify="right" if name else "left", overflow="fold", no_wrap=bool(name))
    for change in found.changes:
        if change.verdict != "same":
            style = STYLE[change.verdict]
            table.add_row(
                escape(change.title),
                escape(change.contender),
                f"{figure(change.old)} {change.unit}",
                f"{figure(change.new)} {change.unit}",
                f"{change.times:.2f}",
                f"[{style}]{change.verdict}[/]",
            )
    if table.row_count:
        console.print(table)
    if found.changes:
        console.print(
            f"{summary(found)} (within {threshold:.0%}, or within the spread of the rounds)", highlight=False
        )
    for what, names in (("not measured this time", found.gone), ("new", found.added)):
        if names:
            console.print(f"{what}: {escape('; '.join(names))}", style="dim", highlight=False)


def summary(found: Comparison) -> str:
    counts = {verdict: sum(change.verdict == verdict for change in found.changes) for verdict in STYLE}
    return f"{len(found.changes)} compared: {counts['slower']} slower, {counts['faster']} faster, {counts['same']} the same"
