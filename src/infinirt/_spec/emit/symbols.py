"""The linker's version script: exactly the public symbols, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from ..functions import FUNCTIONS

VERSION_NODE = "INFINIRT_1"


def extension_names(header_text: str) -> list[str]:
    """The functions that a header written by hand declares: its text is the only list of them."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", header_text, flags=re.S)
    return sorted(set(re.findall(r"\b(infinirtX\w+)\s*\(", code)))


def public_symbols(headers: list[Path]) -> list[str]:
    """All names; `headers` are those beside infinirt.h that are written by hand."""
    names = [f.name for f in FUNCTIONS]
    names += [f.name + f.per_thread_suffix for f in FUNCTIONS if f.per_thread_suffix]
    return names + extension_names("".join(header.read_text(encoding="utf-8") for header in headers))


def render(headers: list[Path]) -> str:
    symbols = [f"    {name};" for name in public_symbols(headers)]
    return "\n".join([f"{VERSION_NODE} {{", "  global:", *symbols, "  local:", "    *;", "};", ""])
