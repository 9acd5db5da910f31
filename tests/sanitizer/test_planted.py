"""Programs with a mistake each: it is found, with its kind, and explained. Their first lines say what must be said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLANTED = sorted((Path(__file__).parent / "planted").glob("*.py"))


@pytest.mark.parametrize("device", ["cpu", pytest.param("nvidia", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("program", PLANTED, ids=lambda path: path.stem)
def test_it_is_found(program: Path, device: str, tmp_path: Path) -> None:
    if device != "cpu" and "# for the CPU device" in program.read_text():
        pytest.skip("it is for the CPU device")
    expected = program.read_text().splitlines()[0].removeprefix("#").replace("cpu:0", f"{device}:0")
    kind, *words = (word.strip() for word in expected.split("|"))
    report = tmp_path / "report.json"
    done = subprocess.run(
        [sys.executable, "-m", "infinirt", "sanitize", "--json", report, program],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "INFINIRT_CPU_DEVICES": "2", "INFINIRT_DEVICE": device},
    )
    assert done.returncode == 9, done.stdout + done.stderr
    said = json.loads(report.read_text())
    assert not said["problems"]
    assert [finding["kind"] for finding in said["findings"]] == [kind], done.stderr
    for word in words:
        assert word in done.stderr
    for place in said["findings"][0]["places"]:
        assert place["stack"], "every place has its line in the program"
        assert place["stack"][0].startswith(str(program))


def test_a_program_that_fails_shows_its_own_lines_only(tmp_path: Path) -> None:
    program = tmp_path / "failing.py"
    program.write_text("def inner():\n    raise KeyError('this')\ninner()\n")
    done = subprocess.run(
        [sys.executable, "-m", "infinirt", "sanitize", program], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    shown = [line for line in done.stderr.splitlines() if line.startswith('  File "')]
    assert [line.partition(", in ")[2] for line in shown] == ["<module>", "inner"], done.stderr
    assert "KeyError: 'this'" in done.stderr


def test_the_first_call_of_a_program_is_on_the_device_that_it_chose() -> None:
    program = Path(__file__).parent / "planted" / "freed_while_another_stream_reads.py"
    done = subprocess.run(
        [sys.executable, "-m", "infinirt", "sanitize", program],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "INFINIRT_CPU_DEVICES": "2", "INFINIRT_DEVICE": "cpu:1"},
    )
    assert done.returncode == 9, done.stdout + done.stderr
    assert "let stream 1 of cpu:1 wait for an event recorded on stream 2 of cpu:1" in done.stderr
