"""Names and texts of the error codes."""

from __future__ import annotations

from ..enums.error import ERROR
from .text import GENERATED, c_string


def render() -> str:
    cases = [
        f"    case {e.name}: return {{{c_string(e.name)}, {c_string(e.doc)}}};" for e in ERROR.enumerators
    ]
    return "\n".join(
        [
            f"// {GENERATED}",
            '#include "core/error.h"',
            "",
            "namespace infinirt {",
            "",
            "namespace {",
            "",
            "struct Description {",
            "  const char* name;",
            "  const char* text;",
            "};",
            "",
            "Description describe(infinirtError_t error) {",
            "  switch (error) {",
            *cases,
            "  }",
            '  return {"unrecognized error code", "unrecognized error code"};',
            "}",
            "",
            "}  // namespace",
            "",
            "const char* error_name(infinirtError_t error) { return describe(error).name; }",
            "",
            "const char* error_text(infinirtError_t error) { return describe(error).text; }",
            "",
            "}  // namespace infinirt",
            "",
        ]
    )
