"""What is measured: a case, and how the modules of cases announce theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import infinirt

from .measure import Contender
from .peers import Peers

OURS = "infinirt"  # contenders of this project have names that begin with this
Contenders = dict[str, Contender]


@dataclass(frozen=True)
class Setting:
    """What a case finds when it begins."""

    device: infinirt.Device
    peers: Peers
    largest: int
    """Bytes of the largest buffer that should be used."""

    @property
    def type(self) -> str:
        return self.device.type

    def torch(self) -> Any:
        """PyTorch where it can use this kind of device."""
        torch = self.peers.get("PyTorch")
        if torch is None or (self.type == "nvidia" and not torch.cuda.is_available()):
            return None
        return torch

    def torch_device(self) -> str:
        return f"cuda:{self.device.ordinal}" if self.type == "nvidia" else "cpu"


@dataclass(frozen=True)
class Case:
    """One measurement. `prepare` makes the contenders, at least one of ours, or none where the device cannot."""

    id: str
    group: str
    title: str
    prepare: Callable[[Setting], Contenders | None]
    bytes: int = 0
    """What one call moves: the result is GB/s. 0: the result is time."""
    axis: str = ""
    """What `at` counts: size, threads, streams, nodes. Cases with one id differ in it, and make a line in a plot."""
    at: int = 0

    @property
    def unit(self) -> str:
        return "GB/s" if self.bytes else "µs"

    @property
    def more_is_better(self) -> bool:
        return bool(self.bytes)

    def value(self, seconds: float) -> float:
        return self.bytes / seconds / 1e9 if self.bytes else seconds * 1e6


def choose(cases: Iterable[Case], wanted: Iterable[str]) -> list[Case]:
    """Those of the groups and ids that are wanted; all where nothing is."""
    names = set(wanted)
    return [case for case in cases if not names or case.group in names or case.id in names]
