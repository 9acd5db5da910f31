"""The generated part of the extension module, in one file whose sections are chosen by macros."""

from __future__ import annotations

from ..emit.text import GENERATED
from .emit_functions import render_api, render_by_hand, render_functions
from .emit_types import render_numbers, render_types


def render() -> str:
    sections = {
        "API": render_api(),
        "NUMBERS": render_numbers(),
        "TYPES": render_types(),
        "BY_HAND": render_by_hand(),
        "FUNCTIONS": render_functions(),
    }
    parts = [f"// {GENERATED}\n// clang-format off\n"]
    for name, text in sections.items():
        macro = f"INFINIRT_FLAT_SECTION_{name}"
        parts.append(f"#ifdef {macro}\n{text}#endif  // {macro}\n")
    return "\n".join(parts)
