"""The beginnings of CUPTI's records, as this runtime reads them, against NVIDIA's header of either version."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest
from api_spec import ROOT
from c_text import compiles

# Ours, theirs, and the fields that are read of them.
COMMON = {
    "start": "start",
    "end": "end",
    "device": "deviceId",
    "stream": "streamId",
    "correlation": "correlationId",
}
GRAPH = {"graph_node": "graphNodeId"}
LAYOUTS = {
    "KernelRecord": ("Kernel", {**COMMON, **GRAPH, "name": "name"}),
    "MemcpyRecord": ("Memcpy", {**COMMON, **GRAPH, "bytes": "bytes"}),
    "MemcpyPeerRecord": ("MemcpyPtoP", {**COMMON, **GRAPH, "bytes": "bytes"}),
    "MemsetRecord": ("Memset", {**COMMON, **GRAPH, "bytes": "bytes"}),
    "ExternalRecord": (
        "ExternalCorrelation",
        {"external_kind": "externalKind", "external": "externalId", "correlation": "correlationId"},
    ),
}
NUMBERS = {
    "kMemcpy": "CUPTI_ACTIVITY_KIND_MEMCPY",
    "kMemset": "CUPTI_ACTIVITY_KIND_MEMSET",
    "kKernel": "CUPTI_ACTIVITY_KIND_KERNEL",
    "kDriver": "CUPTI_ACTIVITY_KIND_DRIVER",
    "kRuntime": "CUPTI_ACTIVITY_KIND_RUNTIME",
    "kConcurrentKernel": "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
    "kMemcpyPeer": "CUPTI_ACTIVITY_KIND_MEMCPY2",
    "kExternalCorrelation": "CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION",
    "kCustomCorrelation": "CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0",
}


def folders(*wheels: str) -> list[Path]:
    """Where the wheels have their headers."""
    found = set()
    for wheel in wheels:
        for file in importlib.metadata.files(wheel) or ():
            if file.parent.name == "include" and file.suffix == ".h":
                found.add(Path(str(file.locate())).parent)
    return sorted(found)


def newest(header: str, record: str) -> str:
    """The name of the latest version of a record that the header declares."""
    versions = re.findall(rf"\}} (CUpti_Activity{record}(\d*));", header)
    assert versions, record
    return max(versions, key=lambda version: int(version[1] or 0))[0]


def program(header: str) -> str:
    lines = [
        "#include <cupti.h>",
        '#include "backends/nvidia/cupti_records.h"',
        "using namespace infinirt::nvidia::cupti;",
    ]
    for ours, (record, fields) in LAYOUTS.items():
        theirs = newest(header, record)
        for mine, name in fields.items():
            lines.append(
                f"static_assert(offsetof({ours}, {mine}) == offsetof({theirs}, {name}) && "
                f"sizeof({ours}::{mine}) == sizeof({theirs}::{name}));"
            )
    lines += [f"static_assert({mine} == {theirs});" for mine, theirs in NUMBERS.items()]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "wheels",
    [
        pytest.param(wheels, marks=pytest.mark.peer(*wheels), id=version)
        for version, wheels in {
            "12": ("nvidia-cuda-cupti-cu12", "nvidia-cuda-runtime-cu12", "nvidia-cuda-nvcc-cu12"),
            "13": ("nvidia-cuda-cupti", "nvidia-cuda-runtime", "nvidia-cuda-crt"),
        }.items()
    ],
)
def test_records_begin_as_nvidia_declares_them(wheels: tuple[str, ...], tmp_path: Path) -> None:
    includes = folders(*wheels)
    (header,) = [f / "cupti_activity.h" for f in includes if (f / "cupti_activity.h").exists()]
    text = program(header.read_text(encoding="utf-8"))
    source = tmp_path / "records.cpp"
    source.write_text(text)
    done = compiles(source, "-std=c++20", includes=[ROOT / "csrc", *includes])
    assert done.returncode == 0, done.stderr
    source.write_text(
        text.replace("offsetof(KernelRecord, start) ==", "4 + offsetof(KernelRecord, start) ==")
    )
    assert compiles(source, "-std=c++20", includes=[ROOT / "csrc", *includes]).returncode != 0
