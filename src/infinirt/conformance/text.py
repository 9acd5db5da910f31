"""The report for people at a terminal: progress while it runs, tables and failures at the end; plain lines when piped."""

from __future__ import annotations

import sys
from typing import Any

from .case import Case
from .document import RESULTS

STYLES = {
    "pass": "green",
    "emulated": "cyan",
    "unsupported": "yellow",
    "inapplicable": "dim",
    "fail": "bold red",
}


class Progress:
    """One line that is written over at a terminal; a line for each failure and each group elsewhere."""

    def __init__(self, total: int, quiet: bool = False) -> None:
        from rich.console import Console

        self.console = Console(stderr=True, highlight=False, emoji=False)
        self.total = total
        self.done = 0
        self.quiet = quiet
        self.group = ""
        self._line: Any = None
        if not quiet and self.console.is_terminal:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            self._line = Progress(
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.description}"),
                console=self.console,
                transient=True,
            )
            self._task = self._line.add_task("", total=total)
            self._line.start()

    def __call__(self, case: Case, result: dict[str, Any] | None) -> None:
        if self.quiet:
            return
        if result is None:
            if self._line is not None:
                self._line.update(self._task, description=case.id)
            elif case.group != self.group:
                self.group = case.group
                print(f"{self.done}/{self.total} {case.group} …", file=sys.stderr, flush=True)
            return
        self.done += 1
        if self._line is not None:
            self._line.advance(self._task)
        if result["result"] == "fail":
            self.console.print(f"[bold red]FAIL[/] {case.id}", soft_wrap=True)

    def close(self) -> None:
        if self._line is not None:
            self._line.stop()


def show(data: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False, emoji=False)
    backend = data["backend"]
    device = backend["devices"][data["device"]]
    console.print(
        f"\nInfiniRT {data['kit']['version']} conformance, level {data['level']}: "
        f"[bold]{escape(backend['type'])}[/] ({escape(backend['origin'])}), {escape(device['device'])}: "
        f"{escape(device['name'])}",
        soft_wrap=True,
    )
    for title, entries in (("level", data["summary"]["levels"]), ("group", data["summary"]["groups"])):
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column(title)
        for column in ("cases", *RESULTS):
            table.add_column(column, justify="right")
        for name, found in entries.items():
            table.add_row(name, str(found["cases"]), *(number(found[r], r) for r in RESULTS))
        if title == "group":
            found = data["summary"]["all"]
            table.add_row("all", str(found["cases"]), *(number(found[r], r) for r in RESULTS), style="bold")
        console.print()
        console.print(table)
    limits(console, data)
    measurements(console, data)
    failures(console, data)
    verdict(console, data)


def number(count: int, result: str) -> str:
    return f"[{STYLES[result]}]{count}[/]" if count else "·"


def limits(console: Any, data: dict[str, Any]) -> None:
    from rich.markup import escape

    reasons: dict[str, int] = {}
    for entry in data["cases"]:
        if entry["result"] in ("unsupported", "inapplicable"):
            key = f"{entry['result']}: {entry['reason']}"
            reasons[key] = reasons.get(key, 0) + 1
    if reasons:
        console.print()
        for reason, count in reasons.items():
            console.print(f"{count} {escape(reason)}", soft_wrap=True)


def measurements(console: Any, data: dict[str, Any]) -> None:
    from rich.table import Table

    rows = [m for entry in data["cases"] for m in entry.get("measurements", ())]
    if not rows:
        return
    table = Table(
        box=None,
        padding=(0, 2, 0, 0),
        header_style="bold",
        title="measured, not judged",
        title_justify="left",
    )
    table.add_column("what")
    table.add_column("value", justify="right")
    for row in rows:
        table.add_row(str(row["name"]), f"{row['value']:.3g} {row['unit']}")
    console.print()
    console.print(table)


def failures(console: Any, data: dict[str, Any]) -> None:
    from rich.markup import escape

    for entry in data["cases"]:
        if entry["result"] != "fail":
            continue
        console.print(f"\n[bold red]FAIL[/] [bold]{entry['id']}[/]", soft_wrap=True)
        for title, text in (
            ("what", entry["sentence"]),
            ("rule", entry["rule"]),
            ("expected", entry.get("expected", "")),
            ("seen", entry.get("seen", "")),
            ("where", entry.get("where", "")),
            ("functions", ", ".join(entry["functions"])),
        ):
            if text:
                console.print(f"  {title}: {escape(text)}", soft_wrap=True)
        if entry.get("stack"):
            console.print("  " + escape(entry["stack"].strip().replace("\n", "\n  ")), soft_wrap=True)
        console.print(f"  again: {escape(data['command'])} --case {entry['id']}", soft_wrap=True)


def verdict(console: Any, data: dict[str, Any]) -> None:
    found = data["summary"]["all"]
    for problem in data["problems"]:
        console.print(f"\n[bold red]FAIL[/] {problem}", soft_wrap=True)
    told = ", ".join(f"{found[result]} {result}" for result in RESULTS if found[result])
    console.print(f"\n{found['cases']} cases in {data['seconds']:.1f} s: {told}")
    whole = not data["selection"]["groups"] and not data["selection"]["cases"]
    if not data["conformant"]:
        console.print(
            "The device type does not keep the rules above. Each failure tells what was expected and seen; "
            "`again` runs that case alone. A function that the device type cannot offer has to be declared "
            "unsupported (docs/conformance.md).",
            soft_wrap=True,
        )
    elif whole:
        console.print(f"[green]conformant[/] at level {data['level']}")
    else:
        console.print("no failure among the cases selected")


def list_cases(cases: list[Case]) -> None:
    """`--list`: a line each, made for reading and for grep."""
    width = max(len(case.id) for case in cases)
    for case in cases:
        print(f"{case.id:{width}}  {case.level:8}  {case.sentence}")
    print(f"{len(cases)} cases", file=sys.stderr)
