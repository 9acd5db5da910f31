"""The tests of the objects on the other device types that are built in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from installed import output_of

HERE = Path(__file__).resolve().parent
FILES = [HERE / f"test_objects_{noun}.py" for noun in ("stream", "buffer", "memory", "graph")]


@pytest.mark.parametrize(
    "environment",
    [{"INFINIRT_CPU_MIN": "1", "INFINIRT_TEST_DEVICE_TYPE": "cpu-min"}],
    ids=lambda environment: environment["INFINIRT_TEST_DEVICE_TYPE"],
)
def test_objects(environment: dict[str, str]) -> None:
    out = output_of(
        sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *FILES, **environment
    )
    assert " passed" in out
    assert "skipped" not in out
