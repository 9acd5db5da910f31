"""The CPU device answers every edge case as a GPU was measured to, and so does the GPU through this runtime.

edge_answers.json holds the answers of an NVIDIA H200 (CUDA 13.0, driver 580) through `cuda.bindings.runtime`:
`INFINIRT_FLAT_MODULE=cuda python edge_cases.py` on such a machine prints them anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ANSWERS = json.loads((HERE / "edge_answers.json").read_text())


def answers_of(group: str, **environment: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(HERE / "edge_cases.py"), group],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, dict[str, object]] = json.loads(done.stdout)
    return found[group]


def differences(group: str, **environment: str) -> dict[str, tuple[object, object]]:
    found, expected = answers_of(group, **environment), ANSWERS[group]
    return {
        name: (found.get(name), expected.get(name))
        for name in {**found, **expected}
        if found.get(name) != expected.get(name)
    }


@pytest.mark.parametrize("group", ANSWERS)
def test_the_cpu_device_answers_as_a_gpu(group: str) -> None:
    assert differences(group, INFINIRT_DEVICE="cpu") == {}


@pytest.mark.gpu
@pytest.mark.parametrize("group", ANSWERS)
def test_a_gpu_answers_so_through_this_runtime(group: str) -> None:
    assert differences(group, INFINIRT_DEVICE="nvidia") == {}


@pytest.mark.gpu
@pytest.mark.peer("cuda-bindings")
@pytest.mark.parametrize("group", ANSWERS)
def test_a_gpu_answers_so_through_the_other_module(group: str) -> None:
    assert differences(group, INFINIRT_FLAT_MODULE="cuda") == {}
