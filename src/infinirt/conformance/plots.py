"""Plots as SVG text, drawn by hand: lines over sizes, bars of latencies. They need no style sheet."""

from __future__ import annotations

import math
from html import escape

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 40, 32, 36
# Told apart on light and on dark ground; everything else takes the colour of the text around it.
COLOURS = ("#2f7ed8", "#d8772f", "#3fa34d", "#9b59b6", "#8c8c8c", "#c0447f")

Series = dict[str, list[tuple[int, float]]]  # name: (size, value)


def lines(series: Series, unit: str, title: str, counted: str = "size") -> str:
    """Values over sizes (or counts of something), both logarithmic; a line and its points for each series."""
    points = [point for values in series.values() for point in values if point[1] > 0]
    if not points:
        return ""
    sizes = sorted({size for size, _ in points})
    ticks = powers_of_ten(min(value for _, value in points), max(value for _, value in points))
    low, high = math.log10(ticks[0]), math.log10(ticks[-1])
    first, last = math.log2(sizes[0]), math.log2(sizes[-1])

    def x(size: float) -> float:
        share = (math.log2(size) - first) / (last - first) if last > first else 0.5
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return TOP + (high - math.log10(value)) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [head(HEIGHT, title), text(LEFT - 8, 14, unit, "end")]
    for tick in ticks:
        ends = f'x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"'
        parts.append(f'<line {ends} stroke="currentColor" opacity="0.25"/>')
        parts.append(text(LEFT - 8, y(tick) + 4, number(tick), "end"))
    label = size_label if counted == "size" else number
    parts += [text(x(size), HEIGHT - BOTTOM + 18, label(size), "middle") for size in sizes]
    for index, (name, values) in enumerate(series.items()):
        shown = sorted(point for point in values if point[1] > 0)
        path = " ".join(f"{x(size):.1f},{y(value):.1f}" for size, value in shown)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour(index)}" stroke-width="2"/>')
        for size, value in shown:
            tip = escape(f"{name}, {label(size)}: {number(value)} {unit}")
            where = f'cx="{x(size):.1f}" cy="{y(value):.1f}"'
            parts.append(f'<circle {where} r="3" fill="{colour(index)}"><title>{tip}</title></circle>')
    return "".join(parts) + "</svg>" + legend(list(series))


def bars(rows: list[tuple[str, float]], unit: str, title: str) -> str:
    """A bar for each row, its length on a logarithmic scale, with the value beside it."""
    rows = [row for row in rows if row[1] > 0]
    if not rows:
        return ""
    names, step = 330, 24
    low, high = (math.log10(each) for each in (min(v for _, v in rows) / 2, max(v for _, v in rows)))
    parts = [head(step * len(rows) + 8, title)]
    for index, (name, value) in enumerate(rows):
        length = max((math.log10(value) - low) / (high - low) * (WIDTH - names - 90), 2.0)
        top = 4 + index * step
        place = f'x="{names}" y="{top + 3}" width="{length:.1f}" height="16"'
        parts.append(text(names - 8, top + 15, name, "end"))
        parts.append(f'<rect {place} rx="2" fill="{colour(0)}"/>')
        parts.append(text(names + length + 8, top + 15, f"{number(value)} {unit}"))
    return "".join(parts) + "</svg>"


def spread(rows: list[tuple[str, list[float]]], unit: str, title: str) -> str:
    """A dot for each sample of each row, on one logarithmic scale, and a line at the median."""
    rows = [(name, sorted(value for value in values if value > 0)) for name, values in rows]
    rows = [row for row in rows if row[1]]
    if not rows:
        return ""
    names, step = 250, 24
    ticks = powers_of_ten(min(values[0] for _, values in rows), max(values[-1] for _, values in rows))
    low, high = math.log10(ticks[0]), math.log10(ticks[-1])

    def x(value: float) -> float:
        return names + (math.log10(value) - low) / (high - low) * (WIDTH - names - RIGHT)

    bottom = step * len(rows) + 6
    parts = [head(bottom + 24, title)]
    for tick in ticks:
        ends = f'x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="2" y2="{bottom}"'
        parts.append(f'<line {ends} stroke="currentColor" opacity="0.25"/>')
        parts.append(text(x(tick), bottom + 16, f"{number(tick)} {unit}", "middle"))
    for index, (name, values) in enumerate(rows):
        y = 4 + index * step + step / 2
        parts.append(text(names - 10, y + 4, name, "end"))
        for value in values:
            parts.append(
                f'<circle cx="{x(value):.1f}" cy="{y:.1f}" r="3" fill="{colour(0)}" opacity="0.35"/>'
            )
        middle = values[len(values) // 2]
        where = f'x1="{x(middle):.1f}" x2="{x(middle):.1f}" y1="{y - 9:.1f}" y2="{y + 9:.1f}"'
        tip = escape(f"{name}: {number(middle)} {unit}")
        parts.append(f'<line {where} stroke="{colour(1)}" stroke-width="2"><title>{tip}</title></line>')
    return "".join(parts) + "</svg>"


def powers_of_ten(least: float, most: float) -> list[float]:
    """Those that enclose a range."""
    first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
    return [10.0**i for i in range(first, max(last, first + 1) + 1)]


def size_label(size: float) -> str:
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if int(size) >= 1 << shift:
            return f"{int(size) >> shift} {unit}"
    return f"{int(size)} B"


def number(value: float) -> str:
    return f"{value:.3g}"


def colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def head(height: int, title: str) -> str:
    name = escape(title)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{name}"><title>{name}</title>'


def text(x: float, y: float, words: str, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-size="11" font-family="sans-serif" fill="currentColor">{escape(words)}</text>'


def legend(names: list[str]) -> str:
    keys = "".join(
        f'<li><i class="key" style="background:{colour(index)}"></i>{escape(name)}</li>'
        for index, name in enumerate(names)
    )
    return f'<ul class="legend">{keys}</ul>'
