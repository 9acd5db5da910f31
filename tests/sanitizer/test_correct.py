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

import infinirt
from infinirt import runtime as rt
from infinirt.sanitizer.observer import Sanitizer

ROOT = Path(__file__).resolve().parents[2]


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
