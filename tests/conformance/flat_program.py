"""A program over the flat API that runs unchanged on `infinirt.runtime` and on `cuda.bindings.runtime`.

Each `check_` function is one scenario; `python flat_program.py` runs all of them, test_flat_program.py runs them one by
one. Results are compared with what CUDA defines. Where a CPU and a GPU may rightly differ, the check says so.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, os.fspath(Path(__file__).parent))

import flat_devices
import flat_graphs
import flat_memory
import flat_streams
from flat_api import CHOICE, rt

MODULES = (flat_devices, flat_streams, flat_memory, flat_graphs)
CHECKS: dict[str, Callable[[], None]] = {
    name.removeprefix("check_"): function
    for module in MODULES
    for name, function in vars(module).items()
    if name.startswith("check_")
}
FEWEST_FUNCTIONS = 110
# Checks to leave out, by name: in some modes of the CPU device work is finished when the call returns.
SKIPPED = os.environ.get("INFINIRT_FLAT_SKIP", "").split()


def check_coverage() -> None:
    """After all checks: the program has used as many functions as it promises."""
    assert len(rt.used) >= FEWEST_FUNCTIONS, f"only {len(rt.used)} functions: {sorted(rt.used)}"


def main() -> int:
    for name, check in CHECKS.items():
        if name in SKIPPED:
            continue
        check()
        print(f"{CHOICE}: {name}")
    check_coverage()
    print(f"{CHOICE}: {len(CHECKS)} checks, {len(rt.used)} functions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
