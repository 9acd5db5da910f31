"""The plugin for pytest: what a test fails for."""

from __future__ import annotations

import re
from pathlib import Path

from sanitizing import run_tests

GEAR = """
import infinirt, pytest

def made():
    device = infinirt.Device("cpu")
    one, other = device.create_stream(), device.create_stream()
    return one, other, device.allocate(1 << 20, stream=one), device.allocate(1 << 20, stream=one)

def race(one, other, source, target):
    source.fill(1, stream=one)
    target.copy_from(source, stream=other)
    one.sync()
    other.sync()
"""


def outcomes(said: str) -> set[str]:
    return set(re.findall(r"^(?:FAILED|ERROR) test_it\.py::(\S+)", said, re.M))


FIXTURES = f"""{GEAR}
@pytest.fixture(params=["function"])
def gear(): return made()

@pytest.fixture(scope="session")
def shared(): return made()

everywhere = made()

@pytest.fixture
def races_at_first(shared): race(*shared)

@pytest.fixture
def races_at_last(shared):
    yield
    race(*shared)

def test_fixture(gear): race(*gear)
def test_module(): race(*everywhere)
@pytest.mark.parametrize("number", [0, 1])
def test_again(shared, number): race(*shared)
def test_ordered(shared):
    one, other, source, target = shared
    source.fill(1, stream=one)
    other.wait(one.record())
    target.copy_from(source, stream=other)
    other.sync()
def test_ordered_by_a_copy_to_a_fixture(gear):
    one, other, _, target = gear
    own, copy = made()[2:]
    own.fill(1, stream=one)
    target.copy_from(own, stream=one)
    copy.copy_from(own, stream=other)
def test_first(races_at_first): pass
def test_last(races_at_last): pass
def test_leaves(): infinirt.runtime.infinirtMalloc(64)
"""


def test_memory_of_fixtures_and_modules_is_known(tmp_path: Path) -> None:
    done = run_tests(tmp_path, FIXTURES)
    assert outcomes(done.stdout) == {
        "test_fixture[function]", "test_module", "test_again[0]", "test_again[1]",
        "test_ordered_by_a_copy_to_a_fixture[function]", "test_first", "test_last",
    }, done.stdout  # fmt: skip
    assert "ERROR test_it.py::test_last" in done.stdout
    assert done.stdout.count("\nrace: ") >= 7
    assert "in made" in done.stdout, "where the memory was allocated"


def test_what_is_found_stands_beside_another_failure(tmp_path: Path) -> None:
    done = run_tests(tmp_path, f"{GEAR}\ndef test_it():\n    race(*made())\n    assert False, 'another'\n")
    assert "AssertionError: another" in done.stdout
    assert "the sanitizer found 1 × race" in done.stdout


def test_what_is_found_while_tests_are_collected_is_told(tmp_path: Path) -> None:
    done = run_tests(tmp_path, f"{GEAR}\nrace(*made())\n\ndef test_it(): pass\n")
    assert done.returncode == 1, done.stdout
    assert "1 passed" in done.stdout
    assert "found outside tests" in done.stdout
    assert "the sanitizer found 1 × race" in done.stdout


def test_a_failure_of_the_checker_is_one_of_the_test(tmp_path: Path) -> None:
    text = """
import infinirt
from infinirt.sanitizer.calls import Calls
def test_broken(monkeypatch):
    monkeypatch.setattr(Calls, "take", lambda self, call: 1 / 0)
    infinirt.Device("cpu").create_stream()
def test_whole(): infinirt.Device("cpu").create_stream()
"""
    done = run_tests(tmp_path, text)
    assert outcomes(done.stdout) == {"test_broken"}, done.stdout
    assert "the sanitizer itself failed" in done.stdout
