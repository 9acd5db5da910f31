"""The linker's version script: exactly the public symbols, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from ..functions import FUNCTIONS

VERSION_NODE = "INFINIRT_1"


PLUGIN_HOST_HEADER = "infinirt_plugin_host.h"  # beside infinirt_ext.h


def extension_names(header_text: str) -> list[str]:
    """The functions that a header declares: it is written by hand, so its text is the only list of them."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", header_text, flags=re.S)
    return sorted(set(re.findall(r"\b(infinirtX\w+)\s*\(", code)))


def public_symbols(extension_header: Path) -> list[str]:
    names = [f.name for f in FUNCTIONS]
    names += [f.name + f.per_thread_suffix for f in FUNCTIONS if f.per_thread_suffix]
    headers = (extension_header, extension_header.with_name(PLUGIN_HOST_HEADER))
    return names + extension_names("".join(header.read_text(encoding="utf-8") for header in headers))


def render(extension_header: Path) -> str:
    symbols = [f"    {name};" for name in public_symbols(extension_header)]
    return "\n".join([f"{VERSION_NODE} {{", "  global:", *symbols, "  local:", "    *;", "};", ""])
