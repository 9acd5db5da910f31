"""Runs the kit as a vendor does: the command, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# A GPU's operators are compiled when they are first asked for.
PATIENCE = {"nvidia": 840}
EXAMPLES = HERE.parents[1] / "examples" / "backends"


@dataclass
class Report:
    status: int
    text: str
    progress: str
    data: dict[str, Any]

    def of(self, result: str) -> list[str]:
        """The ids of the cases with this result."""
        return [entry["id"] for entry in self.data["cases"] if entry["result"] == result]

    def case(self, id: str) -> dict[str, Any]:
        return next(entry for entry in self.data["cases"] if entry["id"] == id)

    def explain(self) -> str:
        """What pytest shows when a run is not as it should be."""
        return f"{self.text[-6000:]}\n{self.progress[-2000:]}"


def command(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "infinirt", "conformance", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=next((PATIENCE[each] for each in map(str, arguments) if each in PATIENCE), 280),
        env={**os.environ, "COLUMNS": "150", **environment},
    )


def kit(folder: Path, *arguments: str | Path, **environment: str) -> Report:
    """The report of a run; what the command says when it made none fails the test."""
    path = folder / "report.json"
    done = command(*arguments, "--json", path, **environment)
    assert path.exists(), done.stdout + done.stderr
    return Report(done.returncode, done.stdout, done.stderr, json.loads(path.read_text()))
