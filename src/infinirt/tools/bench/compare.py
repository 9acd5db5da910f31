"""Today against an earlier run: what became slower, what faster, and what cannot be told from noise."""

from __future__ import annotations

import statistics
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from .case import OURS
from .document import place
from .peers import was_measured

FEW_ROUNDS = 9  # as --quick has: medians of so few move by a half from one minute to the next
THRESHOLD_OF_FEW = 0.5
MANY = 10  # cases, of which something can be said in general
GENERAL = 1.15

Results = Collection[dict[str, Any]]
Verdict = Literal["slower", "faster", "same"]


@dataclass(frozen=True)
class Change:
    title: str
    contender: str
    unit: str
    old: float
    new: float
    times: float
    """How many times as long it takes now: above 1 is slower, whatever the unit."""
    verdict: Verdict


@dataclass(frozen=True)
class Comparison:
    changes: list[Change]
    gone: list[str]
    """What the earlier run measured and this one does not."""
    added: list[str]
    """What this run measures and the earlier one did not."""
    other_machine: list[str]
    """What makes the two runs hard to compare."""
    nothing: str
    """Why nothing could be compared; empty where something was."""
    threshold: float
    """Beyond which a difference counted."""

    @property
    def slower(self) -> list[Change]:
        return [change for change in self.changes if change.verdict == "slower"]


def key(result: dict[str, Any]) -> tuple[str, int, str]:
    return result["id"], result["at"], result["contender"]


def name_of(result: dict[str, Any]) -> str:
    where = place(result)
    return f"{result['title']}, {where}" if where else str(result["title"])


def compare(old: dict[str, Any], new: dict[str, Any], threshold: float) -> Comparison:
    """A difference counts when it is beyond `threshold` (0.15: fifteen per cent) and the two spreads do not overlap.

    Only this project's own contenders are judged; a peer's speed is the peer's matter.
    """
    before, after = (
        {key(result): result for result in data["results"] if is_ours(result)} for data in (old, new)
    )
    if min(data["pace"]["rounds"] for data in (old, new)) < FEW_ROUNDS:
        threshold = max(threshold, THRESHOLD_OF_FEW)
    changes = [judge(before[where], after[where], threshold) for where in after if where in before]
    return Comparison(
        sorted(changes, key=lambda change: -change.times),
        only_in(before.values(), after.values()),
        only_in(after.values(), before.values()),
        [*differences(old, new), *general_change(changes)],
        "" if changes else nothing_in_common(before.values(), after.values()),
        threshold,
    )


def general_change(changes: list[Change]) -> list[str]:
    """Where most of it became slower, or faster, by about as much: that is how a machine changes, more than a program."""
    if len(changes) < MANY:
        return []
    usual = statistics.median(change.times for change in changes)
    if 1 / GENERAL < usual < GENERAL:
        return []
    word = "longer" if usual > 1 else "less time"
    return [
        f"most cases take {word}, by the median {usual:.2f} times: the machine was busier, or is another one"
    ]


def only_in(here: Results, there: Results) -> list[str]:
    """What one run has and the other has not, in as few words as tell it: a whole group rather than its twenty cases."""
    known = {part for result in there for part in parts(result)}
    names = (next((name for part, name in parts(result).items() if part not in known), "") for result in here)
    return [name for name in dict.fromkeys(names) if name]


def parts(result: dict[str, Any]) -> dict[tuple[Any, ...], str]:
    """What a result is a part of, the largest first, and how that is called."""
    group, id, at, contender = (result[field] for field in ("group", "id", "at", "contender"))
    return {
        (group,): f"the group {group}",
        (group, id): str(result["title"]),
        (group, id, at): name_of(result),
        (group, id, at, contender): f"{name_of(result)}: {contender}",
    }


def nothing_in_common(old: Results, new: Results) -> str:
    """What is said when no case is in both runs: the groups that each has, and the cases of a group that both have."""
    was, now = ("; ".join(names) or "nothing" for names in (only_in(old, new), only_in(new, old)))
    return f"nothing could be compared, as no case is in both runs. The earlier one has: {was}. This one has: {now}."


def is_ours(result: dict[str, Any]) -> bool:
    return str(result["contender"]).startswith(OURS)


def judge(old: dict[str, Any], new: dict[str, Any], threshold: float) -> Change:
    more_is_better = bool(new["more_is_better"])
    times = old["value"] / new["value"] if more_is_better else new["value"] / old["value"]
    apart = new["high"] < old["low"] or new["low"] > old["high"]
    verdict: Verdict = "same"
    if apart and times > 1 + threshold:
        verdict = "slower"
    elif apart and times < 1 / (1 + threshold):
        verdict = "faster"
    return Change(name_of(new), new["contender"], new["unit"], old["value"], new["value"], times, verdict)


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    found = []
    for what, part, field in (
        ("device", "device", "name"),
        ("system", "machine", "system"),
        ("cores", "machine", "cores"),
        ("Python", "machine", "python"),
        ("rounds", "pace", "rounds"),
        ("seconds of a round", "pace", "round_seconds"),
    ):
        was, now = (data.get(part, {}).get(field) for data in (old, new))
        if was != now:
            found.append(f"{what}: {was}, now {now}")
    if old.get("settings") != new.get("settings"):
        found.append(f"environment: {old.get('settings')}, now {new.get('settings')}")
    return found + other_peers(old.get("peers", {}), new.get("peers", {}))


def other_peers(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """Peers that only one run measured: contenders take turns, and may find the caches as another left them."""
    found = []
    for name in dict.fromkeys((*old, *new)):
        was, now = (told.get(name, "not asked for") for told in (old, new))
        if was_measured(was) != was_measured(now):
            found.append(f"{name}: {was}, now {now}")
    return found
