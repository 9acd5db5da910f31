"""Writes docs/alignment.md: every function of `infinirt.h`, and of InfiniCore's `infinirt.h`, against CUDA's. `--check` only compares.

What CUDA has is in `cuda_functions.json` (each function's parameters, as the runtime's headers of 12.9 and 13.0 declare
them); what we have is the specification; what InfiniCore has is `include/v0/infinirt.h` and, of operators and collectives, the
names in `infinicore_functions.json`. Whether parameters agree is computed
here; only reasons are written by hand, and a function that needs one and has none is an error.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from reference_pages import specification

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "alignment.md"

INTRODUCTION = """# Every function against CUDA's

Interfaces with much the same names: the CUDA Runtime API; `infinirt.h`, which is the CUDA Runtime API renamed; and the `infinirt.h` that
InfiniCore published, which this project keeps as [the earlier generation](v0.md). This page says where they agree, where not, and why. It is written
by `tools/alignment.py` from the declarations themselves.

"""

# Why parameters of ours are not those of CUDA 12.9, by function without prefix.
DIFFERENT = {
    "StreamGetCaptureInfo": "the shape of 12.9's `_v2`: the plain name of 12.9 is a macro for it in C",
    "StreamGetAttribute": "parameter names only; types are the same",
    "StreamSetAttribute": "parameter names only; types are the same",
    "StreamCopyAttributes": "parameter names only; types are the same",
}

# Why functions of CUDA are not offered: the first pattern that fits the name without prefix.
ABSENT = (
    (r"Symbol|LibraryGet(Global|Managed|Unified)", "device variables by symbol",
     "A symbol is what NVIDIA's compiler links into a program; kernels here are loaded at run time and get addresses as arguments"),
    (r"Array|Texture|Surface|ChannelDesc|Mipmapped", "arrays, textures and surfaces",
     "Hardware of graphics that most accelerators do not have; no operator here needs them"),
    (r"^Graphics", "OpenGL, Direct3D, EGL", "Sharing with graphics libraries; not in the scope of a runtime for computation"),
    (r"External(Memory|Semaphore)", "memory and semaphores of other interfaces", "Vulkan's, Direct3D's and NvSci's objects"),
    (r"GraphConditional", "conditional nodes", "A graph that decides on the device cannot be replayed by a runtime that emulates graphs"),
    (r"^Logs", "the driver's log", "`INFINIRT_LOG` and `infinirtXGetLastErrorMessage` say more, on every device type"),
    (r"AsyncNotification|NvSci|GPUDirect|AtomicCapabilities|GetExportTable|GetFuncBySymbol", "special to NVIDIA's driver",
     "No counterpart elsewhere; NVIDIA's own library can be called beside this one, on the same handles"),
    (r"Cluster", "thread block clusters", "Of one architecture; not offered yet"),
    (r"^Mem(Discard|PrefetchBatch|Get|Set)", "new in CUDA 13", "The API follows 12.9"),
    (r"_ptsz$", "per-thread forms of the above", "With the function itself"),
)  # fmt: skip

# InfiniCore's functions: why they are not CUDA's. A function that is missing here has CUDA's parameters.
EARLIER = {
    "infinirtInit": ("", "CUDA starts by itself; kept, and does nothing that other calls would not"),
    "infinirtGetAllDeviceCount": ("", "counts of all device types at once: CUDA has one type. Here `infinirtXGetDeviceTypeInfo`"),
    "infinirtGetDeviceCount": ("cudaGetDeviceCount", "device type as a parameter. Here a thread has a current type (`infinirtXSetDeviceType`)"),
    "infinirtSetDevice": ("cudaSetDevice", "device type as a parameter, as above"),
    "infinirtGetDevice": ("cudaGetDevice", "also writes the type"),
    "infinirtGetMemInfo": ("cudaMemGetInfo", "another name; any device, CUDA's is for the current one"),
    "infinirtGetDeviceResourceSnapshot": ("", "utilisation and bandwidth: NVML's matter, not the runtime's. Memory is filled in"),
    "infinirtStreamWaitEvent": ("cudaStreamWaitEvent", "no flags: waits for external events cannot be captured"),
    "infinirtEventQuery": ("cudaEventQuery", "the answer comes through a pointer; CUDA's is the status `cudaErrorNotReady`"),
    "infinirtEventCreateWithFlags": ("cudaEventCreateWithFlags", "**the two flags have each other's values**: 1 is no timing, 2 blocking; CUDA's 2 and 1"),
    "infinirtGraphInstantiate": ("cudaGraphInstantiate", "CUDA 11's five parameters, with error node and text; 12's has flags"),
    "infinirtGraphLuanch": ("cudaGraphLaunch", "published with this spelling; the parameters are CUDA's"),
}  # fmt: skip


# InfiniCore's operators that are not here: the first pattern that fits.
NOT_HERE = (
    (
        r"Marlin|Qyblas",
        "not written yet: products on weights in the order of one kernel of one vendor; AWQ and GPTQ weights of 4 bits are taken as they are published",
    ),
    (r"Fp8", "not written yet: 8-bit floats with the layouts of one model's kernels"),
    (r"^Nsa", "not written yet: sparse attention of one model"),
    (
        r"KimiDelta",
        "not written yet: attention of one model; `RecurrentGatedDeltaRule` and `ChunkGatedDeltaRule` are here",
    ),
    (
        r"RandomSampleBatch",
        "says nowhere whether its numbers are the host's or the device's; `RandomSample` takes several rows",
    ),
    (
        r"DeepseekMoe",
        "takes an address for each expert with every call; `FusedMoe` takes all weights as one tensor",
    ),
    (
        r"Argwhere|MaskedSelect",
        "results of a size that only the data say, which C would have to free without a function for it; Python has the function",
    ),
    (r"BlockDiag", "Python has the function"),
)

# InfiniCore's collectives beside NCCL's: NCCL's name, and what differs. Element types are infiniDtype_t everywhere.
NCCL = {
    "infinicclCommInitAll": ("ncclCommInitAll", "device type first"),
    "infinicclGetUniqueId": ("ncclGetUniqueId", ""),
    "infinicclCommInitRank": ("ncclCommInitRank", ""),
    "infinicclCommDestroy": ("ncclCommDestroy", ""),
    "infinicclGroupStart": ("ncclGroupStart", "takes a communicator"),
    "infinicclGroupEnd": ("ncclGroupEnd", "takes a communicator"),
    "infinicclAllReduce": ("ncclAllReduce", ""),
    "infinicclBroadcast": ("ncclBroadcast", ""),
    "infinicclSend": ("ncclSend", ""),
    "infinicclRecv": ("ncclRecv", ""),
    "infinicclAllGather": ("ncclAllGather", ""),
    "infinicclReduceScatter": ("ncclReduceScatter", ""),
    "infinicclAllGatherV": (
        "",
        "counts for each rank; NCCL has none, a group of sends and receives does it there",
    ),
    "infinicclReduceScatterV": ("", "likewise"),
}


def without_spaces(text: str) -> str:
    return re.sub(r"\s+", "", text)


def types_of(parameters: str) -> list[str]:
    """Types in one spelling: no names, no `enum`, CUDA's names and InfiniCore's for the same thing alike."""
    types = []
    for parameter in filter(None, (part.strip() for part in parameters.split(","))):
        if parameter == "void":
            continue
        text = re.sub(r"\b(enum|struct)\s+", "", parameter)
        text = re.sub(r"(?<=[\s*])\w+$", "", text) if re.search(r"[\s*]\w+$", text) else text
        text = without_spaces(text.replace("cuda", "infinirt").replace("unsigned int", "uint32_t"))
        types.append(re.sub(r"(infinirt(?:MemcpyKind|StreamCaptureMode))(_t)?", r"\1", text))
    return types


def cuda_column(facts: dict[str, str], version: str) -> str | None:
    return facts.get("both", facts.get(version))


def ours(cuda: dict[str, dict[str, str]]) -> list[str]:
    lines: list[str] = []
    group = None
    problems = []
    counted = {"same": 0, "differs": 0}
    for function in specification():
        facts = cuda.get(function.cuda_name)
        if function.group != group:
            group = function.group
            lines += ["", f"### {group}", "", "| function | CUDA 12.9 | CUDA 13 |", "| --- | --- | --- |"]
        declared = cuda_column(facts, "12.9") if facts else None
        if declared is None:
            macro = function.name.endswith("_v2") or function.short.startswith("Profiler")
            twelve = "same" if macro else "not there"
        elif without_spaces(declared.replace("cuda", "infinirt")) == without_spaces(
            function.parameter_list.replace("void", "") if not function.params else function.parameter_list
        ):
            twelve = "same"
        elif function.short in DIFFERENT:
            twelve = DIFFERENT[function.short]
        else:
            problems.append(
                f"{function.name}: {declared} in CUDA, {function.parameter_list} here, and no reason"
            )
            continue
        counted["same" if twelve == "same" else "differs"] += 1
        if function.cuda13 is None:
            thirteen = "same"
        elif function.cuda13.symbol is None:
            thirteen = f"gone: {function.cuda13.note}"
        else:
            thirteen = function.cuda13.note
        lines.append(f"| `{function.name}` | {twelve} | {thirteen} |")
    if problems:
        raise SystemExit("\n".join(problems))
    head = [
        "## infinirt.h",
        "",
        f"{counted['same']} functions have the parameters of CUDA 12.9, name by name; {counted['differs']} differ in what the table says. Enum values and struct "
        "layouts are 12.9's; the compiler compares them with NVIDIA's headers in `tests/abi`. The third column says how a call is carried over when "
        "the library in use is CUDA 13's, which gave some plain names another shape: C keeps 12.9's, "
        "[the flat Python API](from-cuda-python.md) has 13's.",
    ]
    return head + lines


def not_offered(cuda: dict[str, dict[str, str]]) -> list[str]:
    have = {function.cuda_name for function in specification()}
    groups: dict[tuple[str, str], list[str]] = {(what, why): [] for _, what, why in ABSENT}
    for name in sorted(cuda):
        if name in have:
            continue
        for pattern, what, why in ABSENT:
            if re.search(pattern, name.removeprefix("cuda")):
                groups[what, why].append(name)
                break
        else:
            raise SystemExit(f"{name} is not offered, and tools/alignment.py has no reason")
    lines = [
        "",
        "## What CUDA has and `infinirt.h` has not",
        "",
        "| what | why not | functions |",
        "| --- | --- | --- |",
    ]
    for (what, why), names in groups.items():
        if names:
            shown = ", ".join(f"`{name}`" for name in names)
            lines.append(f"| {what} | {why}. | {shown} |")
    return lines


def earlier(cuda: dict[str, dict[str, str]]) -> list[str]:
    source = (ROOT / "include" / "v0" / "infinirt.h").read_text(encoding="utf-8")
    declared = re.findall(r"__INFINI_C __export infiniStatus_t (\w+)\((.*?)\);", source, re.S)
    lines = [
        "",
        "## InfiniCore's infinirt.h",
        "",
        "All of it is here, in [the earlier generation's root](v0.md). Every function returns `infiniStatus_t` (13 values) where CUDA's return "
        "`cudaError_t`. *Aligned*: the same name but for the prefix, and the same types of parameters in the same order.",
        "",
        "| InfiniCore | CUDA | aligned | what differs, and why |",
        "| --- | --- | --- | --- |",
    ]
    aligned = 0
    for name, parameters in declared:
        counterpart, why = EARLIER.get(name, (name.replace("infinirt", "cuda", 1), ""))
        facts = cuda.get(counterpart)
        theirs = cuda_column(facts, "12.9") if facts else None
        same = theirs is not None and types_of(parameters) == types_of(theirs) and not why
        if not same and not why:
            raise SystemExit(f"{name}({parameters}) is not {counterpart}({theirs}), and there is no reason")
        aligned += same
        verdict = "yes" if same else "no" if counterpart else "no counterpart"
        lines.append(f"| `{name}` | {f'`{counterpart}`' if counterpart else ''} | {verdict} | {why} |")
    lines += ["", f"{aligned} of {len(declared)} are aligned."]
    return lines


def schema() -> Any:
    """The operators of this project, from their schema; nothing has to be built."""
    folder = ROOT / "src" / "infiniop" / "schema"
    name = "operator_schema"
    found = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)
    return module


def operators(published: list[str]) -> list[str]:
    here = {operator.name for operator in schema().OPERATORS}
    groups: dict[str, list[str]] = {}
    for name in published:
        if name in here:
            continue
        why = next((why for pattern, why in NOT_HERE if re.search(pattern, name)), None)
        if why is None:
            raise SystemExit(
                f"InfiniCore's operator {name} is not here, and tools/alignment.py has no reason"
            )
        groups.setdefault(why, []).append(name)
    lines = [
        "",
        "## InfiniCore's infiniop.h",
        "",
        f"{sum(name in here for name in published)} of the {len(published)} operators that InfiniCore publishes are here, with its names, parameters and enum values, and "
        f"{len(here - set(published))} more; [the list](operator-list.md). CUDA has no counterpart. Not here:",
        "",
        "| operators | why not |",
        "| --- | --- |",
    ]
    lines += [f"| {', '.join(f'`{name}`' for name in names)} | {why} |" for why, names in groups.items()]
    return lines


def collectives(published: list[str]) -> list[str]:
    header = (ROOT / "include" / "infiniccl.h").read_text(encoding="utf-8")
    ours = re.findall(r"infiniStatus_t (infiniccl\w+)\(", header)
    missing = [name for name in published if name not in ours or name not in NCCL]
    if missing:
        raise SystemExit(
            f"InfiniCore publishes {', '.join(missing)}, of which infiniccl.h or tools/alignment.py knows nothing"
        )
    lines = [
        "",
        "## InfiniCore's infiniccl.h",
        "",
        "All of it is here. CUDA's counterpart is NCCL; element types are `infiniDtype_t`, results `infiniStatus_t`.",
        "",
        "| InfiniCore | NCCL | differs in |",
        "| --- | --- | --- |",
    ]
    for name in published:
        theirs, why = NCCL[name]
        lines.append(f"| `{name}` | {f'`{theirs}`' if theirs else ''} | {why} |")
    added = ", ".join(f"`{name}`" for name in ours if name not in published)
    return [*lines, "", f"Added here: {added}."]


def page() -> str:
    cuda: dict[str, Any] = json.loads((ROOT / "tools" / "cuda_functions.json").read_text(encoding="utf-8"))
    infinicore = json.loads((ROOT / "tools" / "infinicore_functions.json").read_text(encoding="utf-8"))
    return (
        INTRODUCTION
        + "\n".join(
            [
                *ours(cuda),
                *not_offered(cuda),
                *earlier(cuda),
                *operators(infinicore["operators"]),
                *collectives(infinicore["collectives"]),
            ]
        )
        + "\n"
    )


if __name__ == "__main__":
    text = page()
    if "--check" in sys.argv:
        sys.exit(
            0
            if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text
            else "docs/alignment.md is not what the declarations say; run tools/alignment.py"
        )
    PAGE.write_text(text, encoding="utf-8")
