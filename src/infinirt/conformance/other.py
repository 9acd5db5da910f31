"""A second process for cases that need one: `python -m infinirt.conformance.other BODY`, started by `Peer`.

It loads what the child loaded, runs one function of `cases/ipc.py` or `cases/fault.py`, and talks in JSON lines: numbers and
bytes (as hexadecimal text) over its standard input and output.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from typing import Any

from .check import Failed

LIMIT = 60.0  # seconds for an answer or an end


class Peer:
    """The other process, from the side of the case."""

    def __init__(self, module: str, body: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "infinirt.conformance.other", module, body],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self, value: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(value) + "\n")
        self._process.stdin.flush()

    def receive(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Failed("an answer of the other process", f"it ended with status {self._process.wait()}")
        value = json.loads(line)
        if isinstance(value, dict) and "failed" in value:
            raise Failed(f"in the other process: {value['failed'][0]}", value["failed"][1])
        return value

    def join(self) -> int:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            return self._process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.end()
            raise Failed("the other process to end", f"it did not within {LIMIT:.0f} s") from None

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


class Channel:
    """The other direction: what the body in the other process talks through."""

    def __init__(self, answers: Any) -> None:
        self._answers = answers

    def send(self, value: Any) -> None:
        self._answers.write(json.dumps(value) + "\n")
        self._answers.flush()

    def receive(self) -> Any:
        line = sys.stdin.readline()
        return json.loads(line) if line else None


def main(module: str, body: str) -> int:
    from .bench import Bench
    from .child import load

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a backend prints must not look like an answer
    what = json.loads(os.environ["INFINIRT_CONFORMANCE_LOAD"])
    load(what)
    channel = Channel(answers)
    bench = Bench(what["backend"], what["device"])
    bench.begin()
    function = getattr(importlib.import_module(f"{__package__}.cases.{module}"), body)
    try:
        function(bench, channel)
    except Failed as failure:
        channel.send({"failed": [failure.expected, failure.seen]})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
