"""The whole kit on every kind of device type, and with every planted fault."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kit_support import EXAMPLES, HERE, Report, kit
from planted_faults import FAULTS, Fault

from infinirt.conformance import all_cases
from plugin_files import toy


def run(folder: Path, name: str, fault: Fault, *arguments: str) -> Report:
    environment = {"KIT_FAULT": name, "INFINIRT_CPU_DEVICES": "2"}
    if fault.where == "toy":
        return kit(folder, "--backend", "toy", "--plugin", toy(folder, "TOY_COUNTS_TWICE"), *arguments)
    backend, module = {
        "backend": ("faulty", "faulty_backend.py"),
        "calls": ("cpu", "faulty_calls.py"),
        "operators": ("cpu", "faulty_operators.py"),
    }[fault.where]
    limit = "5" if arguments else "20"  # a hang is cut; on a busy machine others have to have enough
    return kit(
        folder, "--backend", backend, "--import", HERE / module, "--limit", limit, *arguments, **environment
    )


@pytest.mark.parametrize(
    "name", ["odd-tail", "counted-twice", "free-twice", "limit-that-is-none", "operator-own-stream"]
)
def test_a_planted_fault_is_found(name: str, tmp_path: Path) -> None:
    """Quickly, one of each kind: the cases that have to find it do."""
    fault = FAULTS[name]
    report = run(tmp_path, name, fault, *(word for id in fault.cases for word in ("--case", id)))
    assert report.status == 1, report.explain()
    assert sorted(report.of("fail")) == sorted(fault.cases), report.explain()


@pytest.mark.full
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_by_these_cases_and_no_others(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    # Operators are half of all cases, and see nothing of what they are not about.
    groups = {case.group for case in all_cases().values()}
    if not any(id.startswith("operator.") for id in fault.cases):
        groups -= {"operator"}
    groups -= {fault.by_chance}
    report = run(tmp_path, name, fault, *(word for group in sorted(groups) for word in ("--group", group)))
    assert report.status == 1, report.explain()
    assert sorted(report.of("fail")) == sorted(fault.cases), report.explain()
    assert len(report.data["cases"]) == sum(case.group in groups for case in all_cases().values())
    if fault.hangs:
        assert "it hangs" in report.case(fault.cases[0])["seen"]


def green(report: Report) -> None:
    assert report.status == 0, report.explain()
    assert report.of("fail") == [], report.explain()
    assert len(report.data["cases"]) == len(all_cases())


@pytest.mark.full
def test_isolated_memory_keeps_every_rule(tmp_path: Path) -> None:
    green(kit(tmp_path, "--backend", "cpu", INFINIRT_CPU_MEMORY="isolated", INFINIRT_CPU_DEVICES="2"))


@pytest.mark.full
def test_the_bare_minimum_keeps_every_rule_by_emulation(tmp_path: Path) -> None:
    report = kit(tmp_path, "--backend", "cpu-min", INFINIRT_CPU_MIN="1", INFINIRT_CPU_DEVICES="2")
    green(report)
    assert len(report.of("emulated")) > 400
    assert 0 < len([id for id in report.of("unsupported") if not id.startswith("operator.")]) < 30


@pytest.mark.full
def test_a_plugin_keeps_every_rule(tmp_path: Path) -> None:
    green(kit(tmp_path, "--backend", "toy", "--plugin", toy(tmp_path)))


@pytest.mark.full
def test_a_backend_in_python_keeps_every_rule(tmp_path: Path) -> None:
    green(kit(tmp_path, "--backend", "simulator", "--import", EXAMPLES / "simulator.py"))


@pytest.mark.full
def test_the_faulty_backend_without_a_fault_keeps_every_rule(tmp_path: Path) -> None:
    green(kit(tmp_path, "--backend", "faulty", "--import", HERE / "faulty_backend.py"))


@pytest.mark.peer("pyopencl", "pocl-binary-distribution")
def test_opencl_keeps_every_rule(tmp_path: Path) -> None:
    green(kit(tmp_path, "--backend", "opencl", "--import", EXAMPLES / "opencl.py"))


@pytest.mark.gpu
def test_a_gpu_keeps_every_rule(tmp_path: Path) -> None:
    # Most of it is compiling operators' kernels, where they are not on disk yet.
    green(kit(tmp_path, "--backend", "nvidia", "--jobs", str(os.cpu_count())))
