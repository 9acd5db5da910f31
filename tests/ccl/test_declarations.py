"""What we wrote anew of MPI's and NCCL's headers is what their own say."""

from __future__ import annotations

import re
import sysconfig
from importlib.metadata import files
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "csrc" / "ccl"
MPI_NAMES = {
    "kWorld": "COMM_WORLD", "kErrorsReturn": "ERRORS_RETURN", "kNoRequest": "REQUEST_NULL", "kSum": "SUM", "kMin": "MIN",
    "kMax": "MAX", "kProd": "PROD", "kAnd": "LAND", "kOr": "LOR", "kByte": "BYTE",
}  # fmt: skip
MPI_TYPES = {
    "I8": "INT8_T", "I16": "INT16_T", "U16": "UINT16_T", "I32": "INT32_T", "U32": "UINT32_T", "I64": "INT64_T",
    "U64": "UINT64_T", "F32": "FLOAT", "F64": "DOUBLE", "C64": "C_FLOAT_COMPLEX", "C128": "C_DOUBLE_COMPLEX",
}  # fmt: skip
NCCL_TYPES = {
    "I8": "Int8", "U8": "Uint8", "I32": "Int32", "U32": "Uint32", "I64": "Int64", "U64": "Uint64", "F16": "Float16",
    "F32": "Float32", "F64": "Float64", "BF16": "Bfloat16",
}  # fmt: skip


def parameters(text: str) -> int:
    return 0 if text.strip() in ("", "void") else text.count(",") + 1


@pytest.mark.peer("mpich")
def test_mpi() -> None:
    theirs = (Path(sysconfig.get_path("data")) / "include" / "mpi_abi.h").read_text()
    values = {
        name: int(value, 16)
        for name, value in re.findall(r"#define MPI_(\w+) +\(\(MPI_\w+\)(0x\w+)\)", theirs)
    }
    header, source = (SOURCES / "mpi" / name for name in ("library.h", "transfer.cpp"))
    text = header.read_text() + source.read_text()
    for ours, name in MPI_NAMES.items():
        assert [int(each, 16) for each in re.findall(rf"\b{ours} = (0x\w+)", text)] == [values[name]], name
    for ours, name in MPI_TYPES.items():
        found = re.findall(rf"case INFINI_DTYPE_{ours}:\s+return constant\((0x\w+)\)", text)
        assert [int(each, 16) for each in found] == [values[name]], name
    assert re.findall(r"return constant\((0x\w+)\);  // MPI_UINT8_T", text) == [hex(values["UINT8_T"])]
    assert "MPI_THREAD_MULTIPLE                = 4096" in theirs
    for name, ours in re.findall(r"int \(\*(\w+)\)\((.*?)\);", header.read_text()):
        declared = re.search(rf"\bint MPI_{name}\((.*?)\)", theirs)
        assert declared, name
        assert parameters(declared[1]) == parameters(ours), name


@pytest.mark.peer("nvidia-nccl-cu13")
def test_nccl() -> None:
    found = next(file for file in files("nvidia-nccl-cu13") or () if file.name == "nccl.h")
    theirs = Path(str(found.locate())).read_text()
    source = (SOURCES / "nccl" / "library.cpp").read_text()
    for ours, name in NCCL_TYPES.items():
        numbers = re.findall(rf"case INFINI_DTYPE_{ours}:(?:\s+case \w+:)?\s+return \*number = (\d+)", source)
        assert numbers == re.findall(rf"\bnccl{name} += (\d+)\b", theirs), name
    for number, name in enumerate(("Sum", "Prod", "Max", "Min", "Avg")):  # the numbers of infinicclReduceOp_t
        assert re.search(rf"\bnccl{name} += {number}\b", theirs), name
    assert re.search(r"\bncclInProgress += +7\b", theirs)
    assert "#define NCCL_UNIQUE_ID_BYTES 128" in theirs
    header = (SOURCES / "nccl" / "library.h").read_text()
    for name, ours in re.findall(r"\(\*(\w+)\)\((.*?)\);", header):
        declared = re.search(rf"^\S.*\bnccl{name}\(([^)]*)\);", theirs, re.MULTILINE)
        assert declared, name
        assert parameters(declared[1]) == parameters(ours), name
