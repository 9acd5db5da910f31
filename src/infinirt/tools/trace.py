"""`infinirt trace script.py`: runs a program, and shows where the time of its calls and streams went."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from rich.console import Console

from infinirt._arguments import not_writable
from infinirt.tools.launch import words_of
from infinirt.tracing import convert, scratch_folder
from infinirt.tracing.summary import Summary
from infinirt.tracing.text import PIPED, print_summary


def run(command: list[str], output: str, stacks: bool, as_json: bool, raw: str) -> int:
    """Runs the program with its own input and output, but that JSON has the output to itself; the exit status is the program's."""
    folder = Path(raw) if raw else Path(scratch_folder())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        told = {"INFINIRT_TRACE": str(folder.resolve()), **({"INFINIRT_STACKS": "1"} if stacks else {})}
        words = words_of(command)
        missing = command[0].endswith(".py") and not Path(command[0]).is_file()
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
    if all(each.is_empty for each in processes):
        why = (
            f"the program failed (exit status {status}) before it called the runtime"
            if status
            else "the program called nothing of the runtime"
            if processes
            else "the program did not load the runtime's library"
        )
        print(f"infinirt trace: nothing was recorded{where}: {why}", file=sys.stderr)
        return 1
    if as_json:
        print(json.dumps({"file": output, "processes": len(processes), **summary.to_json()}))
    else:
        _print(summary, output)
    return 0


def _print(summary: Summary, output: str) -> None:
    # Beside what the program itself prints, and whole where it is piped.
    console = Console(stderr=True, width=None if sys.stderr.isatty() else PIPED, markup=False, emoji=False)
    print_summary(summary, console)
    if output:
        console.print(f"{output}: open it in https://ui.perfetto.dev or chrome://tracing")
