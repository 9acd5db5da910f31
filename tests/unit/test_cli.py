"""The command line, as a user calls it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from infinirt import Device, InvalidDeviceError


def infinirt(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "infinirt", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "COLUMNS": "160", **environment},
    )


def test_info_lists_devices_and_backends() -> None:
    done = infinirt("info", INFINIRT_CPU_DEVICES="2", INFINIRT_DEVICE="cpu:1")
    assert done.returncode == 0, done.stderr
    assert "cpu:0" in done.stdout
    assert "cpu:1" in done.stdout
    assert "backend  cpu (built in): ok" in done.stdout
    assert "set      INFINIRT_CPU_DEVICES=2" in done.stdout


def test_info_says_why_there_is_no_device() -> None:
    done = infinirt("info", INFINIRT_CPU_DEVICES="many", INFINIRT_DEVICE="")
    assert "no device" in done.stdout, done.stdout + done.stderr
    assert "INFINIRT_CPU_DEVICES" in done.stdout


@pytest.mark.parametrize("setting", ["cuda", "cpu:5", "amd"])
def test_a_default_device_that_is_not_there_stops_neither_info_nor_demo(setting: str) -> None:
    done = infinirt("info", INFINIRT_DEVICE=setting)
    assert done.returncode == 0, done.stderr
    assert "cpu:0" in done.stdout
    assert "default  none: " in done.stdout
    assert f"set      INFINIRT_DEVICE={setting}" in done.stdout
    done = infinirt("demo", "--device", "cpu", INFINIRT_DEVICE=setting)
    assert done.returncode == 0, done.stdout + done.stderr


def test_info_as_json() -> None:
    data = json.loads(infinirt("info", "--json", INFINIRT_DEVICE="cpu").stdout)
    assert data["default"] == "cpu:0"
    assert data["device_types"][0]["devices"][0]["memory_total"] > 0


def test_demo_reports_every_step_on_every_device() -> None:
    done = infinirt("demo", "--json", INFINIRT_CPU_DEVICES="2")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert [entry["device"] for entry in report if entry["device"].startswith("cpu:")] == ["cpu:0", "cpu:1"]
    for entry in report:
        assert [step["ok"] for step in entry["steps"]] == [True] * 5, entry
        assert entry["steps"][1]["seen"].startswith("the second fill of 64 MiB took ")  # not the first touch
        assert "1024" in entry["steps"][-1]["seen"]  # the error's message names the allocation's size


def test_demo_in_isolated_memory_and_as_text() -> None:
    done = infinirt("demo", "--device", "cpu:0", INFINIRT_CPU_MEMORY="isolated")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "capture and replay" in done.stdout
    assert "WRONG" not in done.stdout


def test_an_unknown_device_is_a_clear_error() -> None:
    done = infinirt("demo", "--device", "abacus:0")
    assert done.returncode != 0
    assert "abacus" in done.stderr
    assert "cpu" in done.stderr


def default_device(**environment: str) -> str:
    """What a fresh process prints as its default device, or the error it ends with."""
    done = subprocess.run(
        [sys.executable, "-c", "import infinirt; print(infinirt.Device())"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "INFINIRT_DEVICE": "cpu", **environment},
    )
    return done.stdout if done.returncode == 0 else done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("INFINIRT_CPU_SCHEDULE", "RANDOM:3"),
        ("INFINIRT_CPU_SCHEDULE", "random:x"),
        ("INFINIRT_CPU_MEMORY", "isolatd"),
        ("INFINIRT_CPU_MEMORY_LIMIT", "lots"),
        ("INFINIRT_CPU_DEVICES", "many"),
        ("INFINIRT_CPU_THREADS", "two"),
        ("INFINIRT_CPU_THREADS", "4x"),
        ("INFINIRT_CPU_THREADS", "0"),
        ("INFINIRT_CPU_THREADS", "-3"),
        ("INFINIRT_CPU_LINGER", "long"),
        ("INFINIRT_CPU_LINGER", "-1"),
    ],
)
def test_misspelt_settings_are_errors_that_name_them(name: str, value: str) -> None:
    said = default_device(**{name: value})
    assert f"infinirt.errors.InvalidValueError: {name}={value}" in said


def test_a_misspelt_schedule_says_what_there_is() -> None:
    assert "INFINIRT_CPU_SCHEDULE=rand:3 is none of async, inline, random:SEED" in default_device(
        INFINIRT_CPU_SCHEDULE="rand:3"
    )


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("gpu", "(what others call gpu is 'nvidia' here)"),
        ("cuda:1", "(what others call cuda is 'nvidia' here)"),
        ("CPU", "(names are in small letters)"),
    ],
)
def test_a_device_by_the_name_of_others(value: str, hint: str) -> None:
    assert f"INFINIRT_DEVICE={value} names no device type {hint}; known types: cpu" in default_device(
        INFINIRT_DEVICE=value
    )
    with pytest.raises(InvalidDeviceError, match=re.escape(f"{hint}; known types: cpu")):
        Device(value)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("INFINIRT_LOG", "errors", "error or api"), ("INFINIRT_LAUNCH_BLOCKING", "yes", "0 or 1")],
)
def test_misspelt_settings_of_no_device_are_reported_once(name: str, value: str, expected: str) -> None:
    program = "import infinirt; b = infinirt.Device().allocate(1 << 20); b.fill(1); b.fill(2); infinirt.Device().sync()"

    def said(setting: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "INFINIRT_DEVICE": "cpu", name: setting},
        )
        assert done.returncode == 0, done.stderr
        return done.stderr.splitlines()

    (line,) = said(value)
    assert f"setting: {name}={value} is not known; it may be {expected}" in line
    assert said("") == []


def test_the_default_device_has_a_number() -> None:
    assert default_device(INFINIRT_DEVICE="cpu:1", INFINIRT_CPU_DEVICES="2") == "cpu:1\n"
    assert default_device() == "cpu:0\n"
    assert "INFINIRT_DEVICE=cpu:9" in default_device(INFINIRT_DEVICE="cpu:9")
    assert "INFINIRT_DEVICE=cpu:x" in default_device(INFINIRT_DEVICE="cpu:x")


def test_calls_and_failures_are_logged_when_asked_for() -> None:
    program = "from infinirt import runtime as rt; rt.infinirtGetDevice(); rt.infinirtStreamDestroy(0); rt.infinirtGetDevice()"

    def logged(level: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "INFINIRT_DEVICE": "cpu", "INFINIRT_LOG": level},
        )
        assert done.returncode == 0, done.stderr
        return [line.split("] ", 1)[1] for line in done.stderr.splitlines() if line.startswith("[infinirt ")]

    assert logged("") == []
    assert [line for line in logged("error") if "infinirtStreamDestroy: stream" in line] == logged("error")
    assert len(logged("error")) == 1
    assert len([line for line in logged("api") if line.startswith("call: infinirtGetDevice(device=0x")]) == 2
    assert (
        len([line for line in logged("api") if line.startswith("done: infinirtGetDevice -> success, ")]) == 2
    )
    failed = [line for line in logged("api") if line.startswith("done: infinirtStreamDestroy -> ")]
    assert len(failed) == 1
    assert "infinirtErrorInvalidResourceHandle" in failed[0]
