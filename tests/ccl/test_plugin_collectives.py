"""A plugin's own collectives: the toy accelerator has some, and infiniccl uses them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from infinirt.conformance.case import select
from installed import output_of
from plugin_files import toy

PROGRAM = Path(__file__).with_name("plugin_ranks.py")


def run(plugin: Path, role: str, **environment: str) -> str:
    return output_of(sys.executable, PROGRAM, role, INFINIRT_PLUGIN_PATH=str(plugin), **environment)


@pytest.mark.parametrize("layout", ["2.6", "3.3"])
def test_all_operations(layout: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert run(toy(tmp_path, "TOY_COLLECTIVES", layout=layout), "matrix", TOY_LOG=str(log)).endswith(
        "agrees\n"
    )
    said = log.read_text().splitlines()
    assert said.count("joined 0") == 3
    assert said.count("left") == sum(line.startswith("joined") for line in said)  # none is forgotten


@pytest.mark.parametrize("more", ["TOY_NO_ALL_TO_ALL", "TOY_LOW", "TOY_THREAD_SAFE"])
def test_all_operations_of_other_plugins(more: str, tmp_path: Path) -> None:
    """Without an entry that others can stand in for; at addresses that begin at 0; and where any number of threads may call."""
    assert run(toy(tmp_path, "TOY_COLLECTIVES", more), "matrix").endswith("agrees\n")


def test_ranks_that_join_on_their_own(tmp_path: Path) -> None:
    assert run(toy(tmp_path, "TOY_COLLECTIVES", "TOY_DEVICES=3"), "threads").endswith("agrees\n")


def test_what_is_refused(tmp_path: Path) -> None:
    said = run(toy(tmp_path, "TOY_COLLECTIVES"), "refusals").splitlines()
    expected = [
        "is not memory of toy:0",
        "is not memory of toy:0",
        "there is no sum of f8",
        "of one type; they are of: cpu, toy",
        "toy:7",
        "xccl_all_reduce of the plugin of device type 'toy' failed with status 3",
        "xccl_all_reduce of the plugin of device type 'toy' failed with status 3",
    ]
    assert len(said) == len(expected), said
    for line, part in zip(said, expected, strict=True):
        assert part in line


def test_a_process_group(tmp_path: Path) -> None:
    said = run(toy(tmp_path, "TOY_COLLECTIVES"), "alone")
    assert (
        said == "Communicator(rank=0, size=1, device='toy:1') b'toy' 11 1\n"
    )  # InfiniCore has no number for it


def kit(plugin: Path, folder: Path) -> dict[str, str]:
    report = folder / "report.json"
    command = [
        "-m",
        "infinirt",
        "conformance",
        "--backend",
        "toy",
        "--level",
        "advanced",
        "--group",
        "collective",
    ]
    environment = {**os.environ, "INFINIRT_PLUGIN_PATH": str(plugin)}
    subprocess.run(
        [sys.executable, *command, "--json", str(report)], env=environment, timeout=240, capture_output=True
    )
    return {each["id"]: each["result"] for each in json.loads(report.read_text())["cases"]}


def test_the_conformance_kit(tmp_path: Path) -> None:
    results = kit(toy(tmp_path, "TOY_COLLECTIVES"), tmp_path)
    assert set(results) == {each.id for each in select("advanced", ("collective",))}
    assert set(results.values()) == {"emulated"}, results  # done: its streams are the runtime's


def test_the_conformance_kit_without_collectives_of_its_own(tmp_path: Path) -> None:
    """Then they go through page-locked memory of the host."""
    results = kit(toy(tmp_path), tmp_path)
    assert set(results) == {each.id for each in select("advanced", ("collective",))}
    assert set(results.values()) == {"emulated"}, results


def test_the_conformance_kit_finds_a_fault(tmp_path: Path) -> None:
    results = kit(toy(tmp_path, "TOY_COLLECTIVES", "TOY_GATHERS_BACKWARDS"), tmp_path)
    assert [id for id, result in results.items() if result != "emulated"] == ["collective.moves"]
