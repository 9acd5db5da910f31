"""The conformance kit's cases of collectives, on one device and on four."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from infinirt.conformance.case import select
from installed import output_of


@pytest.mark.parametrize("devices", ["1", "4"])
def test_the_cpu_device_passes(devices: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = [
        "-m",
        "infinirt",
        "conformance",
        "--backend",
        "cpu",
        "--level",
        "advanced",
        "--group",
        "collective",
    ]
    output_of(sys.executable, *command, "--json", report, INFINIRT_CPU_DEVICES=devices)
    cases = json.loads(report.read_text())["cases"]
    assert {each["id"] for each in cases} == {each.id for each in select("advanced", ("collective",))}
    assert len(cases) >= 10
