"""Runs a script as the interpreter runs it, and ends it as the interpreter does.

The end is the interpreter's own, in its order: `threading._shutdown()`, then the functions registered with atexit, then the script's names. It is only asked for
earlier, so that there is still somebody to look at what is left and to choose the exit status.
"""

from __future__ import annotations

import atexit
import builtins
import gc
import os
import signal
import sys
import threading
import traceback
import weakref
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import FunctionType, ModuleType, TracebackType
from typing import Any

from .. import _core

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_INTERRUPTED = 130  # as shells have it


def run_script(script: str, arguments: list[str]) -> int:
    """The exit status."""
    file = os.path.join(os.getcwd(), script)
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).resolve().parent))
    module = ModuleType("__main__")
    loader = SourceFileLoader("__main__", file)
    module.__dict__.update(__file__=file, __builtins__=builtins, __cached__=None, __package__=None, __loader__=loader)  # fmt: skip
    sys.modules["__main__"] = module
    try:
        exec(compile(Path(file).read_bytes(), file, "exec", dont_inherit=True), module.__dict__)
    except SystemExit as ended:
        return _status(ended)
    except BaseException as error:
        return _show(error)
    return 0


def _status(ended: SystemExit) -> int:
    if ended.code is None:
        return 0
    if isinstance(ended.code, int):
        return ended.code & 0xFF  # what a process can end with
    print(ended.code, file=sys.stderr)
    return 1


def _show(error: BaseException) -> int:
    """At once, as the interpreter does: threads that are waited for may never end."""
    frames = error.__traceback__ = _without_ours(error.__traceback__)
    last: dict[str, Any] = {"last_type": type(error), "last_value": error, "last_traceback": frames}
    vars(sys).update(last, **({"last_exc": error} if sys.version_info >= (3, 12) else {}))
    try:
        sys.excepthook(type(error), error, frames)
    except SystemExit as ended:
        return _status(ended)
    except BaseException as failure:
        print("Error in sys.excepthook:", file=sys.stderr)
        sys.__excepthook__(type(failure), failure, failure.__traceback__)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, frames)
    return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1


def _without_ours(frames: TracebackType | None) -> TracebackType | None:
    """The program's frames: neither those that led to it, nor those that its handlers of signals are called through."""
    while frames is not None and _is_ours(frames):
        frames = frames.tb_next
    each = frames
    while each is not None:
        while each.tb_next is not None and _is_ours(each.tb_next):
            each.tb_next = each.tb_next.tb_next
        each = each.tb_next
    return frames


def _is_ours(frame: TracebackType) -> bool:
    return frame.tb_frame.f_code.co_filename.startswith(_HERE)


def end_script() -> None:
    """Threads end, and what was registered for the end is called."""
    try:
        vars(threading)["_shutdown"]()  # lets the threads of executors go, and waits for all but daemons
    except BaseException as error:  # the user has lost patience
        print(f"Exception ignored in: {threading!r}", file=sys.stderr)
        traceback.print_exception(type(error), error, _without_ours(error.__traceback__))
    # The runtime is still to free what the program leaves, and to end after that.
    atexit.unregister(_core.shut_down)
    try:
        atexit._run_exitfuncs()
    finally:
        atexit.register(_core.shut_down)
    _take_no_signals()
    for each in (sys.stdout, sys.stderr):
        with suppress(Exception):  # closed, or no file
            each.flush()
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__  # what the program put there needs its names


def _take_no_signals() -> None:
    """From here on the interpreter calls no handlers; timers would end the process."""
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 0)
    for number in signal.valid_signals():
        handler = signal.getsignal(number)
        if callable(handler) and handler is not signal.default_int_handler:
            signal.signal(number, signal.SIG_DFL)


def other_threads() -> list[threading.Thread]:
    """Daemons of the program's that still run."""
    dummy: type = vars(threading)["_DummyThread"]  # those of C libraries, and of the runtime
    own = threading.current_thread()
    return [each for each in threading.enumerate() if each is not own and not isinstance(each, dummy)]


def forget_names() -> None:
    """The script's module is let go of; where something outlives it that refers to its names, they are emptied."""
    gc.collect()  # what it leaves is old then, and files that go together are written before they are closed
    names = vars(sys.modules.pop("__main__"))
    keeper = FunctionType((lambda: None).__code__, names)  # lives as long as they do
    names["<names>"] = keeper
    left = weakref.ref(keeper)
    del names, keeper
    gc.collect()
    if (still := left()) is not None:
        for name in list(still.__globals__):
            if name != "__builtins__":
                still.__globals__[name] = None
    gc.collect()
