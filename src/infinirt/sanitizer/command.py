"""`infinirt sanitize script.py`: runs a program and says what its streams may do in the wrong order."""

from __future__ import annotations

import gc
import json
import runpy
import sys
import time
import traceback
from pathlib import Path
from types import TracebackType

from .. import Device
from .._arguments import not_writable
from .findings import Finding, counted
from .host_memory import ask_for_watching
from .observer import Sanitizer

_PATIENCE = 3.0  # seconds in which nothing more went
FOUND = 9  # the exit status when the program itself succeeded


def run(command: list[str], json_file: str, leaks: bool) -> int:
    script, *arguments = command
    problem = _why_not(script) or not_writable(json_file)
    if problem:
        print(f"infinirt sanitize: {problem}", file=sys.stderr)
        return 2
    ask_for_watching()
    sanitizer = Sanitizer(_say)
    status = _run_script(sanitizer, script, arguments)
    if leaks and status == 0:
        _let_go(sanitizer)
        sanitizer.end()
    sanitizer.stop()
    _summary(sanitizer)
    if status != 0:
        print(
            f"infinirt sanitize: the program itself failed (exit status {status}): only what it did before was looked at",
            file=sys.stderr,
        )
    if sanitizer.unwatched:
        print(
            f"infinirt sanitize: {sanitizer.unwatched}: what the program itself does with it was not looked at",
            file=sys.stderr,
        )
    if json_file:
        found = [finding.as_json() for finding in sanitizer.findings]
        Path(json_file).write_text(json.dumps({"findings": found, "problems": sanitizer.problems}, indent=1))
    return status or (FOUND if sanitizer.findings else 0)


def _why_not(script: str) -> str:
    """Why this cannot be run; nothing if it can."""
    if script == "-m":
        return (
            "a script was expected, not a module; tests are run by pytest -p infinirt.sanitizer.pytest_plugin"
        )
    if not Path(script).is_file():
        hint = "; leave the interpreter out" if Path(script).name.startswith("python") else ""
        return f"there is no file {script}; a Python script and its arguments were expected{hint}"
    if b"\0" in Path(script).read_bytes()[:4096]:
        return f"{script} is no Python script; programs in other languages cannot be looked at, only traced (infinirt trace)"
    return ""


def _run_script(sanitizer: Sanitizer, script: str, arguments: list[str]) -> int:
    before, path = sys.argv, sys.path[:]
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).resolve().parent))
    sanitizer.start()
    try:
        names = runpy.run_path(script, run_name="__main__")
        names.clear()  # what the program still holds it would let go of at its end
    except SystemExit as ended:
        if ended.code is None or ended.code == 0:
            return 0
        if isinstance(ended.code, int):
            return ended.code
        print(ended.code, file=sys.stderr)
        return 1
    except BaseException as error:
        traceback.print_exception(type(error), error, _from_script(script, error.__traceback__))
        return 1
    finally:
        sys.argv, sys.path[:] = before, path
        gc.collect()
    return 0


def _from_script(script: str, frames: TracebackType | None) -> TracebackType | None:
    """Without the frames that led to the program."""
    first = frames
    while first is not None and first.tb_frame.f_code.co_filename != script:
        first = first.tb_next
    return first or frames


def _let_go(sanitizer: Sanitizer) -> None:
    """What graphs and host functions held goes when those have run."""
    left, deadline = sanitizer.leaks, time.monotonic() + _PATIENCE
    while left and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
        Device(
            "cpu"
        ).create_stream().close()  # objects that the runtime's threads dropped go with the next call
        if (now := sanitizer.leaks) < left:
            left, deadline = now, time.monotonic() + _PATIENCE


def _say(finding: Finding) -> None:
    print(f"\n{finding.text()}", file=sys.stderr, flush=True)


def _summary(sanitizer: Sanitizer) -> None:
    print(f"\ninfinirt sanitize: {counted(sanitizer.findings) or 'nothing found'}", file=sys.stderr)
    for problem in dict.fromkeys(sanitizer.problems):
        print(f"infinirt sanitize: the checker itself failed: {problem}", file=sys.stderr)
