"""The command itself: chooses cases, runs them with progress, and writes what was asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

import infinirt
from infinirt._arguments import not_writable
from infinirt.conformance.child import load as bring_type
from infinirt.conformance.command import module_and_folder

from . import collective_cases, document, graph_cases, memory_cases, operator_cases, peers, runtime_cases
from .case import OURS, Case, Setting, choose
from .compare import Comparison, compare, is_ours, nothing_in_common
from .measure import Pace, Timing, take_turns
from .page import page
from .text import show, show_comparison

CASES: tuple[Case, ...] = (
    *runtime_cases.CASES,
    *memory_cases.CASES,
    *graph_cases.CASES,
    *operator_cases.CASES,
    *collective_cases.CASES,
)
GROUPS = tuple(dict.fromkeys(case.group for case in CASES))
IDS = tuple(dict.fromkeys(case.id for case in CASES))
QUICK = Pace(rounds=5, round_seconds=0.002)
OK, SLOWER, BAD_USE = 0, 1, 2
MOST = 10  # of a threshold, as a share: beyond that a percentage was meant
PIPED = 132  # columns of a table that nobody watches


class BadUse(ValueError):
    """Something on the command line that cannot be."""


def main(
    device: str,
    groups: tuple[str, ...],
    quick: bool,
    rounds: int,
    with_peers: bool,
    json: str,
    html: str,
    earlier: str,
    threshold: float,
    load: str,
    listing: bool,
    plugins: tuple[str, ...] = (),
    imports: tuple[str, ...] = (),
) -> int:
    """0: done; 1: something is slower than in the earlier run; 2: it could not be done as asked."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPED)
    try:
        if listing or not load:  # a file of another version may have others
            check_groups(groups)
        if listing:
            list_cases(groups, console)
            return OK
        if not 0 <= threshold < MOST:
            raise BadUse(f"--threshold is {threshold:g}; a share was expected: 0.15 is 15 %")
        for path in (json, html):
            check_writable(path)
        before = document.read(earlier) if earlier else None  # before anything takes time
        if before is not None and not load:
            check_comparable(before, choose(CASES, groups))
        if plugins or imports:
            bring(device, plugins, imports)
        if load:
            data = document.part_of(document.read(load), groups, load)
            if before is not None:  # what was not asked for is not missed either
                before = {**before, "results": document.among(before["results"], groups)}
        else:
            data = measure(device, groups, pace_of(quick, rounds), with_peers, quick)
    except (BadUse, document.BadFile, infinirt.InfiniRTError, ValueError) as error:
        print(f"infinirt bench: {error}", file=sys.stderr)
        return BAD_USE
    found: Comparison | None = compare(before, data, threshold) if before is not None else None
    show(data, console)
    if found is not None:
        console.print("\n[bold]against the earlier run[/]", highlight=False)
        show_comparison(found, found.threshold, console)
    if json:
        document.write(json, data)
    if html:
        Path(html).write_text(page(data, found), encoding="utf-8")
    if found is not None and found.nothing:
        print(f"infinirt bench: {found.nothing}", file=sys.stderr)
        return BAD_USE
    return SLOWER if found is not None and found.slower else OK


def bring(device: str, plugins: tuple[str, ...], imports: tuple[str, ...]) -> None:
    """Loads what brings the device type, as the conformance kit does."""
    if not device:
        raise BadUse("--plugin and --import bring a device type: name it with --device")
    try:
        modules = [module_and_folder(text) for text in imports]
        bring_type(
            {
                "backend": device.partition(":")[0],
                "plugins": list(plugins),
                "imports": [name for name, _ in modules],
                "paths": [folder for _, folder in modules if folder],
            }
        )
    except ImportError as error:
        raise BadUse(f"cannot import {', '.join(imports)}: {error}") from error


def check_groups(groups: tuple[str, ...]) -> None:
    unknown = sorted(set(groups) - {*GROUPS, *IDS})
    if unknown:
        raise BadUse(
            f"there is no group or case {', '.join(unknown)}; there are the groups {', '.join(GROUPS)}, "
            f"and the cases {', '.join(IDS)}"
        )


def check_comparable(before: dict[str, Any], cases: list[Case]) -> None:
    """Before an hour is spent on what the earlier run has nothing of."""
    old = [result for result in before["results"] if is_ours(result)]
    measured = {(result["id"], result["at"]) for result in old}
    if not any((case.id, case.at) in measured for case in cases):
        raise BadUse(nothing_in_common(old, [document.planned(case, OURS) for case in cases]))


def check_writable(path: str) -> None:
    """Before an hour is spent on what cannot be written."""
    problem = not_writable(path)
    if problem:
        raise BadUse(problem)


def pace_of(quick: bool, rounds: int) -> Pace:
    pace = QUICK if quick else Pace()
    return Pace(rounds, pace.round_seconds) if rounds else pace


def list_cases(groups: tuple[str, ...], console: Console) -> None:
    cases = choose(CASES, groups)
    for name, id, title in dict.fromkeys((case.group, case.id, case.title) for case in cases):
        at = [document.place({"axis": case.axis, "at": case.at}) for case in cases if case.id == id]
        console.print(f"{name:12} {id:24} {title}  {', '.join(filter(None, at))}", highlight=False)


def measure(
    device: str, groups: tuple[str, ...], pace: Pace, with_peers: bool, quick: bool
) -> dict[str, Any]:
    target = infinirt.Device(device) if device else infinirt.Device()
    target.set_current()
    cases = choose(CASES, groups)
    found = peers.find(target.type, with_peers)
    setting = Setting(target, found, largest(target, quick))
    data = document.head(target, found.told, pace)
    with progress(len(cases)) as step:
        for case in cases:
            step(name_of(case))
            try:
                contenders = case.prepare(setting)
                if contenders is None:
                    data["skipped"].append(name_of(case))
                    continue
                for name, timing in take_turns(contenders, pace).items():
                    data["results"].append(document.entry(case, name, timing))
                target.sync()
            except infinirt.InfiniRTError as error:
                # A device that cannot do one thing is measured in the others.
                data["skipped"].append(f"{name_of(case)} ({error})")
    with_mpi = target.type == "cpu" and found.get("mpi4py") is not None
    if with_mpi and any(case.id in collective_cases.BY_MPI for case in cases):
        add_mpi(data, cases, pace)
    return data


def add_mpi(data: dict[str, Any], cases: list[Case], pace: Pace) -> None:
    """mpi4py's ranks are processes of their own: they run after ours, not in turns."""
    wanted = [case for case in cases if case.id in collective_cases.BY_MPI]
    measured = {(result["id"], result["at"]) for result in data["results"]}
    sizes = sorted({case.at for case in wanted if (case.id, case.at) in measured})
    samples, problem = collective_cases.mpi_samples(sizes, pace)
    if problem:
        data["peers"]["mpi4py"] += f" ({problem})"
    for case in wanted:
        seconds = samples.get(f"{case.id.removeprefix('collective.')}/{case.at}")
        if seconds:
            data["results"].append(document.entry(case, "mpi4py, two processes", Timing(seconds)))


def name_of(case: Case) -> str:
    where = document.place({"axis": case.axis, "at": case.at})
    return f"{case.title}, {where}" if where else case.title


def largest(device: infinirt.Device, quick: bool) -> int:
    """Bytes of the largest buffer: cases use several of that size."""
    free, _ = device.memory_info()
    return min(int(free) // 8, (1 << 20) if quick else (1 << 30))


@contextmanager
def progress(total: int) -> Iterator[Any]:
    """A bar on a terminal, nothing elsewhere: what is piped should be the result."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=console, transient=True,
        disable=not console.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task("", total=total)
        done = -1

        def step(description: str) -> None:
            nonlocal done
            done += 1
            bar.update(task, completed=done, description=f"{description:60.60}")

        yield step
