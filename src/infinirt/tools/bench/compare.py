"""Today against an earlier run: what became slower, what faster, and what cannot be told from noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .case import OURS
from .document import place

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
    other_machine: list[str]
    """What makes the two runs hard to compare."""

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
    after = {key(result): result for result in new["results"] if is_ours(result)}
    # Of groups that were not chosen this time nothing can be said.
    chosen = {result["group"] for result in after.values()}
    before = {
        key(result): result for result in old["results"] if is_ours(result) and result["group"] in chosen
    }
    changes = [judge(before[where], after[where], threshold) for where in after if where in before]
    return Comparison(
        sorted(changes, key=lambda change: -change.times),
        [name_of(result) for where, result in before.items() if where not in after],
        [name_of(result) for where, result in after.items() if where not in before],
        differences(old, new),
    )


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
    ):
        was, now = (data.get(part, {}).get(field) for data in (old, new))
        if was != now:
            found.append(f"{what}: {was}, now {now}")
    if old.get("settings") != new.get("settings"):
        found.append(f"environment: {old.get('settings')}, now {new.get('settings')}")
    return found
