"""`infinirt sanitize script.py`: runs a program and says what its streams may do in the wrong order."""

from __future__ import annotations

import atexit
import builtins
import gc
import json
import sys
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from .. import Device, InfiniRTError
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
    is_over = leaks and status == 0 and _let_go(sanitizer)
    if is_over:
        sanitizer.end()
    sanitizer.stop()
    _summary(sanitizer)
    if leaks and status == 0 and not is_over:
        print(
            "infinirt sanitize: the device has failed, so that nothing could be freed: leaks were not looked for",
            file=sys.stderr,
        )
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
        _run_to_the_end(script)
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


def _run_to_the_end(script: str) -> None:
    """As the interpreter runs a script, its end included: what it has registered for that is called, and then its module's names are forgotten, whoever
    refers to the module."""
    main, register, unregister = sys.modules["__main__"], atexit.register, atexit.unregister
    module = ModuleType("__main__")
    module.__dict__.update(__file__=script, __builtins__=builtins, __cached__=None, __package__="")
    at_end: list[partial[Any]] = []

    def register_for_now(function: Callable[..., Any], *args: Any, **named: Any) -> Callable[..., Any]:
        at_end.append(partial(function, *args, **named))
        return function

    def unregister_for_now(function: Callable[..., object]) -> None:
        at_end[:] = [each for each in at_end if each.func != function]
        unregister(function)

    sys.modules["__main__"] = module
    vars(atexit).update(register=register_for_now, unregister=unregister_for_now)
    try:
        try:
            exec(compile(Path(script).read_bytes(), script, "exec"), module.__dict__)
        finally:
            for thread in threading.enumerate():
                if thread is not threading.current_thread() and not thread.daemon:
                    thread.join()
            while at_end:
                _call_at_end(at_end.pop())
    finally:
        vars(atexit).update(register=register, unregister=unregister)
        sys.modules["__main__"] = main
        for name in list(module.__dict__):
            if name != "__builtins__":
                module.__dict__[name] = None


def _call_at_end(function: Callable[[], object]) -> None:
    """What it raises is shown, and nothing more, as the interpreter does."""
    try:
        function()
    except SystemExit:
        pass
    except BaseException:
        traceback.print_exc()


def _from_script(script: str, frames: TracebackType | None) -> TracebackType | None:
    """Without the frames that led to the program."""
    first = frames
    while first is not None and first.tb_frame.f_code.co_filename != script:
        first = first.tb_next
    return first or frames


def _let_go(sanitizer: Sanitizer) -> bool:
    """What graphs and host functions held goes when those have run. False where the device has failed, and nothing goes any more."""
    left, deadline = sanitizer.leaks, time.monotonic() + _PATIENCE
    while left and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
        try:  # objects that the runtime's threads dropped go with the next call
            Device("cpu").create_stream().close()
        except InfiniRTError:
            return False
        if (now := sanitizer.leaks) < left:
            left, deadline = now, time.monotonic() + _PATIENCE
    return True


def _say(finding: Finding) -> None:
    print(f"\n{finding.text()}", file=sys.stderr, flush=True)


def _summary(sanitizer: Sanitizer) -> None:
    print(f"\ninfinirt sanitize: {counted(sanitizer.findings) or 'nothing found'}", file=sys.stderr)
    for problem in dict.fromkeys(sanitizer.problems):
        print(f"infinirt sanitize: the checker itself failed: {problem}", file=sys.stderr)
