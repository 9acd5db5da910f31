"""The HTML page: one file that needs nothing else, light or dark as the reader's screen is."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from .document import MEANING, RESULTS
from .plots import bars, lines

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5a6470; --line: #d9dee4; --paper: #ffffff; --card: #f5f7f9;
  --pass: #1a7f37; --emulated: #0a6ea8; --unsupported: #8a6100; --inapplicable: #6b7480; --fail: #c4242b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --soft: #9aa5b1; --line: #343b43; --paper: #14171a;
  --card: #1d2126; --pass: #4cc26a; --emulated: #59b5ec; --unsupported: #dfae3c; --inapplicable: #8d97a3; --fail: #ff6b6e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; } h2 { font-size: 1.2rem; margin: 2.5rem 0 .75rem; }
p { margin: .5rem 0; } .soft { color: var(--soft); } a { color: inherit; }
code, pre { font: .85em/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .75rem; overflow-x: auto; white-space: pre-wrap; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; } .wide { overflow-x: auto; }
th { text-align: left; color: var(--soft); font-weight: 600; } th, td { padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th, td code { white-space: nowrap; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; padding-right: .9rem; }
.verdict { display: inline-block; margin: 1rem 0; padding: .45rem .9rem; border-radius: 6px; border: 2px solid; font-weight: 650; }
.badge { font-weight: 600; white-space: nowrap; }
.pass { color: var(--pass); } .emulated { color: var(--emulated); } .unsupported { color: var(--unsupported); }
.inapplicable { color: var(--inapplicable); } .fail { color: var(--fail); } .zero { color: var(--line); }
.share { display: flex; height: 12px; border-radius: 6px; overflow: hidden; margin: .75rem 0; background: var(--line); }
.share i { display: block; background: currentColor; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; margin: 0; } dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; } summary { cursor: pointer; padding: .5rem .75rem; font-weight: 600; }
details > div { padding: 0 .75rem .75rem; } summary span { font-weight: 400; color: var(--soft); }
.failure { border-left: 4px solid var(--fail); padding: .1rem 0 .1rem 1rem; margin: 1.25rem 0; }
svg { width: 100%; height: auto; max-width: 46rem; color: var(--soft); }
.legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; font-size: .88rem; }
.key { display: inline-block; width: .9rem; height: .9rem; border-radius: 3px; margin-right: .4rem; vertical-align: -.1rem; }
"""


def page(data: dict[str, Any]) -> str:
    backend = data["backend"]
    title = f"{backend['type']}: InfiniRT conformance, level {data['level']}"
    body = "".join(
        (
            heading(data),
            section("Failures", failures(data)),
            section("Summary", tables(data) + meanings()),
            section("Measured, not judged", plots(data)),
            section("Cases", groups(data)),
            section("Capabilities", capabilities(data)),
            section("How this was run", facts(data)),
        )
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def section(title: str, text: str) -> str:
    return f"<h2>{title}</h2>{text}" if text else ""


def heading(data: dict[str, Any]) -> str:
    backend, found = data["backend"], data["summary"]["all"]
    device = backend["devices"][data["device"]]
    whole = not data["selection"]["groups"] and not data["selection"]["cases"]
    if not data["conformant"]:
        verdict, style = f"not conformant: {found['fail']} of {found['cases']} cases fail", "fail"
    elif whole:
        told = ", ".join(f"{found[result]} {result}" for result in RESULTS if found[result])
        verdict, style = f"conformant at level {data['level']}: {told}", "pass"
    else:
        verdict, style = f"no failure among {found['cases']} selected cases", "pass"
    parts = "".join(
        f'<i class="{result}" style="flex:{found[result]}" title="{found[result]} {result}"></i>'
        for result in RESULTS
        if found[result]
    )
    return (
        f"<h1>{escape(backend['type'])}</h1>"
        f'<p class="soft">{escape(device["device"])}: {escape(device["name"])} · {escape(without_folders(backend["origin"]))} · '
        f"InfiniRT {escape(data['kit']['version'])} ({escape(data['kit']['api'])}) · {escape(data['when'])}</p>"
        f'<p class="verdict {style}">{escape(verdict)}</p><div class="share">{parts}</div>'
    )


def tables(data: dict[str, Any]) -> str:
    return "".join(
        table(title, data["summary"][key]) for title, key in (("level", "levels"), ("group", "groups"))
    )


def table(title: str, rows: dict[str, dict[str, int]]) -> str:
    head = "".join(f'<th class="n">{name}</th>' for name in ("cases", *RESULTS))
    text = "".join(
        f'<tr><td>{escape(name)}</td><td class="n">{found["cases"]}</td>'
        + "".join(f'<td class="n {r if found[r] else "zero"}">{found[r]}</td>' for r in RESULTS)
        + "</tr>"
        for name, found in rows.items()
    )
    return f'<div class="wide"><table><tr><th>{title}</th>{head}</tr>{text}</table></div><p></p>'


def meanings() -> str:
    rows = "".join(f'<dt class="{r}">{r}</dt><dd>{escape(text)}</dd>' for r, text in MEANING.items())
    return f"<dl>{rows}</dl>"


def failures(data: dict[str, Any]) -> str:
    parts = [f'<p class="failure fail">{escape(problem)}</p>' for problem in data["problems"]]
    for entry in data["cases"]:
        if entry["result"] == "fail":
            parts.append(
                f'<div class="failure"><p><b id="{entry["id"]}">{entry["id"]}</b></p>{details_of(entry)}</div>'
            )
    return "".join(parts)


def details_of(entry: dict[str, Any]) -> str:
    rows = [
        ("what", entry["sentence"]),
        ("rule", entry["rule"]),
        ("functions", ", ".join(entry["functions"])),
    ]
    rows += [(key, entry[key]) for key in ("expected", "seen", "reason", "where") if entry.get(key)]
    text = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    stack = f"<pre>{escape(entry['stack'].strip())}</pre>" if entry.get("stack") else ""
    return f"<dl>{text}</dl>{stack}"


def groups(data: dict[str, Any]) -> str:
    parts = []
    for group, found in data["summary"]["groups"].items():
        rows = "".join(
            f'<tr><td><code>{entry["id"]}</code></td><td class="badge {entry["result"]}">{entry["result"]}</td>'
            f"<td>{escape(entry['sentence'])}"
            + (f'<br><span class="soft">{escape(entry["reason"])}</span>' if entry.get("reason") else "")
            + f'</td><td class="soft">{escape(entry["rule"])}</td></tr>'
            for entry in data["cases"]
            if entry["group"] == group
        )
        told = ", ".join(f"{found[r]} {r}" for r in RESULTS if found[r])
        parts.append(
            f"<details><summary>{escape(group)} <span>{told}</span></summary><div class='wide'><table>"
            f"<tr><th>case</th><th>result</th><th>what</th><th>rule</th></tr>{rows}</table></div></details>"
        )
    return "".join(parts)


def plots(data: dict[str, Any]) -> str:
    measured = [m for entry in data["cases"] for m in entry.get("measurements", ())]
    latencies = [(m["name"], m["value"]) for m in measured if m.get("kind") == "latency"]
    series: dict[str, list[tuple[int, float]]] = {}
    for m in measured:
        if m.get("kind") == "bandwidth":
            series.setdefault(m["series"], []).append((m["size"], m["value"]))
    text = ""
    if series:
        text += "<p>Bandwidth by size</p>" + lines(series, "GB/s", "Bandwidth by size") + ceiling(series)
    if latencies:
        text += "<p>Latency of calls, from Python</p>" + bars(latencies, "µs", "Latency of calls")
    return text


def ceiling(series: dict[str, list[tuple[int, float]]]) -> str:
    """The best of each series against the best plain copy of the device and the host's memcpy."""
    best = {name: max(value for _, value in values) for name, values in series.items()}
    device, host = best.get("within the device"), best.get("the host's memcpy")
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="n">{value:.3g}</td>'
        f'<td class="n">{value / device:.2f}</td><td class="n">{value / host:.2f}</td></tr>'
        for name, value in best.items()
        if device and host
    )
    if not rows:
        return ""
    return (
        '<div class="wide"><table><tr><th>best of</th><th class="n">GB/s</th>'
        '<th class="n">of the device\'s own copy</th><th class="n">of the host\'s memcpy</th></tr>'
        f"{rows}</table></div><p></p>"
    )


def capabilities(data: dict[str, Any]) -> str:
    called = set(data["functions_called"])
    style = {"native": "pass", "emulated": "emulated", "none": "unsupported"}
    counted = {how: sum(each == how for each in data["capabilities"].values()) for how in style}
    rows = "".join(
        f'<tr><td><code>{name}</code></td><td class="badge {style[how]}">{how}</td>'
        f"<td>{'called by a case' if name in called else ''}</td></tr>"
        for name, how in data["capabilities"].items()
    )
    told = ", ".join(f"{count} {how}" for how, count in counted.items() if count)
    return (
        f"<details><summary>{len(data['capabilities'])} functions <span>{told}; {len(called)} called by these cases</span>"
        f"</summary><div class='wide'><table><tr><th>function</th><th>declared</th><th></th></tr>{rows}</table></div></details>"
    )


def without_folders(text: str) -> str:
    """A page is published: where files lay on the machine is nobody's business."""
    return re.sub(r"(?<![\w.])/(?:[^\s/():]+/)+", "", text)


def facts(data: dict[str, Any]) -> str:
    machine, backend = data["machine"], data["backend"]
    rows = [
        ("device type", f"{backend['type']} ({without_folders(backend['origin'])})"),
        (
            "devices",
            "; ".join(f"{d['device']}: {d['name']}, {d['memory'] >> 20} MiB" for d in backend["devices"]),
        ),
        ("versions", f"runtime {backend['runtime_version']}, driver {backend['driver_version']}"),
        (
            "loaded",
            ", ".join(
                [f"{name} (SHA-256 {digest})" for name, digest in data["loaded"]["sha256"].items()]
                + data["loaded"]["imports"]
            )
            or "nothing",
        ),
        ("level", data["level"]),
        ("selection", ", ".join(data["selection"]["groups"] + data["selection"]["cases"]) or "all cases"),
        ("machine", f"{machine['system']}, {machine['cores']} cores, Python {machine['python']}"),
        (
            "environment",
            ", ".join(f"{k}={without_folders(v)}" for k, v in data["environment"].items())
            or "nothing that matters",
        ),
        ("time", f"{data['seconds']:.1f} s in {data['processes']} processes"),
    ]
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in rows) + "</dl>"
