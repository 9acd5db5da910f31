"""Layout of generated C and C++."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

WIDTH = 110

GENERATED = "Generated from the specification in src/infinirt/_spec; change that, then run generate.py."


def doc_comment(text: str, indent: str = "") -> str:
    """A `/** … */` comment: on one line if it fits, else wrapped."""
    single = f"{indent}/** {text} */"
    if len(single) <= WIDTH:
        return single
    lines = textwrap.wrap(text, WIDTH - len(indent) - 3, break_long_words=False, break_on_hyphens=False)
    return "\n".join([f"{indent}/**", *(f"{indent} * {line}" for line in lines), f"{indent} */"])


def call_layout(head: str, items: Iterable[str], tail: str) -> str:
    """`head(item, item)tail`, broken into continuation lines where it is too long."""
    parts = list(items)
    single = f"{head}({', '.join(parts)}){tail}"
    if len(single) <= WIDTH:
        return single
    lines = [f"{head}("]
    line = "    "
    for i, part in enumerate(parts):
        piece = part + (", " if i + 1 < len(parts) else f"){tail}")
        if len((line + piece).rstrip()) > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = "    "
        line += piece
    return "\n".join([*lines, line.rstrip()])


def c_string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
