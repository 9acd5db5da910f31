"""The tests of the objects on the other device types and kinds of memory that are built in."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from objects_support import SKIP_REASONS

from installed import output_of
from plugin_files import toy

HERE = Path(__file__).resolve().parent
NOUNS = ("stream", "buffer", "memory", "graph", "reading", "caching")


def as_package(folder: Path, entry: str) -> str:
    """A PYTHONPATH on which a backend of the examples is an installed package."""
    package = folder / "chip-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: chip\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(f"[infinirt.backends]\n{entry}\n")
    examples = HERE.parents[1] / "examples" / "backends"
    return os.pathsep.join([str(folder), str(examples), *filter(None, [os.environ.get("PYTHONPATH")])])


def run_tests(*nouns: str, **environment: str) -> None:
    """What skips must be about the kind of memory, and most must not skip."""
    files = [HERE / f"test_objects_{noun}.py" for noun in nouns]
    out = output_of(
        sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *files, **environment
    )
    passed = re.search(r"^(\d+) passed", out, re.MULTILINE)
    assert passed is not None
    reasons = re.findall(r"^SKIPPED \[\d+\] \S+ (.*)", out, re.MULTILINE)
    assert set(reasons) <= SKIP_REASONS
    assert int(passed[1]) > 10 * len(reasons)


@pytest.mark.full
def test_on_the_smallest_backend() -> None:
    run_tests(*NOUNS, INFINIRT_CPU_MIN="1", INFINIRT_TEST_DEVICE_TYPE="cpu-min")


@pytest.mark.parametrize(
    "define",
    [
        "TOY_MINIMAL",
        pytest.param("TOY_DEVICES=2", marks=pytest.mark.full),
        pytest.param("TOY_LOW", marks=pytest.mark.full),
    ],
)
def test_on_a_plugin(define: str, tmp_path: Path) -> None:
    run_tests(
        *NOUNS,
        INFINIRT_PLUGIN_PATH=str(toy(tmp_path, define)),
        INFINIRT_TEST_DEVICE_TYPE="toy",
    )


@pytest.mark.full
def test_on_a_backend_in_python(tmp_path: Path) -> None:
    """As a package brings it: announced by an entry point."""
    run_tests(
        *NOUNS,
        INFINIRT_TEST_DEVICE_TYPE="simulator",
        PYTHONPATH=as_package(tmp_path, "simulator = simulator:Simulator"),
    )


@pytest.mark.peer("pyopencl", "pocl-binary-distribution")
def test_on_opencl(tmp_path: Path) -> None:
    """A backend in Python over a real foreign runtime."""
    run_tests(
        *NOUNS, INFINIRT_TEST_DEVICE_TYPE="opencl", PYTHONPATH=as_package(tmp_path, "opencl = opencl:OpenCL")
    )


def test_with_memory_that_the_host_does_not_reach() -> None:
    run_tests(*NOUNS, "kernel", INFINIRT_CPU_MEMORY="isolated")


@pytest.mark.gpu
@pytest.mark.parametrize(
    "nouns", [("stream", "buffer", "reading"), ("memory",), ("graph",), ("caching",)], ids=lambda n: n[0]
)
def test_on_a_gpu(nouns: tuple[str, ...]) -> None:
    run_tests(*nouns, INFINIRT_TEST_DEVICE_TYPE="nvidia", INFINIRT_DEVICE="nvidia")
