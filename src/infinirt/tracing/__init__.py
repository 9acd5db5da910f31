"""Traces: every call and every piece of work with its real times, as a file for Perfetto or Chrome.

>>> import infinirt, json, tempfile
>>> folder = tempfile.TemporaryDirectory()
>>> device = infinirt.Device("cpu")
>>> with infinirt.trace(folder.name + "/out.json") as trace, infinirt.range("copy"):
...     buffer = device.allocate(4096)
...     buffer.fill(1)
...     device.sync()
>>> sorted({line.name for line in trace.summary.ranges})
['copy']
>>> "traceEvents" in json.load(open(folder.name + "/out.json"))
True
>>> folder.cleanup()

`infinirt trace script.py` does so for a whole program.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
import warnings
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from infinirt import _core
from infinirt.errors import InfiniRTError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .records import Process
    from .summary import Summary

__all__ = ["convert", "range", "trace"]

_PLENTY = 8 << 30  # twice what a process records at most
_P = ParamSpec("_P")
_R = TypeVar("_R")


def convert(
    folder: str | Path, output: str | Path | None, *, if_empty: bool = False
) -> tuple[list[Process], Summary]:
    """Makes of a folder that a traced program has left (INFINIRT_TRACE=FOLDER) a file for Perfetto, and a summary. Where no process has recorded anything
    an earlier file stays as it is, but for `if_empty`."""
    from .chrome import chrome_trace
    from .records import read_folder
    from .summary import summarise

    processes = read_folder(folder)
    if output is not None and (if_empty or any(not each.is_empty for each in processes)):
        Path(output).write_text(json.dumps(chrome_trace(processes), separators=(",", ":")), encoding="utf-8")
    return processes, summarise(processes)


def scratch_folder() -> str:
    """A new folder for what is recorded: in memory where there is plenty, since a busy disk makes calls wait; else with other
    temporary files."""
    memory = "/dev/shm"
    try:
        plenty = shutil.disk_usage(memory).free >= _PLENTY and os.access(memory, os.W_OK)
    except OSError:
        plenty = False
    return tempfile.mkdtemp(prefix="infinirt-trace-", dir=memory if plenty else None)


class trace:  # named as a function: it is called like one
    """Traces what happens in a `with` block, in all threads and in children that fork, into `path`.

    `stacks` keeps the Python stack of every call: calls then cost microseconds. At the end the CPU device's work is waited for,
    at most `wait` seconds: what has not finished by then is not in the trace. Inside a program that is traced as a whole a
    second trace cannot run: it warns and does nothing.
    """

    def __init__(self, path: str | Path, *, stacks: bool = False, wait: float = 10.0) -> None:
        self.path = Path(path)
        self._stacks = stacks
        self._wait = wait
        self._folder = ""
        self._before = False
        self._was_inside = False  # of another trace
        self._result: tuple[list[Process], Summary] | None = None

    def __enter__(self) -> trace:
        with self.path.open(
            "w", encoding="utf-8"
        ):  # a path that cannot be written fails now, and not after the work
            pass
        self._folder = scratch_folder()
        try:
            _core.trace_begin(self._folder)
        except InfiniRTError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""
            self.path.unlink()
            if error.code != 210:
                raise
            self._was_inside = True
            warnings.warn("a trace runs already and has this part in it; no second one is made", stacklevel=2)
            return self
        if self._stacks:
            self._before = keep_stacks(True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._folder:
            return
        try:
            _core.drain(int(self._wait * 1000))
            _core.trace_end()
            if self._stacks:
                keep_stacks(self._before)
            self._result = convert(self._folder, self.path, if_empty=True)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    @property
    def summary(self) -> Summary:
        """Where the time went; after the block. `print(trace.summary)` shows it as tables."""
        return self._finished()[1]

    @property
    def processes(self) -> list[Process]:
        """All that was recorded; after the block."""
        return self._finished()[0]

    def __repr__(self) -> str:
        return f"<trace {self.path}: {self._state()}>"

    def _state(self) -> str:
        if self._result is None:
            if self._was_inside:
                return "part of another one, which was running"
            return "running" if self._folder else "no result yet"
        processes, summary = self._result
        calls = sum(len(process.calls) for process in processes)
        work = sum(line.count for line in summary.operations)
        return (
            f"{calls} {'call' if calls == 1 else 'calls'}, {work} {'piece' if work == 1 else 'pieces'} of work on "
            f"{len(summary.streams)} {'stream' if len(summary.streams) == 1 else 'streams'}, "
            f"{summary.duration / 1e6:.3g} ms"
        )

    def _finished(self) -> tuple[list[Process], Summary]:
        if self._result is None:
            raise RuntimeError(
                "there is no result: another one was running, and has this part in it"
                if self._was_inside
                else "there is no result: the block has not ended"
            )
        return self._result


_kept = False


def keep_stacks(enabled: bool) -> bool:
    """Whether every call notes its Python stack, for traces and for the message of work that fails later; how it was before.

    INFINIRT_STACKS=1 does so from the start.
    """
    global _kept
    before, _kept = _kept, enabled
    _core.keep_stacks(enabled)
    if enabled and not before:
        atexit.register(_core.keep_stacks, False)  # no stack can be had of an interpreter that has ended
    return before


class range:
    """Names a part of the program in traces: as a context manager, or as a decorator of a function.

    >>> import infinirt
    >>> @infinirt.range("step")
    ... def step() -> int:
    ...     with infinirt.range("inner"):
    ...         return 1
    >>> step()
    1
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"name is a str, not {type(name).__name__}")
        self.name = name

    def __enter__(self) -> range:
        _core.range_push(self.name)
        return self

    def __exit__(self, *_: object) -> None:
        _core.range_pop()

    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def inside(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            with self:
                return function(*args, **kwargs)

        return inside
