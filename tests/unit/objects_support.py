"""Shared by the tests of the object API."""

from __future__ import annotations

import os
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import infinirt
from installed import output_of

# The device type under test; test_objects_backends.py runs the tests of the objects on others, too.
TYPE = os.environ.get("INFINIRT_TEST_DEVICE_TYPE", "cpu")
PATIENCE = 30  # seconds after which a gate opens by itself, so that a failing test ends


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
