"""The NVIDIA backend's table: which symbol of the real library answers each function, and what is done around the call.

Around every call: handles that this runtime destroyed are refused before the library, which would crash on them, sees
them; calls that enqueue work are noted, so that a later asynchronous error can name them; a failure is described with its
arguments. Functions whose shape differs in CUDA 13 are answered by `compat13` there.
"""

from __future__ import annotations

from ..model import Function, Param
from .table import HOT, TABLE_FUNCTIONS
from .text import GENERATED, call_layout

# Handles that the real library does not check (a destroyed one crashes it), and pools, which may live on after their end.
TRACKED = ("infinirtStream_t", "infinirtEvent_t", "infinirtLibrary_t", "infinirtMemPool_t")

# Those that it does check; only handles of other device types are kept from it.
CHECKED = ("infinirtGraph_t", "infinirtGraphExec_t", "infinirtUserObject_t")

# Functions after which a handle is gone, by the parameter that holds it. For streams, events and pools see retired_handles.h.
DESTROYERS = {"LibraryUnload": "library"}

# Where the real library writes through a pointer without looking.
UNCHECKED_OUTPUTS = {"IpcGetMemHandle": "handle", "IpcGetEventHandle": "handle"}

# Functions that put host functions into graphs.
HOST_NODES = {
    "GraphAddHostNode",
    "GraphHostNodeSetParams",
    "GraphExecHostNodeSetParams",
    "GraphAddNode",
    "GraphAddNode_v2",
    "GraphNodeSetParams",
    "GraphExecNodeSetParams",
}

# Written by hand, because they do more than the real function: copies and waits that may cross device types, host functions,
# in which no call of this API is permitted, and the ends of handles.
BY_HAND = frozenset(
    {
        "Memcpy",
        "MemcpyAsync",
        "Memcpy2D",
        "Memcpy2DAsync",
        "Memcpy3D",
        "Memcpy3DAsync",
        "StreamWaitEvent",
        "LaunchHostFunc",
        "StreamAddCallback",
        "StreamDestroy",
        "EventDestroy",
        "MemPoolDestroy",
    }
)

# Answered by the driver itself, in line (driver_calls.h): what is called most, but for the current device, which is set by hand there.
DIRECT = HOT - BY_HAND - {"GetDevice", "SetDevice"} | {"StreamIsCapturing"}

# 12.9's plain name means another symbol there.
_SYMBOLS_12 = {
    "GetDeviceProperties": "cudaGetDeviceProperties_v2",
    "StreamGetCaptureInfo": "cudaStreamGetCaptureInfo_v2",
}

_TOP = f"""\
// {GENERATED}
#include "backends/nvidia/around_calls.h"
#include "backends/nvidia/compat13.h"
#include "backends/nvidia/copies.h"
#include "backends/nvidia/cross_events.h"
#include "backends/nvidia/driver_calls.h"
#include "backends/nvidia/host_function.h"
#include "backends/nvidia/real_library.h"
#include "backends/nvidia/retired_handles.h"

namespace infinirt::nvidia {{

"""


def _shape_differs(item: Function) -> bool:
    changed = item.cuda13
    if changed is None:
        return False
    types = [p.ctype for p in changed.params or item.params]
    return changed.reshaped or types != [p.ctype for p in item.params]


def _symbol_row(item: Function) -> str:
    twelve = _SYMBOLS_12.get(item.short, item.cuda_name)
    thirteen = item.cuda13.symbol if item.cuda13 else item.cuda_name
    shim = f"reinterpret_cast<void*>(&compat13::{item.short})" if _shape_differs(item) else "nullptr"
    second = f'"{thirteen}"' if thirteen else "nullptr"
    per_thread = f'"{item.cuda_name}_ptds"' if item.ptds else "nullptr"
    return f'    {{"{twelve}", {second}, {shim}, {per_thread}}},'


def _is_output(param: Param) -> bool:
    return param.ctype == "infinirtLibrary_t*"


_FORMATS = {
    "size_t": ("%zu", ""),
    "int": ("%d", ""),
    "unsigned int": ("0x%x", ""),
    "unsigned long long": ("%llu", ""),
}


def _described(param: Param) -> tuple[str, str] | None:
    """How a parameter is shown in an error message: a format and an argument, or None where it has no short form."""
    if param.ctype in _FORMATS:
        return f"{param.name} {_FORMATS[param.ctype][0]}", param.name
    if param.ctype == "const char*":
        return f"{param.name} '%s'", f'({param.name} ? {param.name} : "(null)")'
    if param.ctype.endswith("*") or (param.ctype.endswith("_t") and "Handle_t" not in param.ctype):
        if param.ctype in ("infinirtHostFn_t", "infinirtStreamCallback_t"):
            return f"{param.name} %p", f"reinterpret_cast<void*>({param.name})"
        return f"{param.name} %p", f"shown({param.name})"
    if param.ctype.startswith("enum "):
        return f"{param.name} %d", f"static_cast<int>({param.name})"
    return None


def _failure(item: Function) -> str:
    shown = [d for p in item.params if (d := _described(p)) is not None]
    stream = item.enqueues or (item.stream_params[0].name if item.stream_params else "nullptr")
    text = ", ".join(s[0] for s in shown)
    arguments = "".join(f", {s[1]}" for s in shown)
    if not shown:
        return f'failed(FunctionId::{item.short}, error, {stream}, "%s", "")'
    return f'failed(FunctionId::{item.short}, error, {stream}, "{text}"{arguments})'


def _wrapper(item: Function) -> str:
    hot = "[[gnu::hot, gnu::aligned(64)]] " if item.short in HOT else ""
    head = call_layout(f"{hot}infinirtError_t {item.short}", [p.declaration for p in item.params], " {")
    arguments = ", ".join(p.name for p in item.params)
    lines = [head]
    for param in item.params:
        if param.ctype in TRACKED + CHECKED:
            test = "is_dead" if param.ctype in TRACKED else "handle_is_ours"
            lines.append(
                f'  if ({test}({param.name})) [[unlikely]] return refuse_dead({param.name}, "{param.name}");'
            )
    if item.enqueues and not item.stream_params:
        # In a struct, whose path through it is the stream's name.
        path = item.route.steps[0].args[0]
        lines.append(f'  if (is_dead({item.enqueues})) [[unlikely]] return refuse_dead({path}, "{path}");')
    unchecked = UNCHECKED_OUTPUTS.get(item.short)
    if unchecked:
        lines.append(
            f"  if (!{unchecked}) return fail(infinirtErrorInvalidValue, "
            f'"{unchecked} is null; it must point at where the handle goes");'
        )
    if item.enqueues:
        what = next((p.name for p in item.params if p.name == "func"), "nullptr")
        lines.append(f"  note_call(FunctionId::{item.short}, {item.enqueues}, {what});")
    if item.short in HOST_NODES:
        lines.append("  note_host_node();")
    destroyed = DESTROYERS.get(item.short)
    if destroyed:
        lines.append(f"  const DyingHandle dying({destroyed});")
    call = f"{'direct::' if item.short in DIRECT else 'real.'}{item.short}({arguments})"
    if item.ptds:
        call = f"thread_state().implicit_stream ? real_per_thread.{item.short}({arguments}) : {call}"
    lines.append(f"  const infinirtError_t error = {call};")
    if destroyed:
        lines.append("  if (error != infinirtSuccess) dying.revive();")
    outputs = [p for p in item.params if _is_output(p)]
    for param in outputs:
        lines.append(f"  if (error == infinirtSuccess && {param.name}) note_alive(*{param.name});")
    lines.append("  if (error == infinirtSuccess) [[likely]] return error;")
    lines.append(f"  return {_failure(item)};")
    lines.append("}")
    return "\n".join(lines)


def render() -> str:
    wrapped = [f for f in TABLE_FUNCTIONS if f.short not in BY_HAND]
    parts = [_TOP, "namespace {\n"]
    parts += [_wrapper(item) + "\n" for item in wrapped]
    parts.append("}  // namespace\n")
    parts.append("const SymbolRow kSymbols[kFunctionCount] = {")
    parts += [_symbol_row(item) for item in TABLE_FUNCTIONS]
    parts.append("};\n")
    parts.append("const BackendTable& call_table() {")
    parts.append("  static constexpr BackendTable table = {")
    parts += [f"      {item.short}," for item in TABLE_FUNCTIONS]
    parts.append("  };\n  return table;\n}\n")
    parts.append("}  // namespace infinirt::nvidia\n")
    return "\n".join(parts)
