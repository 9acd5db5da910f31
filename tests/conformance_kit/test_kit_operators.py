"""The operators' cases of the conformance kit: found faults, and device types or machines on which they cannot be asked."""

from __future__ import annotations

import os
from pathlib import Path

from kit_support import HERE, kit

from infiniop.schema import OPERATORS
from infinirt.conformance.case import select


def test_every_operator_of_the_schema_has_its_cases() -> None:
    ids = {case.id for case in select("full", ("operator",))}
    for operator in OPERATORS:
        word = operator.python_name.replace("_", "-")
        assert {f"operator.{word}.{kind}" for kind in ("values", "layouts", "refusals")} <= ids
    assert {"operator.order", "operator.capture", "operator.threads", "operator.handle.destroyed"} <= ids


def test_a_wrong_element_is_told_with_its_place(tmp_path: Path) -> None:
    report = kit(
        tmp_path, "--backend", "cpu", "--case", "operator.tanh.values", "--import", HERE / "faulty_operators.py",
        KIT_FAULT="operator-loses-nan",
    )  # fmt: skip
    entry = report.case("operator.tanh.values")
    assert entry["expected"] == "what NumPy gives for Tanh of F32, special values"
    assert entry["seen"] == "0.0 at [10], not nan; 1 of 15 are wrong"


def test_operators_side_by_side(tmp_path: Path) -> None:
    """Several processes ask the same and find the same, failures too."""
    chosen = [word for name in ("tanh", "sqrt", "neg") for word in ("--case", f"operator.{name}.*")]
    report = kit(
        tmp_path, "--backend", "cpu", *chosen, "--case", "device.count", "--jobs", "3", "--import", HERE / "faulty_operators.py",
        KIT_FAULT="operator-loses-nan",
    )  # fmt: skip
    ids = {
        case.id
        for case in select(
            "full", (), ("operator.tanh.*", "operator.sqrt.*", "operator.neg.*", "device.count")
        )
    }
    assert set(report.of("pass")) | set(report.of("fail")) == ids
    assert report.of("fail") == ["operator.tanh.values"]


def test_a_device_type_without_operators_says_so_in_one_line(tmp_path: Path) -> None:
    report = kit(tmp_path, "--backend", "cpu-min", "--group", "operator", INFINIRT_CPU_MIN="1")
    assert report.status == 0, report.explain()
    ids = [case.id for case in select("full", ("operator",))]
    assert report.of("unsupported") == ids
    lines = [line for line in report.text.splitlines() if "there are no operators for device type" in line]
    assert len(lines) == 1
    assert lines[0].startswith(f"{len(ids)} unsupported: infiniopCreateHandle: ")
    assert "'cpu-min', only for: cpu, nvidia" in lines[0]


def test_without_numpy_the_results_cannot_be_asked_and_the_rest_can(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError('no numpy here', name='numpy')\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    report = kit(
        tmp_path, "--backend", "cpu", "--case", "operator.add.*", "--case", "operator.order", PYTHONPATH=path
    )
    assert report.status == 0, report.explain()
    assert report.of("inapplicable") == ["operator.add.values", "operator.add.layouts"]
    reason = report.case("operator.add.values")["reason"]
    assert "with NumPy's, which cannot be imported" in reason
    assert "pip install numpy ml_dtypes" in reason
    assert report.of("pass") == ["operator.order", "operator.add.refusals"]
