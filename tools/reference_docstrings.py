"""How docstrings come into the reference: an extension of griffe, which mkdocstrings reads sources with (see mkdocs.yml).

Examples in docstrings are interpreter sessions, which Markdown would take for quotations: they become blocks of code.
Methods that are written in C++ have their docstrings in the installed package, not in the stubs: they are asked there.
"""

from __future__ import annotations

import importlib
import re
from functools import reduce
from typing import Any

import griffe


class Docstrings(griffe.Extension):
    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        self._visit(pkg, set())

    def _visit(self, obj: griffe.Object, seen: set[str]) -> None:
        if obj.path in seen:
            return
        seen.add(obj.path)
        if obj.docstring is None and (text := written_in_cpp(obj.path)):
            obj.docstring = griffe.Docstring(text, parent=obj)
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
        for member in list(obj.members.values()):
            if not member.is_alias:
                self._visit(member, seen)  # type: ignore[arg-type]


def written_in_cpp(path: str) -> str | None:
    """The docstring of a member of an extension module's class, where the package is installed."""
    module, _, names = path.partition("._core.")
    if not names:
        return None
    try:
        member = reduce(getattr, names.split("."), importlib.import_module(f"{module}._core"))
    except (ImportError, AttributeError):
        return None
    text = getattr(member, "__doc__", None)
    # What a class has from `object` or `type` says nothing.
    return text if (isinstance(text, str) and callable(member)) or is_property(member) else None


def is_property(member: object) -> bool:
    return type(member).__name__ in ("getset_descriptor", "member_descriptor", "property")


def fenced(text: str) -> str:
    """Interpreter sessions as blocks of code; a session ends with an empty line."""
    lines: list[str] = []
    inside: str | None = None
    for line in text.split("\n"):
        start = re.match(r"(\s*)>>> ", line)
        if start and inside is None:
            inside = start[1]
            lines += ["", f"{inside}```pycon"]
        elif inside is not None and not line.strip():
            lines.append(f"{inside}```")
            inside = None
        lines.append(line)
    if inside is not None:
        lines.append(f"{inside}```")
    return "\n".join(lines)
