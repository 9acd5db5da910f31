"""Shared by the tests that need a GPU: both device types in one process, through the flat API."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest

from infinirt import runtime as rt

Kind = rt.infinirtMemcpyKind


def cannot_run(config: pytest.Config, reason: str) -> NoReturn:
    """Skips; fails where the GPU's tests were asked for, so that nothing is left out unseen."""
    if config.getoption("--require-gpu"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def ok(result: tuple[Any, ...]) -> Any:
    error, *outputs = result
    assert int(error) == 0, f"{error!r}: {rt.infinirtXGetLastErrorMessage()[1]}"
    return None if not outputs else outputs[0] if len(outputs) == 1 else tuple(outputs)


def fails(result: tuple[Any, ...], code: int) -> str:
    """The message of a call that must have failed with this code."""
    assert int(result[0]) == code, result
    text = str(rt.infinirtXGetLastErrorMessage()[1])
    rt.infinirtGetLastError()
    return text


@contextmanager
def using(device_type: str) -> Iterator[None]:
    before = ok(rt.infinirtXGetDeviceType())
    ok(rt.infinirtXSetDeviceType(device_type))
    try:
        yield
    finally:
        ok(rt.infinirtXSetDeviceType(before))


def pattern(size: int, seed: int = 0) -> bytes:
    return bytes((i * 7 + (i >> 8) + seed) & 0xFF for i in range(min(size, 1 << 16))) * (
        size // (1 << 16) + 1
    )


def check_same(found: bytes, expected: bytes) -> None:
    """Without a comparison of megabytes in the report."""
    same = found == expected
    assert same, (
        f"{len(found)} bytes differ, the first at {next(i for i, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b)}"
    )


def host(size: int) -> Any:
    return ctypes.create_string_buffer(size)


def run_python(code: str, **environment: str) -> str:
    """What a program prints in an interpreter of its own, with type nvidia; it must end well."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "INFINIRT_DEVICE": "nvidia", **environment},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout
