"""For pytest: `pytest -p infinirt.sanitizer.pytest_plugin` fails every test in which something is found.

It looks on from before the tests are collected until after the last one, so that it knows what modules and fixtures have made. A test fails for what is found from its
set-up on, also in its fixtures; what is found when these end is an error there. Leaks are not looked for: fixtures and caches outlive tests.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any

import pytest

from .findings import counted
from .host_memory import ask_for_watching
from .observer import Sanitizer

_Wrapper = Generator[None, Any, Any]


def pytest_configure(config: pytest.Config) -> None:
    ask_for_watching()
    config.pluginmanager.register(_Plugin(), "infinirt-sanitizer")


class _Plugin:
    def __init__(self) -> None:
        self._sanitizer = Sanitizer()
        self._outside_tests = ""

    def pytest_sessionstart(self) -> None:
        self._sanitizer.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> _Wrapper:
        self._begin()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> _Wrapper:
        self._outside_tests += self._found()
        self._begin()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> _Wrapper:
        return (yield from self._phase(item, "call"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> _Wrapper:
        return (yield from self._phase(item, "teardown"))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._outside_tests += self._found()
        self._sanitizer.stop()
        if self._outside_tests:
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._outside_tests:
            terminalreporter.section("found outside tests")
            terminalreporter.write_line(self._outside_tests)

    def _begin(self) -> None:
        # The frame of pluggy that calls the test, too: what is pytest's own ends there.
        self._sanitizer.outside = sys._getframe(2)

    def _phase(self, item: pytest.Item, name: str) -> _Wrapper:
        self._sanitizer.outside = sys._getframe(2)
        try:
            result = yield
        except BaseException:
            if found := self._found():
                item.add_report_section(name, "sanitizer", found)  # beside why it failed
            raise
        if found := self._found():
            pytest.fail(found, pytrace=False)
        return result

    def _found(self) -> str:
        """What was found since this was asked last, in words."""
        findings = self._sanitizer.take_findings()
        problems = list(dict.fromkeys(self._sanitizer.problems))
        self._sanitizer.problems.clear()
        said = [finding.text() for finding in findings]
        if findings:
            said.insert(0, f"the sanitizer found {counted(findings)}")
        said += [f"the sanitizer itself failed, and may have missed something: {each}" for each in problems]
        return "\n\n".join(said)
