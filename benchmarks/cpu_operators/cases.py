"""What cpu_operators_bench.py measures: for each operator, type and size two functions that compute the same, ours and PyTorch's."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

import infinicore

LARGE, DECODE = 512, (1, 8)  # rows of 4,096
WIDTH = 4096
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


@dataclass(frozen=True)
class Case:
    name: str
    dtype: str
    size: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any]
    tolerance: float = 2e-2
    wanted: float = 1.0  # the ratio below which it is marked
    result: Callable[[], tuple[Any, Any]] | None = None
    """What is compared, where it is not what the two functions return."""


def mine(tensor: torch.Tensor) -> infinicore.Tensor:
    """The same numbers in memory of our own, on which calls are asynchronous."""
    shared = infinicore.from_torch(tensor.contiguous())
    copy = infinicore.empty(list(tensor.shape), dtype=shared.dtype)
    return copy.copy_(shared)


def both(tensor: torch.Tensor) -> tuple[infinicore.Tensor, torch.Tensor]:
    return mine(tensor), tensor


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=_generator).to(dtype)


_generator = torch.Generator().manual_seed(20)
Maker = Callable[[], Iterator[Case]]
_makers: list[Maker] = []


def group(maker: Maker) -> Maker:
    _makers.append(maker)
    return maker


def cases(wanted: str = "") -> Iterator[Case]:
    """All of them, one after the other, since together they would not fit into memory."""
    for module in ("element", "row", "product", "attention", "selection"):
        importlib.import_module(f"{__package__}.{module}_cases")
    for maker in _makers:
        for case in maker():
            if wanted in f"{case.name} {case.dtype} {case.size}":
                yield case


def sizes() -> Iterator[tuple[str, torch.dtype, int]]:
    """Types and numbers of rows that most operators are measured with."""
    for name, dtype in DTYPES.items():
        for rows in (LARGE, *DECODE):
            yield name, dtype, rows
