"""A C file that compiles exactly if our header agrees with NVIDIA's: types of functions, values, struct layouts."""

from __future__ import annotations

import re

from api_spec import DEFINES, ENUMS, STRUCTS

_TOP = """\
#include <stddef.h>
#include <cuda_runtime_api.h>
#include <cuda_profiler_api.h>
#include "infinirt.h"

#define SAME_TYPE(name, a, b) _Static_assert(__builtin_types_compatible_p(a, b), name)
#define SAME_VALUE(name, a, b) _Static_assert((long long)(a) == (long long)(b), name)
#define MEMBER(type, path) (((type*)0)->path)
"""

_PROTOTYPE = re.compile(
    r"^INFINIRT_API (?P<returns>[^;(]*?)\s*\b(?P<name>infinirt\w+)\((?P<params>[^;]*)\);", re.M
)


def declared_functions(header: str) -> dict[str, tuple[str, str]]:
    """Return type and parameters of each function that the header declares, per-thread forms aside."""
    plain = header.split("#ifdef INFINIRT_API_PER_THREAD_DEFAULT_STREAM")[0]
    without_defaults = re.sub(r"\s*INFINIRT_DEFAULT\([^()]*\)", "", plain)
    return {m["name"]: (m["returns"], m["params"]) for m in _PROTOTYPE.finditer(without_defaults)}


def _renamed(text: str) -> str:
    return text.replace("infinirt", "cuda")


def _function_checks(header: str) -> list[str]:
    return [
        f'SAME_TYPE("{name}", __typeof__(&{_renamed(name)}), {_renamed(returns)} (*)({_renamed(params)}));'
        for name, (returns, params) in declared_functions(header).items()
    ]


def _value_checks() -> list[str]:
    names = [entry.name for enum in ENUMS for entry in enum.enumerators]
    for group in DEFINES:
        for define in group.defines:
            is_type = define.text in ("infinirtLaunchAttributeID", "infinirtLaunchAttributeValue")
            if define.has_cuda_counterpart and not is_type:
                names.append(define.name)
    checks = [f'SAME_VALUE("{name}", {name}, {_renamed(name)});' for name in names]
    checks.append('SAME_VALUE("INFINIRT_CUDART_VERSION", INFINIRT_CUDART_VERSION, CUDART_VERSION);')
    checks.append('SAME_VALUE("INFINIRT_IPC_HANDLE_SIZE", INFINIRT_IPC_HANDLE_SIZE, CUDA_IPC_HANDLE_SIZE);')
    return checks


def _struct_checks() -> list[str]:
    checks = []
    for struct in STRUCTS:
        ours, theirs = struct.spelling, struct.cuda_spelling
        for operator in ("sizeof", "_Alignof"):
            checks.append(f'SAME_VALUE("{struct.tag}", {operator}({ours}), {operator}({theirs}));')
        for path in struct.leaf_paths():
            name = f'"{struct.tag}.{path}"'
            checks.append(f"SAME_VALUE({name}, offsetof({ours}, {path}), offsetof({theirs}, {path}));")
            checks.append(
                f"SAME_VALUE({name}, sizeof(MEMBER({ours}, {path})), sizeof(MEMBER({theirs}, {path})));"
            )
        for field in struct.fields:
            # A type that is not ours has one spelling, so the compiler can compare it beyond its size.
            if field.ctype and "infinirt" not in field.ctype:
                member = (
                    f"__typeof__(MEMBER({ours}, {field.name})), __typeof__(MEMBER({theirs}, {field.name}))"
                )
                checks.append(f'SAME_TYPE("{struct.tag}.{field.name}", {member});')
    return checks


def source(header: str) -> str:
    """The checks for a header with this text, which the compiler must find as `infinirt.h`."""
    return "\n".join([_TOP, *_function_checks(header), *_value_checks(), *_struct_checks(), ""])
