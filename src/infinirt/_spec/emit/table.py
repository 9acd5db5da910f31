"""The backend table, the numbers of its entries, and lists of both."""

from __future__ import annotations

from ..functions import FUNCTIONS
from ..model import Function
from .text import GENERATED, call_layout

TABLE_FUNCTIONS: tuple[Function, ...] = tuple(f for f in FUNCTIONS if f.in_table)

# What programs call again and again. The compiler lays their code side by side: after a call into a vendor's driver, each page and
# each cache line that it takes to get there once more is paid for.
HOT = frozenset(
    {
        "GetDevice",
        "SetDevice",
        "StreamQuery",
        "StreamSynchronize",
        "StreamWaitEvent",
        "EventRecord",
        "EventQuery",
        "EventSynchronize",
        "Malloc",
        "Free",
        "MallocAsync",
        "FreeAsync",
        "MemcpyAsync",
        "MemsetAsync",
        "LaunchKernel",
        "GraphLaunch",
    }
)


def render_table() -> str:
    members = [
        "  " + call_layout(f"{f.returns} (*{f.short})", [p.declaration for p in f.params] or ["void"], ";")
        for f in TABLE_FUNCTIONS
    ]
    ids = [f"  {f.short}," for f in TABLE_FUNCTIONS]
    names = [f'    "{f.name}",' for f in TABLE_FUNCTIONS]
    return "\n".join(
        [
            f"// {GENERATED}",
            "#pragma once",
            "",
            "#include <cstddef>",
            "#include <cstdint>",
            "",
            '#include "infinirt.h"',
            "",
            "#ifdef INFINIRT_API_PER_THREAD_DEFAULT_STREAM",
            '#error "the library itself is built without INFINIRT_API_PER_THREAD_DEFAULT_STREAM"',
            "#endif",
            "",
            "namespace infinirt {",
            "",
            "// One entry per public function that needs a backend, with exactly the public signature.",
            "struct BackendTable {",
            *members,
            "};",
            "",
            "// The entries by number, in the table's order.",
            "enum class FunctionId : uint16_t {",
            *ids,
            "  Count",
            "};",
            "",
            "inline constexpr size_t kFunctionCount = static_cast<size_t>(FunctionId::Count);",
            "static_assert(sizeof(BackendTable) == kFunctionCount * sizeof(void (*)()));",
            "",
            "// The public names, indexed by FunctionId.",
            "inline constexpr const char* kFunctionNames[kFunctionCount] = {",
            *names,
            "};",
            "",
            "}  // namespace infinirt",
            "",
        ]
    )


def render_unsupported() -> str:
    entries = []
    for f in TABLE_FUNCTIONS:
        head = f"{f.returns} unsupported_{f.short}"
        signature = call_layout(head, [p.ctype for p in f.params] or [], "")
        entries.append(f"{signature} {{ return unsupported_call(FunctionId::{f.short}); }}")
    fields = [f"    unsupported_{f.short}," for f in TABLE_FUNCTIONS]
    return "\n".join(
        [
            f"// {GENERATED}",
            '#include "core/backend.h"',
            "",
            "namespace infinirt {",
            "",
            "namespace {",
            "",
            *entries,
            "",
            "constexpr BackendTable kUnsupported = {",
            *fields,
            "};",
            "",
            "}  // namespace",
            "",
            "const BackendTable& unsupported_table() { return kUnsupported; }",
            "",
            "}  // namespace infinirt",
            "",
        ]
    )


def render_list() -> str:
    lines = [f"INFINIRT_FN({f.short})" for f in TABLE_FUNCTIONS]
    return "\n".join(
        [
            f"// {GENERATED}",
            "// One INFINIRT_FN(Name) per entry of the backend table; define the macro, then include this file.",
            *lines,
            "#undef INFINIRT_FN",
            "",
        ]
    )
