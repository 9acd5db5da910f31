"""The extension module of the flat API as a whole: exit, import, symbols, signatures."""

from __future__ import annotations

import importlib
import inspect
import re
import time
from pathlib import Path
from typing import Any

import pytest
from elf_symbols import undefined_symbols
from flat_support import python, rt

EXIT = """
import threading, time, ctypes
import infinirt.runtime as rt
_, stream = rt.infinirtStreamCreate()
{body}
print("leaving", flush=True)
"""


@pytest.mark.parametrize(
    "body",
    [
        # Pending work is finished before the interpreter goes.
        "rt.infinirtLaunchHostFunc(stream, lambda _: (time.sleep(0.2), print('ran', flush=True)), None)",
        # Work that never ends is abandoned, with more behind it.
        "e = threading.Event()\nfor f in (lambda _: e.wait(), print): rt.infinirtLaunchHostFunc(stream, f, 'late')",
        # So is a C function of ctypes, which takes the lock by itself.
        "e = threading.Event()\nf = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: e.wait())\n"
        "for _ in range(3): rt.infinirtLaunchHostFunc(stream, ctypes.cast(f, ctypes.c_void_p).value, 0)",
        # A flood of short ones.
        "for _ in range(2000): rt.infinirtLaunchHostFunc(stream, lambda _: None, None)",
        # References that only a graph holds.
        "rt.infinirtStreamBeginCapture(stream, 2)\nrt.infinirtLaunchHostFunc(stream, print, 'x')\n"
        "graph = rt.infinirtStreamEndCapture(stream)",
    ],
    ids=["finishes", "abandoned", "ctypes", "many", "graph"],
)
def test_exit(body: str) -> None:
    begin = time.monotonic()
    done = python(EXIT.format(body=body))
    assert done.returncode == 0, done.stdout
    assert "leaving\n" in done.stdout, done.stdout
    assert ("ran" in done.stdout) == ("'ran'" in body)
    assert "late" not in done.stdout
    assert time.monotonic() - begin < 30


def test_a_second_import_gets_the_same_classes() -> None:
    done = python(
        "import sys, infinirt.runtime as a\n"
        "for name in ('infinirt.runtime', 'infinirt._runtime'): del sys.modules[name]\n"
        "import infinirt.runtime as b\n"
        "assert a is not b and a.infinirtError_t is b.infinirtError_t and a.infinirtStream_t is b.infinirtStream_t\n"
        "assert b.infinirtGetDevice() == (a.infinirtError_t.infinirtSuccess, 0)\n"
    )
    assert done.returncode == 0, done.stdout


def test_importing_starts_no_thread_and_touches_no_driver() -> None:
    done = python(
        "import os, infinirt.runtime\n"
        "print(len(os.listdir('/proc/self/task')))\n"
        "maps = open('/proc/self/maps').read()\n"
        "assert 'libcuda' not in maps and 'libcudart' not in maps, maps\n"
        "import sys; assert 'numpy' not in sys.modules and 'ctypes' not in sys.modules"
    )
    assert done.stdout == "1\n", done.stdout


def test_only_extension_symbols_are_imported() -> None:
    """Two generations of this API share names; the module must never bind to the wrong one."""
    extension: Any = importlib.import_module("infinirt._runtime")
    data = Path(extension.__file__).read_bytes()
    names = [name for name in undefined_symbols(data) if name.startswith("infinirt")]
    wanted = ("AddLibraryFolder", "GetChosenDeviceType", "GetProcAddress", "SetWaitHooks", "SomeCallMayWait")
    assert sorted(names) == [f"infinirtX{name}" for name in wanted]


def test_signatures_and_docstrings() -> None:
    functions = [getattr(rt, name) for name in dir(rt) if name.startswith("infinirt")]
    functions = [f for f in functions if callable(f) and not isinstance(f, type)]
    assert len(functions) > 230
    for function in functions:
        assert list(inspect.signature(function).parameters) is not None
        assert re.match(r"^[A-Z]", inspect.getdoc(function) or ""), function
