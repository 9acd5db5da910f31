"""The document that a run leaves: plain data with a stable shape, which `--json` writes and the HTML page shows."""

from __future__ import annotations

import datetime
import hashlib
import os
import platform
import shlex
from pathlib import Path
from typing import Any

from .case import LEVELS, Case
from .runner import Options, Run

SCHEMA = "infinirt-conformance/1"
RESULTS = ("pass", "emulated", "unsupported", "inapplicable", "fail")
MEANING = {
    "pass": "the rule is kept, by the device type itself",
    "emulated": "the rule is kept, by the runtime's emulation on top of what the device type has",
    "unsupported": "the device type declares a function unsupported, or has no such operator, and the call says so",
    "inapplicable": "the machine lacks what the rule is about, such as a second device",
    "fail": "the rule is broken",
}


def document(options: Options, cases: list[Case], run: Run) -> dict[str, Any]:
    import infinirt

    backend = dict(run.backend)
    capabilities = backend.pop("capabilities")
    rows = [row(case, run.results[case.id]) for case in cases if case.id in run.results]
    called = sorted({name for result in run.results.values() for name in result.get("called", ())})
    return {
        "schema": SCHEMA,
        "kit": {"version": infinirt.__version__, "api": "CUDA Runtime API 12.9"},
        "when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "level": options.level,
        "selection": {"groups": list(options.groups), "cases": list(options.patterns)},
        "conformant": not any(entry["result"] == "fail" for entry in rows) and not run.endings,
        "backend": backend,
        "device": options.device,
        "loaded": {
            "plugins": list(options.plugins),
            "sha256": {Path(path).name: sha256_of(path) for path in options.plugins},
            "imports": list(options.imports),
        },
        "command": command(options),
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "cores": len(os.sched_getaffinity(0)),
            "python": platform.python_version(),
        },
        "environment": environment(),
        "summary": summary(rows),
        "problems": run.endings,
        "seconds": run.seconds,
        "processes": run.processes,
        "cases": rows,
        "capabilities": capabilities,
        "functions_called": [name for name in called if name in capabilities],
    }


def sha256_of(path: str) -> str:
    """What tells one build from another."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def command(options: Options) -> str:
    """The beginning of a command line that tests the same device, for one case more."""
    words = ["infinirt", "conformance", "--backend", options.backend]
    for plugin in options.plugins:
        words += ["--plugin", plugin]
    for written in options.written_imports:
        words += ["--import", written]
    if options.device:
        words += ["--device", str(options.device)]
    return shlex.join(words)


def row(case: Case, result: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in result.items() if key not in ("result", "called", "seconds")}
    return {
        "id": case.id,
        "group": case.group,
        "level": case.level,
        "sentence": case.sentence,
        "rule": case.rule,
        "functions": list(case.functions),
        "result": result["result"],
        "seconds": result.get("seconds", 0.0),
        **kept,
    }


def environment() -> dict[str, str]:
    """What may change how devices behave; nothing else of the environment leaves the machine."""
    wanted = ("INFINIRT_", "CUDA_VISIBLE", "CUDA_LAUNCH", "CUSTOM_DEVICE")
    hidden = ("INFINIRT_CONFORMANCE_LOAD",)
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(wanted) and name not in hidden
    }


def counts(rows: list[dict[str, Any]]) -> dict[str, int]:
    found = {result: sum(entry["result"] == result for entry in rows) for result in RESULTS}
    return {"cases": len(rows), **found}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    groups = list(dict.fromkeys(entry["group"] for entry in rows))
    return {
        "all": counts(rows),
        "levels": {
            level: counts([entry for entry in rows if entry["level"] == level])
            for level in LEVELS
            if any(entry["level"] == level for entry in rows)
        },
        "groups": {group: counts([entry for entry in rows if entry["group"] == group]) for group in groups},
    }
