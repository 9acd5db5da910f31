"""`infinirt sanitize script.py`: runs a program and says what its streams may do in the wrong order."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from pathlib import Path

from .. import Device, InfiniRTError
from .._arguments import not_writable
from .findings import Finding, counted
from .host_memory import ask_for_watching
from .observer import Sanitizer
from .program import end_script, forget_names, other_threads, run_script

_PATIENCE = 3.0  # seconds in which nothing more went
FOUND = 9  # the exit status when the program itself succeeded
FAILED = 10  # nothing was found, but the checker may have missed something


def run(command: list[str], json_file: str, leaks: bool) -> int:
    script, *arguments = command
    problem = _why_not(script) or not_writable(json_file)
    if problem:
        print(f"infinirt sanitize: {problem}", file=sys.stderr)
        return 2
    json_file = os.path.abspath(json_file) if json_file else ""  # the program may go elsewhere
    ask_for_watching()
    process = os.getpid()
    sanitizer = Sanitizer(_say)
    sanitizer.start()
    status = run_script(script, arguments)
    if os.getpid() != process:  # a child that the program has forked: it ends, and says nothing
        return status
    end_script()
    are_using = sanitizer.stop_threads(other_threads())
    forget_names()
    untold = _look_for_leaks(sanitizer, are_using) if leaks and status == 0 else ""
    sanitizer.stop()
    _summary(sanitizer)
    if untold:
        print(f"infinirt sanitize: {untold}: leaks were not looked for", file=sys.stderr)
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
    return status or (FOUND if sanitizer.findings else FAILED if sanitizer.problems else 0)


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


def _look_for_leaks(sanitizer: Sanitizer, are_using: bool) -> str:
    """Why it could not be done; nothing if it was. `are_using`: threads that use devices have not ended."""
    if failed := _let_go(sanitizer):
        return f"the device {failed} has failed, so that nothing could be freed"
    if are_using and sanitizer.leaks:
        return "daemon threads that use a device still ran, and what was left may be theirs"
    sanitizer.end()
    return ""


def _let_go(sanitizer: Sanitizer) -> str:
    """What graphs and host functions held goes when those have run. Returns a device that has failed: of that nothing goes any more."""
    left, deadline = sanitizer.leaks, time.monotonic() + _PATIENCE
    while left and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
        for (
            kind,
            number,
        ) in sanitizer.devices:  # objects that the runtime's threads dropped go with the next call
            try:
                Device(f"{kind}:{number}").create_stream().close()
            except InfiniRTError:
                return f"{kind}:{number}"
        if (now := sanitizer.leaks) < left:
            left, deadline = now, time.monotonic() + _PATIENCE
    return ""


def _say(finding: Finding) -> None:
    print(f"\n{finding.text()}", file=sys.stderr, flush=True)


def _summary(sanitizer: Sanitizer) -> None:
    print(f"\ninfinirt sanitize: {counted(sanitizer.findings) or 'nothing found'}", file=sys.stderr)
    for problem in dict.fromkeys(sanitizer.problems):
        print(f"infinirt sanitize: the checker itself failed: {problem}", file=sys.stderr)
