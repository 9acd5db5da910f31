"""Plots as SVG text, drawn by hand: lines over sizes, bars of latencies. Colours come from the page's style."""

from __future__ import annotations

import math
from html import escape

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 16, 44


def steps(least: float, most: float) -> list[float]:
    """Powers of ten that enclose a range."""
    first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
    return [10.0**i for i in range(first, max(last, first + 1) + 1)]


def size_label(size: float) -> str:
    number = int(size)
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if number >= 1 << shift:
            return f"{number >> shift} {unit}"
    return f"{number} B"


def number(value: float) -> str:
    return f"{value:.3g}"


def lines(series: dict[str, list[tuple[int, float]]], unit: str, title: str) -> str:
    """Values over sizes, both logarithmic; a line and its points for each series."""
    points = [point for values in series.values() for point in values if point[1] > 0]
    if not points:
        return ""
    sizes = sorted({size for size, _ in points})
    ticks = steps(min(value for _, value in points), max(value for _, value in points))
    low, high = math.log10(ticks[0]), math.log10(ticks[-1])
    first, last = math.log2(sizes[0]), math.log2(sizes[-1])

    def x(size: float) -> float:
        share = (math.log2(size) - first) / (last - first) if last > first else 0.5
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return TOP + (high - math.log10(value)) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [head(HEIGHT, title)]
    for tick in ticks:
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        )
        parts.append(
            f'<text class="tick" text-anchor="end" x="{LEFT - 8}" y="{y(tick) + 4:.1f}">{number(tick)}</text>'
        )
    for size in sizes:
        parts.append(
            f'<text class="tick" text-anchor="middle" x="{x(size):.1f}" y="{HEIGHT - BOTTOM + 18}">{size_label(size)}</text>'
        )
    parts.append(f'<text class="tick" x="4" y="12">{escape(unit)}</text>')
    for index, (name, values) in enumerate(series.items()):
        path = " ".join(f"{x(size):.1f},{y(value):.1f}" for size, value in sorted(values) if value > 0)
        parts.append(
            f'<polyline class="line c{index % 6}" points="{path}"><title>{escape(name)}</title></polyline>'
        )
        for size, value in values:
            if value > 0:
                tip = f"{escape(name)}, {size_label(size)}: {number(value)} {escape(unit)}"
                parts.append(
                    f'<circle class="dot c{index % 6}" cx="{x(size):.1f}" cy="{y(value):.1f}" r="3"><title>{tip}</title></circle>'
                )
    parts.append("</svg>")
    legend = "".join(
        f'<li><i class="key c{index % 6}"></i>{escape(name)}</li>' for index, name in enumerate(series)
    )
    return "".join(parts) + f'<ul class="legend">{legend}</ul>'


def bars(rows: list[tuple[str, float]], unit: str, title: str) -> str:
    """A bar for each row, its length on a logarithmic scale, with the value beside it."""
    rows = [row for row in rows if row[1] > 0]
    if not rows:
        return ""
    height, step, names = 24 * len(rows) + 8, 24, 330
    low, high = (math.log10(each) for each in (min(v for _, v in rows) / 2, max(v for _, v in rows)))
    parts = [head(height, title)]
    for index, (name, value) in enumerate(rows):
        length = (math.log10(value) - low) / (high - low) * (WIDTH - names - 90) if high > low else 100
        top = 4 + index * step
        parts.append(
            f'<text class="tick" text-anchor="end" x="{names - 8}" y="{top + 15}">{escape(name)}</text>'
        )
        parts.append(
            f'<rect class="bar" x="{names}" y="{top + 3}" width="{max(length, 2):.1f}" height="16" rx="2"/>'
        )
        parts.append(
            f'<text class="tick" x="{names + max(length, 2) + 8:.1f}" y="{top + 15}">{number(value)} {escape(unit)}</text>'
        )
    parts.append("</svg>")
    return "".join(parts)


def head(height: int, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}" preserveAspectRatio="xMinYMin">'
        f"<title>{escape(title)}</title>"
    )
