"""Writes docs/capabilities.md: every function of the C API and how each device type implements it. `--check` only compares.

Run with the installed package and a C compiler: python tools/capabilities.py. Device types whose hardware is not here are asked
as the tests ask them: a plugin with all entries, and the loop-back libraries of the vendors. NVIDIA's column comes from the
specification: which version of its library has the function.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "capabilities.md"
VENDORS = ("amd", "ascend", "cambricon", "kunlun")  # hygon, moore, metax, iluvatar and ali are as amd
COLUMNS = ("cpu", "cpu-min", "nvidia", "plugin", "Python class", *VENDORS)
INTRODUCTION = """# What each device type can do

*native*: done by the backend itself; *emulated*: done by the runtime on top of what the backend has; *none*: the function exists and
returns `infinirtErrorNotSupported` with a message. A program asks `infinirtXGetSupport` (`infinirt.support` in Python).

`plugin` is one that fills in every entry; what a [plugin](plugins.md) leaves out is emulated, managed memory none. A [class in
Python](backends.md) has all optional methods here. The [vendors'](vendors.md) columns are those of libraries that have every function
looked for, and were never run on hardware; `hygon`, `moore`, `metax`, `iluvatar` and `ali` are as `amd`. This page is written by
`tools/capabilities.py`.
"""


def prepare(folder: Path) -> dict[str, str]:
    """The device types' names by column. Before the package is imported: it reads the environment."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "abi")]
    vendor_files = importlib.import_module("vendor_files")
    plugin_files = importlib.import_module("plugin_files")
    os.environ["INFINIRT_CPU_MIN"] = "1"
    os.environ["INFINIRT_PLUGIN_PATH"] = str(plugin_files.toy(folder / "plugin"))
    for vendor in VENDORS:
        os.environ |= vendor_files.settings(folder / vendor, vendor)

    import infinirt

    class Everything(infinirt.Backend):
        type = "everything"

        def allocate(self, device: int, size: int) -> Any:
            return bytearray(size)

        def release(self, device: int, block: Any, size: int) -> None: ...
        def write(self, device: int, block: Any, offset: int, data: memoryview) -> None: ...
        def read(self, device: int, block: Any, offset: int, into: memoryview) -> None: ...
        def copy(
            self, device: int, dst: Any, dst_offset: int, src: Any, src_offset: int, size: int
        ) -> None: ...
        def fill(self, device: int, block: Any, offset: int, value: int, size: int) -> None: ...
        def synchronize(self, device: int) -> None: ...

    Everything().register()
    for name in ("toy", "everything", *VENDORS):
        assert infinirt.Device(name), name
    return {"plugin": "toy", "Python class": "everything"}


def nvidia(function: Any) -> str:
    changed = function.cuda13
    return "native" if changed is None or changed.symbol else "native (12)"


def page() -> str:
    with tempfile.TemporaryDirectory() as folder:
        names = prepare(Path(folder))
    import infinirt

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
                f"| function | {' | '.join(COLUMNS)} |",
                f"| --- |{' --- |' * len(COLUMNS)}",
            ]
        answers = " | ".join(
            nvidia(function)
            if column == "nvidia"
            else infinirt.support(function.name, names.get(column, column))
            for column in COLUMNS
        )
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
