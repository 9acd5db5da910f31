"""What the tests of the flat API share."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

rt: Any = importlib.import_module("infinirt.runtime")
SUCCESS = rt.infinirtError_t.infinirtSuccess


def ok(result: tuple[Any, ...]) -> Any:
    """The outputs of a call that must have succeeded."""
    assert result[0] == SUCCESS, rt.infinirtXGetLastErrorMessage()
    return result[1] if len(result) == 2 else result[1:]


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> None:
    """For what the runtime does soon, on a thread of its own."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.001)


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs code in an interpreter of its own."""
    return subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )
