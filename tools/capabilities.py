"""Writes docs/capabilities.md: every function of the C API and how each device type implements it. `--check` only compares.

Run with the installed package: INFINIRT_CPU_MIN=1 python tools/capabilities.py
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

os.environ.setdefault("INFINIRT_CPU_MIN", "1")

import infinirt

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "capabilities.md"
TYPES = ("cpu", "cpu-min")  # what every build has
INTRODUCTION = """# What each device type can do

*native*: done by the backend itself; *emulated*: done by the runtime on top of what the backend has; *none*: the function exists and
returns `infinirtErrorNotSupported` with a message. A program asks `infinirtXGetSupport` (`infinirt.support` in Python). A
[plugin](plugins.md) is like `cpu-min`, but has no kernels, and what it fills in itself is native; so is an accelerator of
[another vendor](vendors.md). This page is written by `tools/capabilities.py`.
"""


def page() -> str:
    sys.path.insert(0, str(ROOT / "tests" / "abi"))
    importlib.import_module("api_spec")
    functions = importlib.import_module("infinirt_spec.functions").FUNCTIONS
    lines = [INTRODUCTION]
    group = None
    for function in functions:
        if function.alias_of:
            continue
        if function.group != group:
            group = function.group
            lines += [
                "",
                f"## {group}",
                "",
                f"| function | {' | '.join(TYPES)} |",
                f"| --- |{' --- |' * len(TYPES)}",
            ]
        answers = " | ".join(infinirt.support(function.name, type) for type in TYPES)
        lines.append(f"| `{function.name}` | {answers} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    text = page()
    if "--check" in sys.argv:
        sys.exit(
            0
            if PAGE.read_text() == text
            else "docs/capabilities.md is not what the runtime says; run tools/capabilities.py"
        )
    PAGE.write_text(text)
