"""The result of a run as data: what `--json` writes, `--load` and `--compare` read, and tables and pages are made of."""

from __future__ import annotations

import json
import os
import platform
import time
from pathlib import Path
from typing import Any

import infinirt

from .case import Case
from .measure import Pace, Timing

SCHEMA = 1


class BadFile(ValueError):
    """A file that is no result of `infinirt bench`, and why."""


def head(device: infinirt.Device, peers: dict[str, str], pace: Pace) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "what": "infinirt bench",
        "version": infinirt.__version__,
        "when": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        "device": {"device": str(device), "name": device.name},
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "cores": len(os.sched_getaffinity(0)),
            "load": round(os.getloadavg()[0], 2),
            "python": platform.python_version(),
        },
        "settings": {
            k: v for k, v in sorted(os.environ.items()) if k.startswith(("INFINIRT_CPU_", "INFINIRT_LAUNCH"))
        },
        "pace": {"rounds": pace.rounds, "round_seconds": pace.round_seconds},
        "peers": peers,
        "skipped": [],
        "results": [],
    }


def busy(data: dict[str, Any]) -> str:
    """A warning where other programs ran beside the measurement; empty where the machine was quiet, or nobody knows."""
    load, cores = data["machine"].get("load", 0), data["machine"]["cores"]
    if load <= cores / 2:
        return ""
    return (
        f"The machine was busy when this began (load {load:g} on {cores} cores): contenders with several threads, which wait for "
        "one another, suffer most. Measure again when it is quiet."
    )


def planned(case: Case, contender: str) -> dict[str, Any]:
    """What is known of a result before anything is measured."""
    return {
        "id": case.id,
        "group": case.group,
        "title": case.title,
        "axis": case.axis,
        "at": case.at,
        "contender": contender,
    }


def entry(case: Case, contender: str, timing: Timing) -> dict[str, Any]:
    """`low` and `high` are the tenth and the ninetieth percentile of the value, the smaller one first."""
    samples = [case.value(seconds) for seconds in timing.samples]
    edges = sorted((case.value(timing.quantile(0.1)), case.value(timing.quantile(0.9))))
    return {
        **planned(case, contender),
        "unit": case.unit,
        "more_is_better": case.more_is_better,
        "value": case.value(timing.median),
        "low": edges[0],
        "high": edges[1],
        "samples": samples,
    }


PARTS: dict[str, tuple[str, ...]] = {
    "device": ("device", "name"),
    "machine": ("system", "cores", "python"),
    "pace": ("rounds", "round_seconds"),
    "peers": (),
    "settings": (),
}
"""What a whole file has beside its results, and what is read of each part."""
NEEDED = ("id", "group", "title", "axis", "at", "contender", "unit", "more_is_better", "value", "low", "high")


def read(path: str) -> dict[str, Any]:
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise BadFile(f"{path} is no JSON: {error}") from error
    if not isinstance(data, dict) or data.get("what") != "infinirt bench":
        raise BadFile(f"{path} is no result of `infinirt bench --json`")
    if data.get("schema") != SCHEMA:
        raise BadFile(
            f"{path} has format {data.get('schema')}; this version reads {SCHEMA}: measure again with it"
        )
    problem = incomplete(data)
    if problem:
        raise BadFile(f"{path}: {problem}; it is no whole result of `infinirt bench --json`: measure again")
    return data


def incomplete(data: dict[str, Any]) -> str:
    """What a file lacks, so that nothing can be shown of it; empty where it is whole."""
    if not isinstance(data.get("results"), list):
        return "there is no list of results"
    for number, result in enumerate(data["results"]):
        missing = [key for key in NEEDED if not isinstance(result, dict) or key not in result]
        if missing:
            return f"result {number} has no {', '.join(missing)}"
    for part, keys in PARTS.items():
        if not isinstance(data.get(part), dict):
            return f"there is no {part}"
        missing = [key for key in keys if key not in data[part]]
        if missing:
            return f"{part} has no {', '.join(missing)}"
    missing = [key for key in ("skipped", "version", "when") if key not in data]
    return f"there is no {', '.join(missing)}" if missing else ""


def part_of(data: dict[str, Any], groups: tuple[str, ...], path: str) -> dict[str, Any]:
    """The results of the groups and cases that are wanted; all where nothing is. BadFile where the file has nothing of one."""
    there = {name for result in data["results"] for name in (result["group"], result["id"])}
    missing = [name for name in groups if name not in there]
    if missing:
        known = [
            ", ".join(dict.fromkeys(result[key] for result in data["results"])) for key in ("group", "id")
        ]
        has = f"the groups {known[0]}, and the cases {known[1]}" if there else "no results at all"
        raise BadFile(f"{path} has nothing of {', '.join(missing)}; it has {has}")
    return {**data, "results": among(data["results"], groups)}


def among(results: list[dict[str, Any]], groups: tuple[str, ...]) -> list[dict[str, Any]]:
    return [result for result in results if not groups or {result["group"], result["id"]} & {*groups}]


def write(path: str, data: dict[str, Any]) -> None:
    Path(path).write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def place(result: dict[str, Any]) -> str:
    """Where on its axis a result stands, in words: "64 KiB", "4 threads"."""
    axis, at = result["axis"], result["at"]
    if not axis:
        return ""
    if axis == "size":
        return size_label(at)
    if axis == "elements":
        return size_label(at).replace("iB", "i").replace(" B", "") + " elements"
    return f"{at} {axis if at != 1 else axis.removesuffix('s')}" if axis != "side" else f"{at} × {at}"


def size_label(size: int) -> str:
    from infinirt.conformance.plots import size_label as label

    return label(size)


def by_case(results: list[dict[str, Any]]) -> dict[str, dict[int, dict[str, dict[str, Any]]]]:
    """Results by id, place and contender, in the order of the run."""
    found: dict[str, dict[int, dict[str, dict[str, Any]]]] = {}
    for result in results:
        found.setdefault(result["id"], {}).setdefault(result["at"], {})[result["contender"]] = result
    return found
