"""NVIDIA's libraries on a machine without a GPU: both versions load, everything resolves, nothing crashes."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

LIBRARIES = {
    "nvidia-cuda-runtime-cu12": "nvidia/cuda_runtime/lib/libcudart.so.12",
    "nvidia-cuda-runtime": "nvidia/cu13/lib/libcudart.so.13",
}

PROGRAM = """
from infinirt import runtime as rt
count = rt.infinirtXGetDeviceTypeCount()[1]
infos = {info.name: info for info in (rt.infinirtXGetDeviceTypeInfo(i)[1] for i in range(count))}
nvidia = infos["nvidia"]
print(nvidia.origin); print(nvidia.deviceCount); print(nvidia.problem)
print(int(rt.infinirtXSetDeviceType("nvidia")[0]))
names = [n for n in dir(rt) if n.startswith("infinirt") and not n.startswith("infinirtX")]
known = {n: rt.infinirtXGetSupport("nvidia", n) for n in names}
print([n for n, r in known.items() if int(r[0]) == 0 and int(r[1]) != 2])
print(int(rt.infinirtXSetDeviceType("cpu")[0]), int(rt.infinirtFree(rt.infinirtMalloc(64)[1])[0]))
"""


def run(**environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")


@pytest.mark.parametrize(
    "distribution", [pytest.param(name, marks=pytest.mark.peer(name)) for name in LIBRARIES]
)
def test_both_versions_load_and_everything_resolves(distribution: str) -> None:
    path = Path(str(importlib.metadata.distribution(distribution).locate_file(LIBRARIES[distribution])))
    origin, devices, problem, error, absent, cpu, _ = run(INFINIRT_CUDA_LIBRARY=str(path))
    assert origin.startswith(str(path))
    assert devices == "0"
    assert str(path) in problem
    assert error in ("35", "100")
    assert absent == "[]"
    assert cpu == "0 0"


@pytest.mark.parametrize(
    "path", ["/nonexistent/libcudart.so", "/usr/lib/x86_64-linux-gnu/libz.so.1", os.devnull]
)
def test_a_wrong_library_is_said_to_be_one(path: str) -> None:
    _, devices, problem, error, _, cpu, _ = run(INFINIRT_CUDA_LIBRARY=path)
    assert devices == "0"
    assert path in problem
    assert "INFINIRT_CUDA_LIBRARY" in problem
    assert error == "100"
    assert cpu == "0 0"
