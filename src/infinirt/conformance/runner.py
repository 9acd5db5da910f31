"""Runs cases in a child process: one that crashes, hangs or fails costs itself only, and the rest go on in a new one."""

from __future__ import annotations

import contextlib
import json
import os
import select as select_module
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .case import Case, Level

Told = Callable[[Case, "dict[str, Any] | None"], None]

START_LIMIT = 120.0  # seconds for loading the backend
END_LIMIT = 20.0  # seconds for leaving
AFTER_LIMIT = 1.0  # seconds for the stacks of a case that hangs to be written

MOST_REFUSALS = 3  # in a row, until a device type that does not load any more is given up

# Settings under which the cases cannot ask what they ask: no stream can be held.
IN_THE_WAY = {"INFINIRT_CPU_SCHEDULE": ("", "async"), "INFINIRT_LAUNCH_BLOCKING": ("", "0")}


@dataclass(frozen=True)
class Options:
    """What to test, and how to bring it."""

    backend: str
    level: Level = "full"
    device: int = 0
    plugins: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # folders to look for the modules in
    limit: float = 60.0  # seconds after which a case counts as hanging
    groups: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    written_imports: tuple[str, ...] = ()  # as the user named them
    jobs: int = 1  # processes for cases that may run side by side

    def to_load(self) -> dict[str, Any]:
        return {
            "backend": self.backend,
            "device": self.device,
            "plugins": list(self.plugins),
            "imports": list(self.imports),
            "paths": list(self.paths),
            "limit": self.limit,
        }


@dataclass
class Run:
    """What came of it."""

    backend: dict[str, Any]
    results: dict[str, dict[str, Any]] = field(default_factory=dict)  # by case id
    seconds: float = 0.0
    processes: int = 0
    endings: list[str] = field(default_factory=list)  # what went wrong when a child was told to end


class Unusable(Exception):
    """The device type cannot be tested: it is not there, or loading it failed."""


class Child:
    """The process. `run` gives a case's result, whatever happens to the process."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._stacks = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - open as long as the process
        read, write = os.pipe()
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "INFINIRT_CONFORMANCE_LOAD": self._load()}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "infinirt.conformance.child", str(write), str(self._stacks.fileno())],
            stdin=subprocess.PIPE,
            pass_fds=(write, self._stacks.fileno()),
            env=environment,
            start_new_session=True,  # what cases start goes with it
        )
        os.close(write)
        self._answers = read
        self._pending = b""
        self.used = False
        self._send(self._load())
        first = self._answer(START_LIMIT)
        if first is None or "problem" in first:
            problem = first["problem"] if first else f"loading it: {self._end_of_process()}{self._stack()}"
            self.kill()
            raise Unusable(problem)
        self.backend: dict[str, Any] = first["ready"]

    def _load(self) -> str:
        return json.dumps(self.options.to_load())

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it may have ended already; the answer tells
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def _answer(self, limit: float) -> dict[str, Any] | None:
        """The next line, or None when it does not come: the process has ended or the time is up."""
        end = time.monotonic() + limit
        while b"\n" not in self._pending:
            left = end - time.monotonic()
            if left <= 0 or not select_module.select([self._answers], [], [], left)[0]:
                return None
            data = os.read(self._answers, 1 << 16)
            if not data:
                return None
            self._pending += data
        line, self._pending = self._pending.split(b"\n", 1)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def run(self, case: Case) -> dict[str, Any]:
        self.used = True
        limit = self.options.limit * case.limit
        self._send(case.id)
        began = time.monotonic()
        answer = self._answer(limit + AFTER_LIMIT)
        if answer is not None:
            return answer
        seconds = round(time.monotonic() - began, 3)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)  # the pipe closes a moment before the process is gone
        if self._process.poll() is None:
            stack = self._stack() + native_threads(self._process.pid)
            self.kill()
            return {
                "result": "fail",
                "expected": f"an end within {limit:.0f} s",
                "seen": "it hangs; its process was ended",
                "stack": stack,
                "seconds": seconds,
            }
        return {
            "result": "fail",
            "expected": "the process to live",
            "seen": self._end_of_process(),
            "stack": self._stack(),
            "seconds": seconds,
        }

    def _end_of_process(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        status = self._process.poll()
        if status is None:
            return "it did not answer in time"
        if status < 0:
            return f"the process was ended by {signal.Signals(-status).name}"
        return f"the process ended with status {status}"

    def _stack(self) -> str:
        self._stacks.seek(0)
        text = self._stacks.read().decode(errors="replace")
        return f"\n{text}" if text else ""

    def end(self) -> str:
        """Tells it to end; what was wrong with the way it did, or nothing."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(END_LIMIT)
        except subprocess.TimeoutExpired:
            self.kill()
            return f"a process did not end within {END_LIMIT:.0f} s of being told to"
        self._close()
        return "" if self._process.returncode == 0 else self._end_of_process()

    def kill(self) -> None:
        """The process and what it started, by its own group; nothing when it has ended and was closed."""
        if self._answers < 0:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._close()

    def _close(self) -> None:
        if self._answers >= 0:
            os.close(self._answers)
            self._answers = -1
            self._stacks.close()
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()


def native_threads(process: int) -> str:
    """The names of the process's threads and what they wait in; Python's stacks do not show those of a library."""
    lines = []
    for task in sorted(Path(f"/proc/{process}/task").glob("*")):
        with contextlib.suppress(OSError):
            name = (task / "comm").read_text().strip()
            where = (task / "wchan").read_text().strip()
            lines.append(f"  {task.name} {name}: {where if where not in ('', '0') else 'running'}")
    return "\nThreads of the process:\n" + "\n".join(lines) + "\n" if lines else ""


def check_environment() -> None:
    for name, harmless in IN_THE_WAY.items():
        if os.environ.get(name, "") not in harmless:
            raise Unusable(
                f"{name}={os.environ[name]} is set: the cases hold streams, which is not possible then; unset it"
            )


# Groups whose cases mind nobody beside them: they compute on memory of their own, and look at nothing that others change.
SIDE_BY_SIDE = ("operator",)


class Sequence:
    """Cases one after another, in children of its own: the same one until a case fails, or wants a fresh one."""

    def __init__(
        self, options: Options, done: Run, lock: threading.Lock, progress: Told, child: Child | None
    ) -> None:
        self.options = options
        self.done = done
        self.lock = lock
        self.progress = progress
        self.child = child
        self.refusals = 0
        self.problem = ""

    def run(self, cases: Iterable[Case]) -> None:
        try:
            for case in cases:
                with self.lock:
                    self.progress(case, None)
                result = self._result(case)
                with self.lock:
                    self.done.results[case.id] = result
                    self.progress(case, result)
            self._end_child()
        finally:
            self.kill()

    def kill(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child = None

    def _result(self, case: Case) -> dict[str, Any]:
        if self.child is not None and case.alone and self.child.used:
            self._end_child()
        if self.child is None and self.refusals < MOST_REFUSALS:
            try:
                self.child = Child(self.options)
                self.refusals = 0
                with self.lock:
                    self.done.processes += 1
            except Unusable as problem:
                self.refusals += 1
                self.problem = str(problem)
        if self.child is None:
            return {"result": "fail", "expected": "the device type to load once more", "seen": self.problem}
        result = self.child.run(case)
        if result["result"] == "fail":
            self.kill()  # whatever it is in the middle of
        elif case.alone:
            self._end_child()
        return result

    def _end_child(self) -> None:
        if self.child is None:
            return
        problem = self.child.end()
        self.child = None
        if problem:
            with self.lock:
                self.done.endings.append(problem)


def run(options: Options, cases: list[Case], progress: Told) -> Run:
    """Runs the cases; `progress` is told before each (None) and after (its result). One after another, but where `options.jobs`
    allows it those of SIDE_BY_SIDE: they come last then, in so many processes."""
    check_environment()
    began = time.monotonic()
    child = Child(options)
    done = Run(child.backend, processes=1)
    lock = threading.Lock()
    beside = [case for case in cases if options.jobs > 1 and case.group in SIDE_BY_SIDE]
    Sequence(options, done, lock, progress, child).run(case for case in cases if case not in beside)
    waiting = iter(beside)
    shared = iter(lambda: _next(waiting, lock), None)  # of all sequences
    sequences = [Sequence(options, done, lock, progress, None) for _ in range(min(options.jobs, len(beside)))]
    threads = [threading.Thread(target=sequence.run, args=(shared,), daemon=True) for sequence in sequences]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)  # an interrupt is looked at in between
    finally:
        for sequence in sequences:
            sequence.kill()
    done.seconds = round(time.monotonic() - began, 3)
    return done


def _next(cases: Iterator[Case], lock: threading.Lock) -> Case | None:
    with lock:
        return next(cases, None)
