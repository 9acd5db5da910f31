"""The HTML page of a run: one file that needs nothing else, light or dark as the reader's screen is."""

from __future__ import annotations

from html import escape
from typing import Any

from infinirt.conformance.page import STYLE, section
from infinirt.conformance.plots import Series, lines, spread

from .case import OURS
from .compare import Comparison
from .document import busy, by_case, place
from .text import figure


def page(data: dict[str, Any], comparison: Comparison | None) -> str:
    title = f"{data['device']['device']}: InfiniRT, measured"
    body = heading(data)
    body += section("Against the earlier run", changes(comparison) if comparison is not None else "")
    for group in dict.fromkeys(result["group"] for result in data["results"]):
        results = [result for result in data["results"] if result["group"] == group]
        body += section(escape(group), "".join(case(places) for places in by_case(results).values()))
    body += section("How this was measured", facts(data))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def heading(data: dict[str, Any]) -> str:
    device = data["device"]
    warning = f'<p class="unsupported">{escape(busy(data))}</p>' if busy(data) else ""
    return (
        f"<h1>{escape(device['device'])}</h1>"
        f'<p class="soft">{escape(device["name"])} · InfiniRT {escape(data["version"])} · {escape(data["when"])}</p>{warning}'
    )


def case(places: dict[int, dict[str, dict[str, Any]]]) -> str:
    """The scaling over its axis where there is one, the distribution over the rounds, and the numbers."""
    results = [result for contenders in places.values() for result in contenders.values()]
    first = results[0]
    title = str(first["title"])
    text = f"<h3>{escape(title)}</h3>"
    if len(places) > 1:
        series: Series = {}
        for result in results:
            series.setdefault(result["contender"], []).append((result["at"], result["value"]))
        text += lines(series, first["unit"], f"{title}, by {first['axis']}", label_of(first["axis"]))
    rows = [
        (
            f"{result['contender']}, {place(result)}" if place(result) else result["contender"],
            result["samples"],
        )
        for result in results
        if result.get("samples")
    ]
    text += folded("distribution over the rounds", spread(rows, first["unit"], f"{title}: rounds"))
    return text + folded("numbers", table(places), is_open=len(places) == 1)


def label_of(axis: str) -> str:
    return "size" if axis in ("size", "elements") else "count"


def folded(title: str, text: str, is_open: bool = False) -> str:
    if not text:
        return ""
    return f"<details{' open' if is_open else ''}><summary>{title}</summary><div class='wide'>{text}</div></details>"


def table(places: dict[int, dict[str, dict[str, Any]]]) -> str:
    rows = ""
    for contenders in places.values():
        ours = next((result for name, result in contenders.items() if name.startswith(OURS)), None)
        for name, result in contenders.items():
            times = ""
            if ours is not None and result is not ours:
                share = result["value"] / ours["value"]
                times = f"{1 / share if result['more_is_better'] else share:.2f}"
            rows += (
                f"<tr><td>{escape(place(result))}</td><td>{escape(name)}</td>"
                f'<td class="n">{figure(result["value"])} {result["unit"]}</td>'
                f'<td class="n">{figure(result["low"])} – {figure(result["high"])}</td><td class="n">{times}</td></tr>'
            )
    return (
        '<table><tr><th></th><th></th><th class="n">median</th><th class="n">10–90 %</th>'
        f'<th class="n">times as long as {OURS}</th></tr>{rows}</table>'
    )


def changes(found: Comparison) -> str:
    style = {"slower": "fail", "faster": "pass", "same": "soft"}
    rows = "".join(
        f"<tr><td>{escape(change.title)}</td><td>{escape(change.contender)}</td>"
        f'<td class="n">{figure(change.old)} {change.unit}</td><td class="n">{figure(change.new)} {change.unit}</td>'
        f'<td class="n">{change.times:.2f}</td><td class="{style[change.verdict]}">{change.verdict}</td></tr>'
        for change in found.changes
    )
    warning = "".join(f'<p class="unsupported">{escape(line)}</p>' for line in found.other_machine)
    if found.nothing:
        return f'{warning}<p class="verdict fail">{escape(found.nothing)}</p>'
    verdict = f"{len(found.slower)} slower" if found.slower else "nothing slower"
    return (
        f'{warning}<p class="verdict {"fail" if found.slower else "pass"}">{verdict}</p>'
        '<div class="wide"><table><tr><th></th><th></th><th class="n">earlier</th><th class="n">now</th>'
        f'<th class="n">times as long</th><th></th></tr>{rows}</table></div>'
    )


def facts(data: dict[str, Any]) -> str:
    machine, pace = data["machine"], data["pace"]
    rows = [
        ("machine", f"{machine['system']}, {machine['cores']} cores, Python {machine['python']}"),
        ("peers", ", ".join(f"{name} {what}" for name, what in data["peers"].items())),
        (
            "rounds",
            f"{pace['rounds']}, of about {pace['round_seconds'] * 1e3:g} ms for each contender, in turns",
        ),
        ("environment", ", ".join(f"{k}={v}" for k, v in data["settings"].items()) or "nothing that matters"),
        ("not on this device, or too large", "; ".join(data["skipped"]) or "nothing"),
    ]
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in rows) + "</dl>"
