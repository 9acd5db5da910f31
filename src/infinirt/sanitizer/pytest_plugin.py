"""For pytest: `pytest -p infinirt.sanitizer.pytest_plugin` fails every test in which something is found.

Leaks are not looked for: fixtures and caches outlive tests.
"""

from __future__ import annotations

import sys
from collections.abc import Generator

import pytest

from .findings import counted
from .host_memory import ask_for_watching
from .observer import Sanitizer


def pytest_configure() -> None:
    ask_for_watching()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    sanitizer = Sanitizer()
    sanitizer.start(
        outside=sys._getframe(1)
    )  # of pluggy, which calls the test, too: what is pytest's own ends there
    try:
        result = yield
    finally:
        sanitizer.stop()
    if sanitizer.findings:
        text = "\n\n".join(finding.text() for finding in sanitizer.findings)
        pytest.fail(f"the sanitizer found {counted(sanitizer.findings)}\n\n{text}", pytrace=False)
    return result
