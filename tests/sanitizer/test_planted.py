"""Programs with a mistake each: it is found, with its kind, and explained. Their first lines say what must be said."""

from __future__ import annotations

import json
import os
import re
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
        cwd=program.parent,
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


RACE = """
import infinirt

def fill_and_copy(device):
    producer, consumer = device.create_stream(), device.create_stream()
    with device.allocate(64, stream=producer) as data, device.allocate(64, stream=consumer) as copy:
        data.fill(1, stream=producer)
        copy.copy_from(data, stream=consumer)
        producer.sync()
        consumer.sync()
"""
PATHS = re.compile(r"[^\s(]*\.py:\d+")


def check_places(said: str, caller: str) -> None:
    """Paths from the current folder, the same everywhere, and nothing but the program's own frames."""
    assert {place.rpartition(":")[0] for place in PATHS.findall(said)} == {"inner/racing.py", caller}
    stacks = [line.strip() for line in said.splitlines() if re.match(r" {6}\S+:\d+ in ", line)]
    assert [line.partition(" in ")[0].rpartition(":")[0] for line in stacks] == [
        "inner/racing.py",
        caller,
    ] * 2
    assert "inner/racing.py:8 in fill_and_copy: copy.copy_from(data, stream=consumer)" in stacks[0]
    assert "stream.wait(other_stream.record()) before infinirtMemcpyAsync (inner/racing.py:8)" in said


@pytest.mark.parametrize("goes_elsewhere", [False, True])
def test_paths_are_from_the_current_folder(tmp_path: Path, goes_elsewhere: bool) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "racing.py").write_text(RACE)
    script = tmp_path / "script.py"
    going = "os.chdir('/')" if goes_elsewhere else ""
    script.write_text(
        f"import os, infinirt\nfrom inner.racing import fill_and_copy\n{going}\nfill_and_copy(infinirt.Device('cpu'))\n"
    )
    for name in ("script.py", str(script)):
        done = subprocess.run(
            [sys.executable, "-m", "infinirt", "sanitize", name],
            capture_output=True, text=True, timeout=120, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 9, done.stdout + done.stderr
        check_places(done.stderr, "script.py")


@pytest.mark.parametrize("started", [["-m", "pytest"], ["-c", "import pytest, sys; sys.exit(pytest.main())"]])
def test_reports_of_the_plugin_end_at_the_test(tmp_path: Path, started: list[str]) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "racing.py").write_text(RACE)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (tmp_path / "test_it.py").write_text(
        "import infinirt\nfrom inner.racing import fill_and_copy\n\ndef test_race():\n    fill_and_copy(infinirt.Device('cpu'))\n"
    )
    done = subprocess.run(
        [sys.executable, *started, "-q", "-p", "no:cacheprovider", "-p", "infinirt.sanitizer.pytest_plugin", "test_it.py"],
        capture_output=True, text=True, timeout=120, cwd=tmp_path, env={**os.environ, "PYTEST_ADDOPTS": ""},
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    report = done.stdout.partition("race: ")[2].partition("short test summary")[0]
    check_places(report, "test_it.py")


def test_a_fixture_that_the_test_asks_for_is_shown_with_the_test(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        f"import pytest\n{RACE}\n"
        "@pytest.fixture\ndef racing():\n    fill_and_copy(infinirt.Device('cpu'))\n\n"
        "def test_race(request):\n    request.getfixturevalue('racing')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "infinirt.sanitizer.pytest_plugin", "."],
        capture_output=True, text=True, timeout=120, cwd=tmp_path, env={**os.environ, "PYTEST_ADDOPTS": ""},
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    report = done.stdout.partition("short test summary")[0]  # which repeats it where CI is set
    functions = re.findall(r"^ {6}test_it\.py:\d+ in (\w+)", report, re.M)
    assert functions == ["fill_and_copy", "racing", "test_race"] * 2
    assert "__main__" not in done.stdout
