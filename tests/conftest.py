"""Options and markers of the whole suite.

- `peer(*names)`: the test needs another project: a distribution, an importable module or a program. Without it the test
  skips and the summary names what was absent; with `--require-peers` it fails.
- `gpu`: needs an NVIDIA GPU; with `--require-gpu` its absence is a failure.
- `memcheck`: of these, what compute-sanitizer watches: correct programs, no bad input, no failing device.
- `full`: more of what a quicker test has shown for one case; left out unless another `-m` is given, as `make test-full` does.
- `soak`: long counts, left out unless asked for with `-m soak`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections import Counter
from functools import cache
from pathlib import Path

import hypothesis
import pytest

from installed import program

# Before infinirt is imported, and inherited by the programs that tests start: on a machine with a GPU, too, a test is about
# the CPU device unless it says otherwise.
os.environ.setdefault("INFINIRT_DEVICE", "cpu")

# How long an example takes says nothing about whether it is right, least of all on a shared machine.
hypothesis.settings.register_profile("infinirt", deadline=None, print_blob=True)
hypothesis.settings.load_profile("infinirt")

CPP_VARIANTS = ("release", "thread", "address")
_absent_peers = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("infinirt")
    group.addoption("--require-peers", action="store_true", help="a missing peer fails instead of skipping")
    group.addoption("--require-gpu", action="store_true", help="a missing GPU fails instead of skipping")
    group.addoption(
        "--cpp-variants",
        default="release",
        help=f"builds in which the C++ tests run, of {','.join(CPP_VARIANTS)} (default: release)",
    )
    group.addoption(
        "--cpp-build-root",
        default=os.environ.get("INFINIRT_CPP_BUILD_ROOT", "build/cpp"),
        help="where the C++ tests are built (default: build/cpp, or INFINIRT_CPP_BUILD_ROOT)",
    )
    group.addoption(
        "--cpp-release-tree",
        default=os.environ.get("INFINIRT_CPP_RELEASE_TREE", ""),
        help="a build folder of the package, configured with INFINIRT_BUILD_TESTS=ON: the C++ tests of the release"
        " variant are built there, from its objects (default: INFINIRT_CPP_RELEASE_TREE, or a build of their own)",
    )
    group.addoption(
        "--part", metavar="I/N", help="only every N-th of the tests chosen, from the I-th (1 is the first)"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "peer(*names): needs these distributions, modules or programs")
    config.addinivalue_line("markers", "gpu: needs an NVIDIA GPU")
    config.addinivalue_line("markers", "memcheck: a GPU test that compute-sanitizer runs, too")
    config.addinivalue_line("markers", "full: too long for make test; make test-full runs it")
    config.addinivalue_line("markers", "soak: long counts, only with -m soak")
    # pytest-timeout's own marker, known also where that plugin is not installed.
    config.addinivalue_line("markers", "timeout(seconds): limit of one test, kept by pytest-timeout")
    config.stash[_absent_peers] = Counter()
    unknown = set(cpp_variants(config)) - set(CPP_VARIANTS)
    if unknown:
        raise pytest.UsageError(
            f"--cpp-variants: {', '.join(sorted(unknown))} is none of {', '.join(CPP_VARIANTS)}"
        )


def cpp_variants(config: pytest.Config) -> list[str]:
    return [name for name in config.getoption("--cpp-variants").split(",") if name]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cpp_variant" in metafunc.fixturenames:
        metafunc.parametrize("cpp_variant", cpp_variants(metafunc.config))


def part(text: str) -> tuple[int, int]:
    index, _, count = text.partition("/")
    if not (index.isdigit() and count.isdigit() and 1 <= int(index) <= int(count)):
        raise pytest.UsageError(f"--part: {text!r} is not I/N with I from 1 to N, like 1/4")
    return int(index), int(count)


@pytest.hookimpl(trylast=True)  # of what -m and -k have left
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.getoption("--part")
    if wanted is None:
        return
    index, count = part(wanted)
    chosen = items[index - 1 :: count]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


@cache
def has_peer(name: str) -> bool:
    """Whether a distribution, module or program of that name is there; `a|b` asks for either. Nothing is imported."""
    if "|" in name:
        return any(map(has_peer, name.split("|")))
    try:
        importlib.metadata.version(name)
        return True
    except importlib.metadata.PackageNotFoundError:
        pass
    try:
        if importlib.util.find_spec(name) is not None:
            return True
    except (ModuleNotFoundError, ValueError):
        pass
    return program(name) is not None


@cache
def has_gpu() -> bool:
    """Judged by the device files: asking the driver would load it into the process under test."""
    return any(path.name[len("nvidia") :].isdigit() for path in Path("/dev").glob("nvidia[0-9]*"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    # First: a test's peers matter only where it can run.
    if item.get_closest_marker("gpu") is not None and not has_gpu():
        if item.config.getoption("--require-gpu"):
            pytest.fail("no NVIDIA GPU on this machine", pytrace=False)
        pytest.skip("no NVIDIA GPU on this machine")
    names = [name for mark in item.iter_markers("peer") for name in mark.args]
    absent = [name for name in names if not has_peer(name)]
    if absent:
        message = f"peer not installed: {', '.join(absent)}"
        if item.config.getoption("--require-peers"):
            pytest.fail(message, pytrace=False)
        item.config.stash[_absent_peers].update(absent)
        pytest.skip(message)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    absent = config.stash[_absent_peers]
    if absent:
        terminalreporter.section("peers that are not installed")
        for name, count in sorted(absent.items()):
            terminalreporter.line(f"{name}: {count} test{'s' if count > 1 else ''} skipped")
        terminalreporter.line("`make test-full` installs them")
