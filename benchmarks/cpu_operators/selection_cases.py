"""Rows that are looked up, experts that are chosen, tokens that are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

import infinicore
from infinicore.nn import functional

from .cases import DTYPES, WIDTH, Case, both, group, mine, random, sizes

TIES = {"f32": 0.0, "bf16": 1e9}  # which of equal logits of a narrow type is drawn is open


@group
def looked_up() -> Iterator[Case]:
    for dtype, kind, rows in sizes():
        table, ttable = both(random(8192, WIDTH, dtype=kind))
        index, tindex = both(torch.randint(0, 8192, (rows,)))
        y = mine(torch.zeros(rows, WIDTH, dtype=kind))
        yield Case(
            "embedding", dtype, f"{rows} of 8192 x {WIDTH}", lambda i=index, w=table, y=y: functional.embedding(i, w, out=y),
            lambda i=tindex, w=ttable: F.embedding(i, w),
        )  # fmt: skip
    for dtype, kind in DTYPES.items():
        for sequences in (1, 8):
            hidden, thidden = both(random(64 * sequences, WIDTH, dtype=kind))
            ends = torch.arange(sequences + 1) * 64
            offsets, toffsets = both(ends)
            y = mine(torch.zeros(1, sequences, WIDTH, dtype=kind))
            yield Case(
                "select_last_token_hidden", dtype, f"{sequences} x {WIDTH}",
                lambda h=hidden, o=offsets, y=y: infinicore.select_last_token_hidden(h, o, out=y),
                lambda h=thidden, o=toffsets: h[o[1:] - 1],
            )  # fmt: skip


def _router(x: torch.Tensor, bias: torch.Tensor, topk: int) -> tuple[torch.Tensor, torch.Tensor]:
    scores = x.float().sigmoid()
    choice = (scores + bias).view(-1, 8, x.size(1) // 8)
    groups = choice.topk(2, -1)[0].sum(-1).topk(4, -1)[1]
    kept = torch.zeros(x.size(0), 8, dtype=torch.bool).scatter_(1, groups, True)
    chosen = choice.masked_fill(~kept.unsqueeze(-1), 0.0).flatten(1).topk(topk, -1)[1]
    weights = scores.gather(1, chosen)
    return weights / weights.sum(-1, keepdim=True), chosen


@group
def routing() -> Iterator[Case]:
    for dtype, kind in DTYPES.items():
        for tokens in (1, 8, 512):
            x, tx = both(random(tokens, 128, dtype=kind))
            size = f"{tokens} x 128, 8"

            def chosen(tx: Any = tx) -> Any:
                weights, experts = torch.softmax(tx, -1, dtype=torch.float32).topk(8, -1)
                return weights / weights.sum(-1, keepdim=True), experts

            yield Case(
                "topksoftmax", dtype, size, lambda x=x: infinicore.topksoftmax(x, 8, True)[0],
                lambda f=chosen: f()[0],
            )  # fmt: skip
            weights = infinicore.empty([tokens, 8], dtype=infinicore.float32)
            experts = infinicore.empty([tokens, 8], dtype=infinicore.int32)
            yield Case(
                "moe_topk_softmax", dtype, size,
                lambda x=x, o=(weights, experts): infinicore.moe_topk_softmax(x, 8, True, out=o)[0], lambda f=chosen: f()[0],
            )  # fmt: skip
            many, tmany = both(random(tokens, 256, dtype=kind))
            bias, tbias = both(random(256) * 0.1)
            yield Case(
                "topkrouter", dtype, f"{tokens} x 256, 8", lambda x=many, b=bias: infinicore.topkrouter(x, b, 1.0, 8)[0],
                lambda x=tmany, b=tbias: _router(x, b, 8)[0],
            )  # fmt: skip


def _sample(logits: torch.Tensor, value: float, topp: float, topk: int, temperature: float) -> torch.Tensor:
    best, places = torch.softmax(logits / temperature, -1, dtype=torch.float32).topk(topk)
    sums = best.cumsum(-1)
    kept = torch.searchsorted(sums, topp).clamp_max(topk - 1)
    drawn = torch.searchsorted(sums, value * sums[kept]).clamp_max(topk - 1)
    return places[drawn]


@group
def sampling() -> Iterator[Case]:
    for dtype, kind in DTYPES.items():
        for vocabulary in (4096, 32000, 128256):
            x, tx = both(random(vocabulary, dtype=kind) * 3)
            y = infinicore.empty([], dtype=infinicore.int32)
            yield Case(
                "random_sample", dtype, f"{vocabulary}",
                lambda x=x, y=y: functional.random_sample(x, 0.3, 0.9, 50, 0.8, out=y),
                lambda x=tx: _sample(x, 0.3, 0.9, 50, 0.8), tolerance=TIES[dtype],
            )  # fmt: skip
            yield Case(
                "random_sample, greedy", dtype, f"{vocabulary}",
                lambda x=x, y=y: functional.random_sample(x, 0.3, 0.9, 1, 0.8, out=y),
                lambda x=tx: x.argmax(), tolerance=TIES[dtype],
            )  # fmt: skip
