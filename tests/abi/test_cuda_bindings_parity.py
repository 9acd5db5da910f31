"""`infinirt.runtime` has the shape of `cuda.bindings.runtime`: names, parameters, enum members, struct fields, constants.

Everything of that module that belongs to our surface is compared. Differences are allowed only where the tables below
explain them, and an explanation that no longer explains anything is an error too.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
from types import ModuleType
from typing import Any

import pytest

from infinirt._spec.python.by_hand import BY_HAND, PLAIN_RESULTS
from infinirt._spec.python.shapes import SHAPES

runtime: Any = importlib.import_module("infinirt.runtime")

# Members and fields change from one minor version to the next; the tables below explain this one.
WRITTEN_FOR = "13.5."
try:
    INSTALLED = importlib.metadata.version("cuda-bindings")
except importlib.metadata.PackageNotFoundError:
    INSTALLED = ""
pytestmark = [
    pytest.mark.peer("cuda-bindings"),
    pytest.mark.skipif(
        INSTALLED != "" and not INSTALLED.startswith(WRITTEN_FOR),
        reason=f"compares with cuda-bindings {WRITTEN_FOR}*, {INSTALLED} is installed",
    ),
]

# What we have and that module has not; `infinirtX...` functions need no explanation.
OUR_OWN_FUNCTIONS = {
    **dict.fromkeys(
        ("infinirtLaunchKernel", "infinirtLaunchKernelExC", "infinirtLaunchCooperativeKernel"),
        "launches are compiled code there",
    ),
    "infinirtFuncGetName": "not bound there",
    "infinirtFuncGetParamInfo": "not bound there",
    "infinirtSetValidDevices": "not bound there",
    **dict.fromkeys(
        (
            "infinirtGetDeviceProperties_v2",
            "infinirtEventElapsedTime_v2",
            "infinirtStreamGetCaptureInfo_v2",
            "infinirtStreamGetCaptureInfo_v3",
            "infinirtStreamUpdateCaptureDependencies_v2",
            "infinirtMemAdvise_v2",
            "infinirtMemPrefetchAsync_v2",
            "infinirtGraphAddNode_v2",
            "infinirtGraphAddDependencies_v2",
            "infinirtGraphRemoveDependencies_v2",
            "infinirtGraphGetEdges_v2",
            "infinirtGraphNodeGetDependencies_v2",
            "infinirtGraphNodeGetDependentNodes_v2",
        ),
        "12.9's name; 13 has the shape under the plain name",
    ),
}

# Struct fields of that module that ours lack.
_CONTEXT = "13 gave node parameters an execution context, which 12.9's struct has no room for"
MISSING_FIELDS = {
    ("infinirtKernelNodeParamsV2", "ctx"): _CONTEXT,
    ("infinirtKernelNodeParamsV2", "functionType"): "13 only: other kinds of kernel handles",
    ("infinirtKernelNodeParamsV2", "kern"): "13 only: other kinds of kernel handles",
    ("infinirtKernelNodeParamsV2", "cuFunc"): "13 only: other kinds of kernel handles",
    ("infinirtMemcpyNodeParams", "ctx"): _CONTEXT,
    ("infinirtMemsetParamsV2", "ctx"): _CONTEXT,
    ("infinirtHostNodeParamsV2", "ctx"): _CONTEXT,
    ("infinirtHostNodeParamsV2", "syncMode"): "13 only",
    ("infinirtEventRecordNodeParams", "ctx"): _CONTEXT,
    ("infinirtExternalSemaphoreSignalNodeParamsV2", "ctx"): _CONTEXT,
    ("infinirtExternalSemaphoreWaitNodeParamsV2", "ctx"): _CONTEXT,
    ("infinirtConditionalNodeParams", "ctx"): _CONTEXT,
    ("infinirtGraphNodeParams", "memcpyBatch"): "13 only: batch copy nodes",
    ("infinirtPointerAttributes", "localityDomainOrdinal"): "13 only: locality domains",
    ("infinirtMemLocation", "localized"): "13 only: locality domains",
    ("infinirtFuncAttributes", "deviceNodeUpdateStatus"): "13 only",
    ("infinirtFuncAttributes", "sharedMemoryMode"): "13 only",
    **{
        (name, field): "13 only: launch attributes that 12.9 does not know"
        for name in ("infinirtLaunchAttributeValue", "infinirtStreamAttrValue", "infinirtKernelNodeAttrValue")
        for field in ("nvlinkUtilCentricScheduling", "portableClusterSizeMode", "sharedMemoryMode")
    },
}

# Classes whose name contains `infinirt` on our side and that that module does not have.
OUR_OWN_CLASSES = {
    "infinirtError": "the tag of the type; that module has the typedef only",
    "infinirtLaunchConfig_t": "for infinirtLaunchKernelExC, which that module does not bind",
    "infinirtLaunchConfig_st": "the tag of the same",
    "infinirtGraphDependencyType_enum": "the tag of the type; that module has the typedef only",
    "infinirtUUID_st": "the tag of the type; that module calls it CUuuid_st",
}
OUR_OWN_CONSTANTS = {"INFINIRT_IPC_HANDLE_SIZE": "that module spells it in capitals: CUDA_IPC_HANDLE_SIZE"}


@pytest.fixture(scope="module")
def peer() -> ModuleType:
    return importlib.import_module("cuda.bindings.runtime")


def renamed(name: str) -> str:
    return name.replace("infinirt", "cuda")


def functions(module: ModuleType, prefixes: tuple[str, ...]) -> dict[str, Any]:
    found = {name: getattr(module, name) for name in dir(module) if name.startswith(prefixes)}
    return {name: value for name, value in found.items() if callable(value) and not isinstance(value, type)}


def classes(module: ModuleType) -> dict[str, type]:
    return {name: value for name in dir(module) if isinstance(value := getattr(module, name), type)}


def is_enum(cls: type) -> bool:
    return issubclass(cls, int) and hasattr(cls, "__members__")


def fields(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")} - {"getPtr"}


OURS = functions(runtime, ("infinirt", "make_infinirt"))
ALIGNED = {name: value for name, value in OURS.items() if not name.startswith("infinirtX")}
OUR_CLASSES = {n: c for n, c in classes(runtime).items() if not n.startswith(("infinirtX", "_", "cuuint64"))}
OUR_ENUMS = {name: cls for name, cls in OUR_CLASSES.items() if is_enum(cls)}
OUR_STRUCTS = {n: c for n, c in OUR_CLASSES.items() if hasattr(c, "getPtr") and not hasattr(c, "__int__")}


def test_there_is_something_to_compare() -> None:
    assert len(ALIGNED) > 200
    assert len(OUR_ENUMS) > 40
    assert len(OUR_STRUCTS) > 40


def test_every_aligned_function_is_in_that_module_or_explained(peer: ModuleType) -> None:
    missing = {name for name in ALIGNED if not hasattr(peer, renamed(name))}
    assert missing == set(OUR_OWN_FUNCTIONS)


@pytest.mark.parametrize("name", sorted(set(ALIGNED) - set(OUR_OWN_FUNCTIONS)))
def test_parameters(peer: ModuleType, name: str) -> None:
    theirs = inspect.signature(getattr(peer, renamed(name))).parameters
    ours = inspect.signature(ALIGNED[name]).parameters
    assert [renamed(p) for p in ours] == list(theirs)
    assert {renamed(n): p.default for n, p in ours.items()} == {n: p.default for n, p in theirs.items()}


def documented_results(function: Any) -> list[str]:
    """The results that the docstring lists, the error code included."""
    lines = (function.__doc__ or "").split("\n")
    if "Returns" not in lines:
        return []
    rest = lines[lines.index("Returns") + 2 :]
    end = next((i for i, line in enumerate(rest) if line in ("See Also", "Notes")), len(rest))
    return [line for line in rest[:end] if line and not line.startswith(" ")]


def our_results() -> dict[str, int]:
    """How many results a function has, by the specification, the error code included."""
    counts = {shape.name: 1 + (len(shape.outputs) or bool(shape.returns_text)) for shape in SHAPES}
    return counts | {
        entry.name: 1 + len(entry.returns) for entry in BY_HAND if entry.name not in PLAIN_RESULTS
    }


# cudaMemcpy's docstring lists none; the helpers return a value only.
UNDOCUMENTED = {"infinirtMemcpy", "make_infinirtExtent", "make_infinirtPos", "make_infinirtPitchedPtr"}


@pytest.mark.parametrize("name", sorted(set(ALIGNED) - set(OUR_OWN_FUNCTIONS) - UNDOCUMENTED))
def test_number_of_results(peer: ModuleType, name: str) -> None:
    assert our_results()[name] == len(documented_results(getattr(peer, renamed(name))))


@pytest.mark.parametrize("name", sorted(OUR_ENUMS))
def test_enum_members(peer: ModuleType, name: str) -> None:
    cls = getattr(peer, renamed(name), None)
    if cls is None:
        assert name in OUR_OWN_CLASSES
        return
    ours = {renamed(n): int(member) for n, member in OUR_ENUMS[name].__members__.items()}  # type: ignore[attr-defined]
    for member, value in cls.__members__.items():
        assert ours.get(member) == int(value), member


@pytest.mark.parametrize("name", sorted(OUR_STRUCTS))
def test_struct_fields(peer: ModuleType, name: str) -> None:
    cls = getattr(peer, renamed(name), None)
    if cls is None:
        assert name in OUR_OWN_CLASSES
        return
    missing = {field for field in fields(cls) if field not in {renamed(f) for f in fields(OUR_STRUCTS[name])}}
    assert missing == {field for struct, field in MISSING_FIELDS if struct == name}


def differences(ours: Any, theirs: Any, path: str) -> list[tuple[str, object, object]]:
    """Fields of two new structs that are not equal; fields that only one has are another test's."""
    found: list[tuple[str, object, object]] = []
    for field in fields(type(theirs)) & fields(type(ours)):
        mine, where = getattr(ours, field), f"{path}.{field}"
        try:
            value = getattr(theirs, field)
        except ValueError:  # an enum in which 0 has no name
            value = 0
        if type(value) in (int, bytes, list, float):
            if mine != value:
                found.append((where, mine, value))
        elif hasattr(value, "__int__"):  # enums and handles
            if int(mine) != int(value):
                found.append((where, mine, value))
        else:
            found += differences(mine, value, where)
    return found


@pytest.mark.parametrize("name", sorted(OUR_STRUCTS))
def test_new_structs_hold_the_same_values(peer: ModuleType, name: str) -> None:
    theirs = getattr(peer, renamed(name), None)
    if theirs is not None:
        assert differences(OUR_STRUCTS[name](), theirs(), name) == []


def test_classes(peer: ModuleType) -> None:
    missing = {name for name in OUR_CLASSES if not hasattr(peer, renamed(name))}
    assert missing == set(OUR_OWN_CLASSES)


def test_constants(peer: ModuleType) -> None:
    ours = {n: v for n in dir(runtime) if type(v := getattr(runtime, n)) is int}
    assert {name for name in ours if not hasattr(peer, renamed(name))} == set(OUR_OWN_CONSTANTS)
    for name, value in ours.items():
        if name not in OUR_OWN_CONSTANTS:
            assert getattr(peer, renamed(name)) == value, name


def test_handles_behave_alike(peer: ModuleType) -> None:
    for name in ("Stream_t", "Event_t", "Graph_t", "GraphNode_t", "GraphExec_t", "MemPool_t", "Array_t"):
        ours, theirs = getattr(runtime, "infinirt" + name), getattr(peer, "cuda" + name)
        for cls in (ours, theirs):
            assert int(cls()) == 0
            assert int(cls(7)) == int(cls(init_value=7)) == 7
            assert cls(7) == cls(7) != cls(8)
            assert hash(cls(7)) == hash(cls(7))
            assert cls(7) != 7
            assert cls(7).getPtr() != 0
            with pytest.raises(TypeError):
                cls("7")


def test_no_explanation_is_stale(peer: ModuleType) -> None:
    for struct, field in MISSING_FIELDS:
        assert hasattr(getattr(peer, renamed(struct)), field), (struct, field)
        assert not hasattr(getattr(runtime, struct), field), (struct, field)
    for name in (*OUR_OWN_FUNCTIONS, *OUR_OWN_CONSTANTS):
        assert hasattr(runtime, name), name
        assert not hasattr(peer, renamed(name)), name
