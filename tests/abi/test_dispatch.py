"""The generated stubs, compiled and run: who is called, with what, and what becomes of a failure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from api_spec import GENERATOR, ROOT
from c_text import CXX

HARNESS = Path(__file__).with_name("dispatch_harness.cpp")


def build(folder: Path, mutate: tuple[str, str] | None = None) -> Path:
    """The harness with the stubs as generated, or with one piece of them replaced."""
    generated = folder / "infinirt" / "generated"
    for what, name in {
        "table": "table.h",
        "dispatch": "dispatch.cpp",
        "unsupported": "unsupported.cpp",
    }.items():
        command = [sys.executable, "-B", str(GENERATOR), "--what", what, "--out", str(generated / name)]
        subprocess.run(command, check=True, timeout=60)
    stubs = generated / "dispatch.cpp"
    if mutate:
        text = stubs.read_text(encoding="utf-8")
        assert mutate[0] in text
        stubs.write_text(text.replace(*mutate), encoding="utf-8")
    out = folder / "harness"
    includes = [f"-I{path}" for path in (ROOT / "include", ROOT / "csrc", folder)]
    sources = [str(HARNESS), str(stubs), str(generated / "unsupported.cpp")]
    flags = ["-std=c++20", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    done = subprocess.run(
        [CXX, *flags, *includes, *sources, "-o", str(out)], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return out


def run(program: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(program)], capture_output=True, text=True, timeout=60)


def test_stubs_route_replace_and_report(tmp_path: Path) -> None:
    done = run(build(tmp_path))
    assert done.returncode == 0, done.stdout


@pytest.mark.full
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(p ? p->dstPtr.ptr : nullptr), (p ? p->srcPtr.ptr : nullptr)", "nullptr, nullptr"),
        (
            "route_stream(ts, stream) : route_handle(ts, event)",
            "route_stream(ts, stream) : route_stream(ts, stream)",
        ),
        ("changed.uploadStream = nullptr;", ""),
    ],
)
def test_the_harness_sees_a_wrong_stub(tmp_path: Path, before: str, after: str) -> None:
    done = run(build(tmp_path, (before, after)))
    assert done.returncode == 1, done.stdout
    assert "dispatch_harness.cpp" in done.stdout
