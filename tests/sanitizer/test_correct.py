"""Correct programs, ours among them: nothing may be found in any."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import correct_programs
import pytest
from sanitizing import sanitized

import infinirt
from infinirt import runtime as rt
from infinirt.sanitizer.observer import Sanitizer

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((Path(__file__).parent / "correct").glob("*.py"))


@pytest.fixture(params=["cpu", pytest.param("nvidia", marks=pytest.mark.gpu)])
def devices(request: pytest.FixtureRequest) -> Iterator[str]:
    kind = correct_programs.kind = request.param
    before = rt.infinirtXGetDeviceType()[1]
    rt.infinirtXSetDeviceType(kind)
    gc.collect()
    infinirt.Device(kind).create_stream().close()
    yield kind
    rt.infinirtXSetDeviceType(before)
    correct_programs.kind = "cpu"


@pytest.mark.parametrize("program", correct_programs.PROGRAMS, ids=lambda program: program.__name__)
def test_nothing_is_found(program: Callable[[], None], devices: str) -> None:
    if devices != "cpu" and program is correct_programs.arrays_that_look_at_device_memory:
        pytest.skip("the host does not reach this memory")
    sanitizer = Sanitizer()
    sanitizer.start()
    try:
        program()
    finally:
        gc.collect()
        sanitizer.stop()
    assert not sanitizer.problems
    assert not sanitizer.findings, "\n\n".join(finding.text() for finding in sanitizer.findings)


@pytest.mark.parametrize("program", SCRIPTS, ids=lambda path: path.stem)
def test_nothing_is_found_in_a_script(program: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "infinirt", "sanitize", program],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "INFINIRT_CPU_DEVICES": "2", "INFINIRT_DEVICE": "cpu"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.strip() == "infinirt sanitize: nothing found"


def test_nothing_is_found_where_the_host_is_watched() -> None:
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "cpu", f"{__file__}::test_nothing_is_found",
        ],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=ROOT,
        env={**os.environ, "PYTEST_ADDOPTS": "", "INFINIRT_CPU_MEMORY": "watched"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_a_look_at_device_memory_is_nothing_to_speak_of(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import infinirt\n"
        "device = infinirt.Device('cpu')\n"
        "stream, buffer = device.create_stream(), device.allocate(64)\n"
        "for value in (3, 4):\n"
        "    buffer.fill(value, stream=stream)\n"
        "    stream.sync()\n"
        "    assert bytes(buffer) == bytes([value]) * 64\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "infinirt", "sanitize", script], capture_output=True, text=True, timeout=240
    )
    assert done.stderr.strip() == "infinirt sanitize: nothing found"


REFUSED = """
import infinicore, infinirt
try:
    infinirt.Device("cpu").allocate(10).copy_from(bytes(11))
except ValueError as error:
    print("refused:", error)
try:
    infinicore.ones([2, 3]) + infinicore.ones([2, 4])
except ValueError as error:
    print("refused:", error)
"""


def test_memory_that_goes_with_an_exception_does_not_replace_it(tmp_path: Path) -> None:
    done = sanitized(tmp_path, REFUSED)
    assert done.stdout.count("refused:") == 2, done.stderr
    assert done.stderr.strip() == "infinirt sanitize: nothing found"


REFERRED_TO = """
import atexit, logging, signal, threading, time
import infinirt
buffer = infinirt.Device("cpu").allocate(64)
class Handler(logging.Handler):
    def emit(self, record): pass
logging.getLogger().addHandler(Handler())
signal.signal(signal.SIGTERM, lambda *_: None)
atexit.register(print, "dropped")
atexit.unregister(print)
@atexit.register
def at_the_end():
    print("has", buffer.size, seen)
seen = []
threading.Thread(target=lambda: (time.sleep(0.1), seen.append(1))).start()
"""


def test_what_outlives_a_program_and_refers_to_its_names_is_no_leak(tmp_path: Path) -> None:
    done = sanitized(tmp_path, REFERRED_TO)
    assert done.stdout == "has 64 [1]\n", done.stderr
    assert done.stderr.strip() == "infinirt sanitize: nothing found"


KEPT_BY_A_GRAPH = """
import time
import infinirt
def launched(device, stream):
    buffer = device.allocate(64)
    with infinirt.capture(stream) as recorded:
        buffer.fill(1, stream=stream)
    recorded.graph.instantiate().launch(stream)
device = infinirt.Device("cpu")
stream = device.create_stream()
launched(device, stream)
time.sleep(0.05)
device.allocate(64)
launched(device, stream)
"""


def test_memory_that_a_graph_kept_is_free_when_its_launch_is_over(tmp_path: Path) -> None:
    assert sanitized(tmp_path, KEPT_BY_A_GRAPH).stderr.strip() == "infinirt sanitize: nothing found"


FAILING = """
import ctypes
import infinirt
from infinirt import runtime as rt
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def fail(block, args):
    return {code}
library = rt_library = ctypes.CDLL(infinirt.__path__[0] + "/lib/libinfinirt.so.1")
class Info(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("sizes", ctypes.c_void_p), ("count", ctypes.c_size_t), ("flags", ctypes.c_uint)]
info = Info(b"fail", ctypes.cast(fail, ctypes.c_void_p), None, 0, 0)
assert library.infinirtXRegisterKernel(ctypes.byref(info)) == 0
device = infinirt.Device("cpu")
stream, buffer = device.create_stream(), device.allocate(64)
buffer.fill(1, stream=stream)
assert rt.infinirtLaunchKernel(ctypes.cast(fail, ctypes.c_void_p).value, (1, 1, 1), (1, 1, 1), 0, 0, stream.handle)[0] == 0
try:
    stream.sync()
except infinirt.InfiniRTError as error:
    print("failed:", type(error).__name__)
{after}
"""


def test_a_wait_that_tells_of_a_failure_has_waited(tmp_path: Path) -> None:
    done = sanitized(tmp_path, FAILING.format(code=1, after="buffer.fill(2); device.sync()"))
    assert "failed:" in done.stdout, done.stderr
    assert done.stderr.strip() == "infinirt sanitize: nothing found"


@pytest.mark.parametrize("number", [0, 1])
def test_a_device_that_has_failed_for_good_is_no_failure_of_the_checker(tmp_path: Path, number: int) -> None:
    text = FAILING.format(code=719, after="").replace(
        'Device("cpu")', f'Device("cpu:{number}"); device.set_current()'
    )
    done = sanitized(tmp_path, text, INFINIRT_CPU_DEVICES="2")
    assert "failed: StickyError" in done.stdout, done.stderr
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert f"the device cpu:{number} has failed" in done.stderr


EXAMPLES = [
    "cpu_kernel", "graph_capture", "infinicore_runtime", "memory_pools", "numpy_and_dlpack", "streams_and_events",
    "two_devices", "data_parallel",
]  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_nothing_is_found_in_an_example(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "infinirt", "sanitize", ROOT / "examples" / f"{name}.py"],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing found" in done.stderr


TESTS = ["unit/test_objects_graph.py", "unit/test_objects_caching.py"]
MORE_TESTS = [
    "unit/test_objects_memory.py", "unit/test_objects_device.py", "unit/test_objects_kernel.py",
    "infinicore/test_graph_optimisation.py",
]  # fmt: skip


@pytest.mark.parametrize(
    "name", [*TESTS, *(pytest.param(name, marks=pytest.mark.full) for name in MORE_TESTS)]
)
def test_nothing_is_found_in_tests(name: str) -> None:
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "infinirt.sanitizer.pytest_plugin",
            ROOT / "tests" / name,
        ],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=ROOT,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
