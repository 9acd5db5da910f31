"""Builds tests/cpp/*_test.cpp once per variant and runs each executable as one test; exit status 0 means passed."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest
from building import background, folder_of

from plugin_files import toy
from vendor_files import VENDORS, settings

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted(path.stem for path in Path(__file__).parent.glob("*_test.cpp"))
SANITIZER_ENVIRONMENT = {
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
    # The core leaks its singletons on purpose, so that nothing is destroyed under a running worker.
    "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


# What these programs ask holds on every backend and kind of memory.
SEMANTICS = (
    "stream_test",
    "stream_race_test",
    "stream_destroy_test",
    "event_test",
    "device_test",
    "error_test",
    "host_function_test",
    "capture_test",
    "capture_rules_test",
    "graph_test",
    "graph_launch_test",
    "graph_memory_test",
    "pool_test",
    "pool_reuse_test",
    "pool_stress_test",
    "cache_test",
    "torch_allocator_test",
    "memory_test",
    "copy_test",
    "copy_order_test",
    "kernel_test",
    "library_test",
    "ipc_memory_test",
    "ipc_event_test",
    "ipc_pool_test",
)
# But these look into the engine, or at kernels or several devices of the CPU type.
OWN_ENGINE = ("stream_destroy_test", "device_test", "kernel_test", "library_test")
QUICK_ON_VENDORS = (("stream_test", "amd"), ("copy_test", "amd"), ("event_test", "amd"))
NEED_KERNELS = ("kernel_test", "library_test")
# These are about the CPU device, in all its kinds of memory.
OPERATORS = ("operator_test",)
SETTINGS = {
    "minimal": {"INFINIRT_CPU_MIN": "1", "INFINIRT_DEVICE": "cpu-min"},
    "isolated": {"INFINIRT_CPU_MEMORY": "isolated"},
    "guarded": {"INFINIRT_CPU_MEMORY": "guarded"},
    "one worker": {"INFINIRT_CPU_THREADS": "1"},
}


@functools.cache
def fixed_addresses() -> list[str]:
    """Prefix that turns address randomisation off where the system permits it.

    The thread sanitizer of older compilers gives up when the kernel maps the program outside the ranges it knows.
    """
    prefix = ["setarch", platform.machine(), "-R"]
    if shutil.which("setarch") is None:
        return []
    permitted = subprocess.run([*prefix, "true"], capture_output=True).returncode == 0
    return prefix if permitted else []


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.timeout(1800)
def test_program(name: str, cpp_variant: str, pytestconfig: pytest.Config) -> None:
    run(name, cpp_variant, pytestconfig, {})


@pytest.mark.parametrize("setting", [setting for setting in SETTINGS if setting != "minimal"])
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.full
@pytest.mark.timeout(1800)
def test_operators_in_other_settings(name: str, setting: str, pytestconfig: pytest.Config) -> None:
    run(name, "release", pytestconfig, SETTINGS[setting])


LONG = ("pool_reuse_test", "pool_stress_test")  # too long for one setting more where time is short


@pytest.mark.parametrize(
    "setting",
    [
        "minimal",
        pytest.param("isolated", marks=pytest.mark.full),
        pytest.param("guarded", marks=pytest.mark.full),
        pytest.param("one worker", marks=pytest.mark.full),
    ],
)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name in LONG else ()) for name in SEMANTICS]
)
@pytest.mark.timeout(1800)
def test_program_in_other_settings(name: str, setting: str, pytestconfig: pytest.Config) -> None:
    run(name, "release", pytestconfig, SETTINGS[setting])


@pytest.mark.full
@pytest.mark.parametrize("kind", ["all entries", "required entries", "low addresses"])
@pytest.mark.parametrize("name", [name for name in SEMANTICS if name not in NEED_KERNELS])
@pytest.mark.timeout(1800)
def test_program_on_a_plugin(name: str, kind: str, pytestconfig: pytest.Config) -> None:
    """A plugin written for PaddlePaddle: whatever it lacks is made up for."""
    defines = {"all entries": (), "required entries": ("TOY_MINIMAL",), "low addresses": ("TOY_LOW",)}[kind]
    plugin = toy_plugin(built("release", pytestconfig), kind, *defines)
    run(name, "release", pytestconfig, {"INFINIRT_PLUGIN_PATH": str(plugin), "INFINIRT_DEVICE": "toy"})


@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        pytest.param(name, vendor, marks=() if (name, vendor) in QUICK_ON_VENDORS else pytest.mark.full)
        for name in SEMANTICS
        if name not in NEED_KERNELS
        for vendor in VENDORS
    ],
)
@pytest.mark.timeout(1800)
def test_program_on_a_vendor(name: str, vendor: str, pytestconfig: pytest.Config) -> None:
    """A library with the vendor's names. One vendor and three programs are enough where time is short."""
    folder = built("release", pytestconfig)
    run(name, "release", pytestconfig, {**vendor_settings(folder, vendor), "INFINIRT_DEVICE": vendor})


@functools.cache
def vendor_settings(folder: Path, vendor: str) -> dict[str, str]:
    return settings(folder / "vendors" / vendor, vendor)


@functools.cache
def toy_plugin(folder: Path, kind: str, *defines: str) -> Path:
    return toy(folder / "plugins" / kind.replace(" ", "-"), *defines)


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name in SEMANTICS if name not in OWN_ENGINE])
@pytest.mark.timeout(1800)
def test_program_on_a_gpu(name: str, pytestconfig: pytest.Config) -> None:
    """Each test in a process of its own: one that breaks the driver's state is not the next one's failure."""
    program_path = built("release", pytestconfig) / name
    names = subprocess.run(
        [str(program_path), "--list"], capture_output=True, text=True, check=True
    ).stdout.split()
    failures, passed = [], 0
    for test in names:
        try:
            out = start(program_path, {"INFINIRT_DEVICE": "nvidia"}, f"={test}", timeout=90)
        except AssertionError as failure:
            failures.append(f"{test}: {failure}")
        else:
            passed += "1 passed" in out
            print(out)  # what was skipped, and why
    assert not failures, "\n".join([f"{len(failures)} of {len(names)} failed", *failures])
    assert passed > 0


def built(cpp_variant: str, pytestconfig: pytest.Config) -> Path:
    builds = pytestconfig.stash[background]
    output = builds.wait(cpp_variant)
    folder = None if output else folder_of(builds.root, builds.tree, cpp_variant) / "tests"
    if folder is None:
        pytest.fail(f"the {cpp_variant} build failed\n{output}", pytrace=False)
    return folder


def run(name: str, cpp_variant: str, pytestconfig: pytest.Config, setting: dict[str, str]) -> None:
    folder = built(cpp_variant, pytestconfig)
    prefix = fixed_addresses() if cpp_variant == "thread" else []
    try:
        start(folder / name, setting, prefix=prefix)
    except AssertionError as failure:
        pytest.fail(f"{name} ({cpp_variant}): {failure}", pytrace=False)


def start(
    path: Path,
    setting: dict[str, str],
    *arguments: str,
    prefix: list[str] | None = None,
    timeout: float = 600,
) -> str:
    """What a program prints when it succeeds; AssertionError with that when it does not."""
    try:
        done = subprocess.run(
            [*(prefix or []), str(path), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
            env={"INFINIRT_DEVICE": "cpu", **SANITIZER_ENVIRONMENT, **os.environ, **setting},
        )
    except subprocess.TimeoutExpired as expired:
        said = (expired.output or b"").decode(errors="replace") if isinstance(expired.output, bytes) else ""
        raise AssertionError(f"still ran after {expired.timeout:.0f} s\n{said[-20000:]}") from None
    if done.returncode != 0:
        raise AssertionError(f"exit status {done.returncode}\n{done.stdout[-20000:]}")
    return done.stdout
