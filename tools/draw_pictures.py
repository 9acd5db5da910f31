"""Draws docs/pictures/*.svg: streams, events, graphs and stream-ordered memory over time. `--check` only compares.

Each picture has a ground of its own and takes the reader's light or dark setting, so that it can be read wherever it is shown.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
WIDTH, LEFT, LANE = 760, 120, 56

STYLE = """
  .ground { fill: #ffffff; stroke: #d9dee4; } text { font: 14px system-ui, sans-serif; fill: #1b1f24; }
  .small { font-size: 12px; fill: #5a6470; paint-order: stroke; stroke: #ffffff; stroke-width: 6px; } .lane { stroke: #d9dee4; } .arrow { stroke: #c4242b; fill: none; stroke-width: 2; }
  .edge { stroke: #5a6470; fill: none; stroke-width: 1.5; } .arrowhead { fill: #c4242b; } .edgehead { fill: #5a6470; }
  .a { fill: #cfe3fa; stroke: #2f7ed8; } .b { fill: #fbe0cc; stroke: #d8772f; } .c { fill: #d3efd7; stroke: #3fa34d; }
  .h { fill: #eceff2; stroke: #8c96a1; } .late { fill: #ffffff; stroke: #c4242b; stroke-dasharray: 5 4; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #14171a; stroke: #343b43; } text { fill: #e4e8ec; } .small { fill: #9aa5b1; stroke: #14171a; } .lane { stroke: #343b43; }
    .arrow { stroke: #ff6b6e; } .arrowhead { fill: #ff6b6e; } .edge { stroke: #9aa5b1; } .edgehead { fill: #9aa5b1; }
    .a { fill: #17385f; stroke: #59a0ec; } .b { fill: #5a3413; stroke: #e99a5b; } .c { fill: #1b4a24; stroke: #5fc473; }
    .h { fill: #2a3037; stroke: #7b8794; } .late { fill: #14171a; stroke: #ff6b6e; }
  }
"""


class Picture:
    """Lanes from top to bottom, time from left to right."""

    def __init__(self, title: str, about: str, lanes: list[str], without_time: tuple[int, ...] = ()) -> None:
        self.height = 24 + LANE * len(lanes) + 34
        self.parts: list[str] = []
        self.title, self.about = title, about
        for index, name in enumerate(lanes):
            self.words(16, self.middle(index) + 5, name)
            if index in without_time:
                continue
            self.parts.append(
                f'<line class="lane" x1="{LEFT}" x2="{WIDTH - 20}" y1="{self.middle(index)}" y2="{self.middle(index)}"/>'
            )

    def middle(self, lane: float) -> int:
        return round(24 + LANE * lane + LANE / 2)

    def box(self, lane: float, start: int, width: int, name: str, kind: str = "a") -> None:
        top = self.middle(lane) - 17
        self.parts.append(
            f'<rect class="{kind}" x="{LEFT + start}" y="{top}" width="{width}" height="34" rx="5"/>'
        )
        self.words(LEFT + start + width / 2, self.middle(lane) + 5, name, "middle")

    def words(self, x: float, y: float, text: str, anchor: str = "start", kind: str = "") -> None:
        style = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{style}>{escape(text)}</text>')

    def arrow(self, x1: int, lane1: float, x2: int, lane2: float, kind: str = "arrow") -> None:
        """From the lower or upper edge of a box to that of another."""
        down = 1 if lane2 > lane1 else -1
        y1, y2 = self.middle(lane1) + 17 * down, self.middle(lane2) - 19 * down
        tip = "t" if kind == "arrow" else "e"
        self.parts.append(
            f'<path class="{kind}" d="M{LEFT + x1} {y1} C{LEFT + x1} {(y1 + y2) // 2} {LEFT + x2} {(y1 + y2) // 2} {LEFT + x2} {y2}" '
            f'marker-end="url(#{tip})"/>'
        )

    def line(self, x1: int, x2: int, lane: float) -> None:
        """A straight edge between neighbours of one lane."""
        y = self.middle(lane)
        self.parts.append(
            f'<path class="edge" d="M{LEFT + x1} {y} L{LEFT + x2 - 2} {y}" marker-end="url(#e)"/>'
        )

    def note(self, text: str) -> None:
        self.words(16, self.height - 14, text, kind="small")

    def svg(self) -> str:
        marker = (
            '<marker id="{id}" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
            '<path class="{style}" d="M0 0 L10 5 L0 10 z"/></marker>'
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" role="img" '
            f'aria-labelledby="title about">\n<title id="title">{escape(self.title)}</title>\n'
            f'<desc id="about">{escape(self.about)}</desc>\n<style>{STYLE}</style>\n<defs>'
            + marker.format(id="t", style="arrowhead")
            + marker.format(id="e", style="edgehead")
            + f'</defs>\n<rect class="ground" x="0.5" y="0.5" width="{WIDTH - 1}" height="{self.height - 1}" rx="8"/>\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )


def streams() -> Picture:
    picture = Picture(
        "Two streams",
        "The host enqueues five operations and goes on; each stream runs its own in order, both side by side.",
        ["host", "stream A", "stream B"],
    )
    for index in range(5):
        picture.box(0, 10 + index * 46, 42, f"{index + 1}", "h")
    picture.box(0, 245, 130, "goes on", "h")
    picture.box(0, 470, 130, "sync: waits", "h")
    picture.box(1, 60, 130, "1 copy", "a")
    picture.box(1, 195, 200, "2 kernel", "a")
    picture.box(1, 400, 110, "4 fill", "a")
    picture.box(2, 150, 190, "3 copy", "b")
    picture.box(2, 345, 220, "5 kernel", "b")
    picture.note(
        "Calls return when work is enqueued. Within a stream: in order. Between streams: no order, unless an event makes one."
    )
    return picture


def events() -> Picture:
    picture = Picture(
        "An event orders two streams",
        "Stream A records an event after its copy; stream B waits for the event before its kernel reads what was copied.",
        ["stream A", "stream B"],
    )
    picture.box(0, 10, 190, "copy to buffer", "a")
    picture.box(0, 205, 70, "record", "c")
    picture.box(0, 280, 200, "next copy", "a")
    picture.box(1, 10, 110, "other work", "b")
    picture.box(1, 205, 70, "wait", "c")
    picture.box(1, 280, 230, "kernel reads buffer", "b")
    picture.arrow(240, 0, 240, 1)
    picture.note(
        "record: a mark in stream A.  wait: stream B goes on when the mark is reached. The host waits for neither."
    )
    return picture


def missing_wait() -> Picture:
    picture = Picture(
        "The same without the event",
        "The kernel of stream B may run before the copy of stream A has finished; on an idle machine it often does not.",
        ["stream A", "stream B"],
    )
    picture.box(0, 10, 190, "copy to buffer", "a")
    picture.box(0, 205, 200, "next copy", "a")
    picture.box(1, 100, 230, "kernel reads buffer", "b")
    picture.box(1, 360, 230, "… or here, by luck", "late")
    picture.note(
        "INFINIRT_CPU_SCHEDULE=random:SEED runs it here or there, as the seed says, and the same way each time."
    )
    return picture


def graphs() -> Picture:
    picture = Picture(
        "From a capture to one launch",
        "What two streams do in a capture becomes nodes and edges; one launch replays all of it.",
        ["capture", "", "graph", "", "replay"],
        without_time=(2, 3),
    )
    picture.box(0, 10, 90, "copy", "a")
    picture.box(0, 105, 90, "scale", "a")
    picture.box(0, 305, 90, "add", "a")
    picture.box(1, 205, 90, "fill", "b")
    picture.arrow(52, 0, 225, 1)
    picture.arrow(275, 1, 345, 0)
    picture.words(LEFT + 405, picture.middle(0) + 5, "stream A: recorded, not run", kind="small")
    picture.words(LEFT + 310, picture.middle(1) + 5, "stream B joins it by an event", kind="small")
    picture.box(2.5, 10, 90, "copy", "a")
    picture.box(2.1, 190, 110, "scale", "a")
    picture.box(2.9, 190, 110, "fill", "b")
    picture.box(2.5, 390, 110, "add", "a")
    for start, end, lane1, lane2 in (
        (100, 190, 2.5, 2.1),
        (100, 190, 2.5, 2.9),
        (300, 390, 2.1, 2.5),
        (300, 390, 2.9, 2.5),
    ):
        y1, y2 = picture.middle(lane1), picture.middle(lane2)
        picture.parts.append(
            f'<path class="edge" d="M{LEFT + start} {y1} L{LEFT + end - 2} {y2}" marker-end="url(#e)"/>'
        )
    picture.box(4, 10, 90, "launch", "c")
    picture.box(4, 120, 90, "launch", "c")
    picture.box(4, 230, 90, "launch", "c")
    picture.words(
        LEFT + 340, picture.middle(4) + 5, "one call each, whatever the number of nodes", kind="small"
    )
    picture.note(
        "Edges are what the streams' order and the events said. Nodes without a path between them may run side by side."
    )
    return picture


def memory() -> Picture:
    picture = Picture(
        "Memory in stream order",
        "A buffer is freed on stream A after its kernel; the next allocation on stream A has it at once, stream B when the kernel is done.",
        ["host", "stream A", "stream B"],
    )
    picture.box(0, 10, 90, "allocate", "h")
    picture.box(0, 105, 80, "kernel", "h")
    picture.box(0, 190, 60, "free", "h")
    picture.box(0, 255, 130, "allocate on A", "h")
    picture.box(0, 390, 130, "allocate on B", "h")
    picture.box(1, 130, 220, "kernel uses the block", "a")
    picture.box(1, 355, 190, "the same block again", "c")
    picture.box(2, 395, 190, "another block", "b")
    picture.note(
        "No call waits. A gets its own block back at once, since A is in order; B gets it only when A's kernel is over."
    )
    return picture


PICTURES = {
    "streams": streams,
    "events": events,
    "missing-wait": missing_wait,
    "graphs": graphs,
    "memory": memory,
}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        path, drawn = FOLDER / f"{name}.svg", draw().svg()
        if "--check" not in sys.argv:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(drawn, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != drawn:
            sys.exit(f"{path.name} is not what tools/draw_pictures.py draws; run it")
