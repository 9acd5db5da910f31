"""Recorded graphs for people: as text, in Graphviz' language, and as a picture."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .graph import Recorded


def numbered(count: int, what: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def fused_calls(recorded: Recorded) -> int:
    """Of the calls. A number can be part of several kernels; it is one call."""
    steps = recorded.steps
    alone = sum(not parts for _, _, parts in steps)
    return recorded.calls - len(recorded.removed) - alone if any(parts for _, _, parts in steps) else 0


def _headline(recorded: Recorded, device: object) -> str:
    steps = recorded.steps
    kernels = sum(bool(parts) for _, _, parts in steps)
    done = []
    if kernels:
        done.append(f"{fused_calls(recorded)} fused into {numbered(kernels, 'kernel')}")
    if recorded.removed:
        done.append(f"{len(recorded.removed)} left out")
    return (
        f"Graph on {device}: {numbered(recorded.calls, 'call')} in {numbered(len(recorded.segments), 'segment')}"
        f"{': ' if done else ''}{', '.join(done)}, {recorded.reserved_bytes} bytes of its own, "
        f"run {numbered(recorded.runs, 'time')}"
    )


def as_text(recorded: Recorded, device: object) -> str:
    lines = [_headline(recorded, device)]
    steps = recorded.steps
    for number, (first, last, captured) in enumerate(recorded.segments):
        how = "one launch of a device graph" if captured else "called in each run"
        lines.append(f"segment {number}: {how}")
        for text, touched, parts in steps[first:last]:
            size = f"  [{touched} bytes]" if touched else ""
            lines.append(f"  {text}{size}{', one pass over:' if parts else ''}")
            lines += [f"    {part}" for part in parts]
    if recorded.removed:
        lines.append("left out:")
        lines += [f"  {text}: {reason}" for text, reason in recorded.removed]
    if recorded.refused:
        lines.append("not fused, because the device refused:")
        lines += [f"  {text}: {message}" for text, message in recorded.refused]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def as_dot(recorded: Recorded) -> str:
    lines = ["digraph recorded {", "  node [shape=box];"]
    steps = recorded.steps
    for number, (first, last, captured) in enumerate(recorded.segments):
        style = "solid" if captured else "dashed"
        label = "device graph" if captured else "called"
        lines += [f"  subgraph cluster_{number} {{", f'    label="{label}"; style={style};']
        for step in range(first, last):
            text, _, parts = steps[step]
            label = "\\l".join(map(_quoted, parts)) + "\\l" if parts else _quoted(text)
            lines.append(f'    s{step} [label="{label}"{", style=filled" if parts else ""}];')
        lines.append("  }")
    for number, (text, reason) in enumerate(recorded.removed):
        lines.append(f'  removed{number} [label="{_quoted(text)}\\n{_quoted(reason)}", style=dotted];')
    lines += [f"  s{step} -> s{step + 1};" for step in range(len(steps) - 1)]
    return "\n".join([*lines, "}"])


_LINE, _GAP, _LEFT = 18, 14, 24
_STYLE = """text { font: 13px monospace; fill: #1b1f24 } .head { font-weight: bold } .faint { fill: #6e7781 }
.segment { fill: none; stroke: #8c959f } .called { stroke-dasharray: 5 4 }
.step { fill: #ddf4ff; stroke: #54aeff } .chain { fill: #dafbe1; stroke: #4ac26b } .removed { fill: #f6f8fa; stroke: #d0d7de }
line { stroke: #8c959f }"""


class _Drawing:
    """Boxes below one another."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.width = 0
        self.y = _GAP

    def text(self, x: int, text: str, kind: str = "") -> None:
        self.y += _LINE
        self.width = max(self.width, x + 8 * len(text))
        self.parts.append(f'<text x="{x}" y="{self.y - 5}" class="{kind}">{escape(text)}</text>')

    def box(self, top: int, kind: str, x: int) -> None:
        # In front of what is in it; the width is known in the end.
        self.parts.append(
            f'<rect x="{x}" y="{top}" width="WIDTH{x}" height="{self.y - top + 5}" rx="5" class="{kind}"/>'
        )

    def step(self, lines: list[str], kind: str, note: str = "") -> None:
        top, begin = self.y, len(self.parts)
        for line in lines:
            self.text(_LEFT + 10, line)
        if note:
            self.text(_LEFT + 10, note, "faint")
        self.box(top, kind, _LEFT)
        self.parts.insert(begin, self.parts.pop())
        self.y += _GAP

    def finish(self) -> str:
        width = self.width + 2 * _LEFT
        body = "\n".join(self.parts)
        for x in (_LEFT, _LEFT // 2):
            body = body.replace(f"WIDTH{x}", str(width - 2 * x))
        size = f'width="{width}" height="{self.y}" viewBox="0 0 {width} {self.y}"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{_STYLE}</style>\n{body}\n</svg>\n'


def as_svg(recorded: Recorded, device: object) -> str:
    drawing = _Drawing()
    drawing.text(_LEFT // 2, _headline(recorded, device), "head")
    drawing.y += _GAP
    steps = recorded.steps
    for number, (first, last, captured) in enumerate(recorded.segments):
        top, begin = drawing.y, len(drawing.parts)
        how = "one launch of a device graph" if captured else "called in each run"
        drawing.text(_LEFT, f"segment {number}: {how}", "faint")
        drawing.y += 6
        for text, touched, parts in steps[first:last]:
            size = f"{touched} bytes" if touched else ""
            if parts:
                drawing.step(parts, "chain", f"one pass, {size}")
            else:
                drawing.step([text], "step", size)
        drawing.box(top, "segment" if captured else "segment called", _LEFT // 2)
        drawing.parts.insert(begin, drawing.parts.pop())
        drawing.y += _GAP
    if recorded.removed:
        drawing.text(_LEFT, "left out", "faint")
        drawing.y += 6
        for text, reason in recorded.removed:
            drawing.step([text], "removed", reason)
    return drawing.finish()
