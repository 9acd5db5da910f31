"""Runs programs under `infinirt sanitize`, and tests under its plugin."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

NOTHING = "infinirt sanitize: nothing found"


def takes_interrupts() -> None:
    """For children. Shells have programs in the background ignore Ctrl-C, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def sanitized(
    tmp_path: Path, text: str, *options: str, timeout: float = 120, **environment: str
) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "script.py"
    script.write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "infinirt", "sanitize", *options, script],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
        preexec_fn=takes_interrupts,
    )


def run_tests(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "test_it.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "infinirt.sanitizer.pytest_plugin", "."],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
    )  # fmt: skip
