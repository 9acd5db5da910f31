"""What a case is, and the register of all of them."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from .bench import Bench

Level = Literal["minimal", "advanced", "full"]
# In the order of inclusion: a level contains those before it.
LEVELS: tuple[Level, ...] = get_args(Level)

# The modules under `cases`, in the order of the report.
MODULES = (
    "device",
    "stream",
    "legacy",
    "memory",
    "host_memory",
    "copy",
    "copy_order",
    "copy_shapes",
    "set",
    "event",
    "error",
    "host_function",
    "pool",
    "pool_reuse",
    "graph",
    "graph_nodes",
    "graph_launch",
    "graph_memory",
    "capture",
    "capture_barred",
    "capture_events",
    "peer",
    "managed",
    "ipc",
    "kernel",
    "versions",
    "objects",
    "bad_input",
    "bad_graphs",
    "fault",
    "stress",
    "performance",
)

# Packages above this one that bring cases of their own. By name: what is below imports nothing of theirs.
FROM_ABOVE = ("infiniop.conformance", "infiniccl.conformance")

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+")
_cases: dict[str, Case] = {}


@dataclass(frozen=True)
class Case:
    """One rule, and the function that asks a device whether it keeps it."""

    id: str
    group: str
    level: Level
    sentence: str  # for people
    rule: str  # where it comes from
    functions: tuple[
        str, ...
    ]  # what it is about: full names; they decide between pass, emulated and unsupported
    run: Callable[[Bench], None]
    alone: bool  # in a process of its own: needs a fresh one, or leaves one that nobody should inherit
    limit: float  # seconds after which it counts as hanging, as a multiple of the usual limit


class Register:
    """Decorator of the cases of one group: `case = Register("stream", "minimal")`, then `@case("stream.order", …)`."""

    def __init__(self, group: str, level: Level) -> None:
        self.group = group
        self.level = level

    def __call__(
        self,
        id: str,
        *,
        about: str,
        rule: str,
        level: Level | None = None,
        alone: bool = False,
        limit: float = 1.0,
    ) -> Callable[[Callable[[Bench], None]], Callable[[Bench], None]]:
        """`about` names the functions without their prefix, separated by blanks. The docstring is the sentence."""

        def register(function: Callable[[Bench], None]) -> Callable[[Bench], None]:
            self.add(id, function, inspect.getdoc(function) or "", about, rule, level, alone, limit)
            return function

        return register

    def add(
        self,
        id: str,
        function: Callable[[Bench], None],
        sentence: str,
        about: str,
        rule: str,
        level: Level | None = None,
        alone: bool = False,
        limit: float = 1.0,
    ) -> None:
        """The same for cases made from a table."""
        if not _ID.fullmatch(id):
            raise ValueError(f"{id!r} is no id: words of letters, digits and hyphens, separated by dots")
        if id in _cases:
            raise ValueError(f"there are two cases {id!r}")
        if not sentence or not rule or not about:
            raise ValueError(f"{id}: a case needs a sentence (its docstring), a rule and what it is about")
        functions = tuple(f"infinirt{name}" for name in about.split())
        _cases[id] = Case(
            id,
            self.group,
            level or self.level,
            " ".join(sentence.split()),
            rule,
            functions,
            function,
            alone,
            limit,
        )


def all_cases() -> dict[str, Case]:
    """Every case that the kit knows, by id."""
    for name in MODULES:
        importlib.import_module(f"{__package__}.cases.{name}")
    for name in FROM_ABOVE:
        importlib.import_module(name)
    return _cases


def select(level: Level, groups: tuple[str, ...] = (), patterns: tuple[str, ...] = ()) -> list[Case]:
    """The cases of a level and those below it, of these groups, whose id fits one of the patterns; ValueError for nonsense."""
    cases = all_cases()
    wanted = LEVELS[: LEVELS.index(level) + 1]
    known = list(dict.fromkeys(case.group for case in cases.values()))
    for group in groups:
        if group not in known:
            raise ValueError(f"there is no group {group!r}; there are {', '.join(known)}")
    for pattern in patterns:
        if not any(fnmatchcase(id, pattern) for id in cases):
            raise ValueError(f"no case fits {pattern!r}; --list shows them all")
    chosen = [
        case
        for case in cases.values()
        if case.level in wanted
        and (not groups or case.group in groups)
        and (not patterns or any(fnmatchcase(case.id, pattern) for pattern in patterns))
    ]
    return sorted(
        chosen, key=lambda case: known.index(case.group)
    )  # a group's cases together, otherwise as written
