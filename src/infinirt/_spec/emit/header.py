"""`include/infinirt.h`: the public C API."""

from __future__ import annotations

from ..defines import API_VERSION, DEFINES
from ..enums import ENUMS
from ..functions import FUNCTIONS, GROUP_TITLES
from ..model import Enum, Field, Function, Param, Struct
from ..structs import STRUCTS
from ..typedefs import HANDLES, TYPEDEFS
from .text import GENERATED, call_layout, doc_comment

_TOP = f"""\
/*
 * infinirt.h: the runtime API. C11 and C++.
 *
 * Replace `infinirt` by `cuda` and every function, enum, enumerator and struct is that of the CUDA Runtime API 12.9,
 * at the source level. What goes beyond it is in infinirt_ext.h.
 *
 * All functions may be called from any thread; graphs, nodes and executable graphs are not synchronised internally.
 * Except where noted, a function that fails changes nothing, leaves its error as the thread's last error, and a
 * message for people that infinirt_ext.h gives access to. Any call may also return the error of earlier asynchronous
 * work. A function that the current device cannot offer returns infinirtErrorNotSupported.
 *
 * To use this header together with CUDA's, include CUDA's first: both define dim3.
 *
 * {GENERATED}
 */
/* clang-format off */
#ifndef INFINIRT_H
#define INFINIRT_H

#include <stddef.h>

/** The version of the CUDA Runtime API that this header follows: 1000 * major + 10 * minor. */
#define INFINIRT_CUDART_VERSION {API_VERSION}
#define INFINIRT_VERSION INFINIRT_CUDART_VERSION

#ifndef INFINIRT_API
#if defined(__GNUC__)
#define INFINIRT_API __attribute__((visibility("default")))
#else
#define INFINIRT_API
#endif
#endif

/* A default argument, which C does not have. */
#ifdef __cplusplus
#define INFINIRT_DEFAULT(value) = value
#else
#define INFINIRT_DEFAULT(value)
#endif

#if !defined(__VECTOR_TYPES_H__)
/** Size of a grid or block. In C++ what is left out is 1; in C set all three. */
struct dim3 {{
  unsigned int x, y, z;
#ifdef __cplusplus
  constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {{}}
#endif
}};
typedef struct dim3 dim3;
#endif

#ifdef __cplusplus
extern "C" {{
#endif
"""

_BOTTOM = """\
#ifdef __cplusplus
}
#endif

#undef INFINIRT_DEFAULT

#endif /* INFINIRT_H */
"""


def _section(title: str) -> str:
    return f"/* {'-' * 100}\n * {title}\n */\n"


def _defines() -> str:
    blocks = []
    for group in DEFINES:
        width = max(len(d.name) for d in group.defines)
        lines = [f"#define {d.name:<{width}} {d.text}" for d in group.defines]
        blocks.append("\n".join([doc_comment(group.doc), *lines]))
    return "\n\n".join(blocks) + "\n"


def _enum(item: Enum) -> str:
    keyword = "typedef enum" if item.typedef else "enum"
    lines = [doc_comment(item.doc), f"{keyword} {item.tag} {{"]
    last = len(item.enumerators) - 1
    for i, entry in enumerate(item.enumerators):
        value = "0x7FFFFFFF" if entry.value == 0x7FFFFFFF else str(entry.value)
        comment = f" /**< {entry.doc} */" if entry.doc else ""
        lines.append(f"  {entry.name} = {value}{',' if i < last else ''}{comment}")
    lines.append(f"}} {item.typedef};" if item.typedef else "};")
    return "\n".join(lines)


def _fields(fields: tuple[Field, ...], indent: str) -> list[str]:
    lines = []
    for item in fields:
        if item.members:
            lines += [f"{indent}{item.kind} {{", *_fields(item.members, indent + "  ")]
            lines.append(f"{indent}}} {item.name};" if item.name else f"{indent}}};")
        else:
            array = f"[{item.array}]" if item.array is not None else ""
            lines.append(f"{indent}{item.ctype} {item.name}{array};")
    return lines


def _struct(item: Struct) -> str:
    keyword = f"typedef {item.kind}" if item.typedef else item.kind
    lines = [doc_comment(item.doc), f"{keyword} {item.tag} {{", *_fields(item.fields, "  ")]
    lines.append(f"}} {item.typedef};" if item.typedef else "};")
    return "\n".join(lines)


def _parameter(param: Param) -> str:
    default = f" INFINIRT_DEFAULT({param.default})" if param.default is not None else ""
    return param.declaration + default


def _prototype(item: Function, suffix: str = "") -> str:
    parameters = [_parameter(p) for p in item.params] or ["void"]
    return call_layout(f"INFINIRT_API {item.returns} {item.name}{suffix}", parameters, ";")


def _functions() -> str:
    blocks = []
    group = ""
    for item in FUNCTIONS:
        if item.group != group:
            group = item.group
            blocks.append(_section(GROUP_TITLES[group]).rstrip())
        blocks.append(f"{doc_comment(item.doc)}\n{_prototype(item)}")
    return "\n\n".join(blocks) + "\n"


def _per_thread() -> str:
    changed = [f for f in FUNCTIONS if f.per_thread_suffix]
    width = max(len(f.name) for f in changed)
    prototypes = [_prototype(f, f.per_thread_suffix) for f in changed]
    defines = [f"#define {f.name:<{width}} {f.name}{f.per_thread_suffix}" for f in changed]
    return "\n".join(
        [
            _section(
                "With INFINIRT_API_PER_THREAD_DEFAULT_STREAM defined, stream 0 and calls without a stream argument mean\n"
                " * the default stream of the calling thread instead of the legacy default stream."
            ).rstrip(),
            "#ifdef INFINIRT_API_PER_THREAD_DEFAULT_STREAM",
            *prototypes,
            "",
            *defines,
            "#endif",
            "",
        ]
    )


def render() -> str:
    handles = "\n".join(f"{doc_comment(h.doc)}\ntypedef struct {h.tag}* {h.name};" for h in HANDLES)
    typedefs = "\n".join(f"{doc_comment(t.doc)}\ntypedef {t.declaration};" for t in TYPEDEFS)
    return "\n".join(
        [
            _TOP,
            _section("Handles"),
            handles + "\n",
            _section("Constants"),
            _defines(),
            _section("Enums"),
            "\n\n".join(map(_enum, ENUMS)) + "\n",
            _section("Callbacks and plain types"),
            typedefs + "\n",
            _section("Structs"),
            "\n\n".join(map(_struct, STRUCTS)) + "\n",
            _functions(),
            _per_thread(),
            _BOTTOM,
        ]
    )
