"""Shared by the tests of the object API."""

from __future__ import annotations

import os
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import infinirt
from infinirt import _core
from installed import output_of

# The device type under test; test_objects_backends.py runs the tests of the objects on others, too.
TYPE = os.environ.get("INFINIRT_TEST_DEVICE_TYPE", "cpu")
PATIENCE = 30  # seconds after which a gate opens by itself, so that a failing test ends

# Whether the host reaches the memory of that type in place, and the marks of tests that are about either case.
REACHED = infinirt.Device(TYPE).allocate(1).is_host_accessible
NATIVE = TYPE == "nvidia"  # a real library, with handles and messages of its own
needs_host_access = pytest.mark.skipif(not REACHED, reason="the host does not reach this memory")
needs_separate_memory = pytest.mark.skipif(REACHED, reason="the host reaches this memory")
needs_cuda_memory = pytest.mark.skipif(not NATIVE, reason="not the memory of CUDA")
needs_other_memory = pytest.mark.skipif(NATIVE, reason="the memory of CUDA")
SKIP_REASONS = {
    mark.kwargs["reason"]
    for mark in (needs_host_access, needs_separate_memory, needs_cuda_memory, needs_other_memory)
}
# What a pool's maximum is rounded up to.
POOL_UNIT = (32 if NATIVE else 2) << 20


def said(text: str) -> str:
    """What an error message must match: the text where the runtime words its messages itself, else any."""
    return "" if NATIVE else text


def contents(buffer: infinirt.Buffer) -> bytes:
    """The bytes of a buffer, copied in the order of its own stream; memory that the host does not reach is no obstacle."""
    out = bytearray(buffer.size)
    buffer.copy_to(out)
    (buffer.stream or buffer.device.default_stream).sync()
    return bytes(out)


def nothing_stays_deferred() -> bool:
    """Whether calls do what destructors could not. A GPU's driver runs some of these on a thread of its own and takes its time, those of earlier tests, too."""
    end = time.monotonic() + PATIENCE
    stream = infinirt.Device(TYPE).default_stream
    while _core.deferred_count() != 0 and time.monotonic() < end:
        time.sleep(0.001)
        stream.query()
    return _core.deferred_count() == 0


@contextmanager
def busy(stream: infinirt.Stream) -> Iterator[threading.Event]:
    """Keeps a stream busy until the event is set, at the end of the block at the latest."""
    gate = threading.Event()
    stream.launch_host_func(gate.wait, PATIENCE)
    try:
        yield gate
    finally:
        gate.set()


def run_python(code: str, **environment: str) -> str:
    """What a program prints in an interpreter of its own; it must end well."""
    return output_of(sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code), **environment)
