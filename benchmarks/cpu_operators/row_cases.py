"""Row by row: softmaxes, norms, sums, and quantisation."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

import infinicore
from infinicore.nn import functional

from .cases import DTYPES, LARGE, WIDTH, Case, both, group, mine, random, sizes


@group
def softmaxes() -> Iterator[Case]:
    for name, ours, theirs in (
        ("softmax", functional.softmax, torch.softmax),
        ("log_softmax", functional.log_softmax, torch.log_softmax),
    ):
        for dtype, kind, rows in sizes():
            x, tx = both(random(rows, WIDTH, dtype=kind))
            y, ty = both(torch.zeros(rows, WIDTH, dtype=kind))
            yield Case(
                name,
                dtype,
                f"{rows} x {WIDTH}",
                lambda x=x, y=y, ours=ours: ours(x, out=y),
                lambda tx=tx, ty=ty, theirs=theirs: theirs(tx, -1, out=ty),
                tolerance=5e-2 if name == "log_softmax" else 2e-2,
            )
        for dtype, kind in DTYPES.items():
            for rows, length in ((16384, 128), (65536, 32)):
                x, tx = both(random(rows, length, dtype=kind))
                y, ty = both(torch.zeros(rows, length, dtype=kind))
                yield Case(
                    name,
                    dtype,
                    f"{rows} x {length}",
                    lambda x=x, y=y, ours=ours: ours(x, out=y),
                    lambda tx=tx, ty=ty, theirs=theirs: theirs(tx, -1, out=ty),
                    tolerance=5e-2 if name == "log_softmax" else 2e-2,
                )


@group
def causal_softmax() -> Iterator[Case]:
    for dtype, kind in DTYPES.items():
        for heads, queries, keys in ((8, 512, 512), (32, 1, 1024), (32, 8, 128)):
            x, tx = both(random(heads, queries, keys, dtype=kind))
            y = mine(torch.zeros_like(tx))
            mask = torch.ones(queries, keys, dtype=torch.bool).triu(keys - queries + 1)
            yield Case(
                "causal_softmax",
                dtype,
                f"{heads} x {queries} x {keys}",
                lambda x=x, y=y: functional.causal_softmax(x, out=y),
                lambda tx=tx, mask=mask: torch.softmax(tx.masked_fill(mask, -torch.inf), -1),
            )


@group
def norms() -> Iterator[Case]:
    for dtype, kind, rows in sizes():
        x, tx = both(random(rows, WIDTH, dtype=kind))
        y = mine(torch.zeros(rows, WIDTH, dtype=kind))
        w, tw = both(random(WIDTH, dtype=kind))
        b, tb = both(random(WIDTH, dtype=kind))
        r, tr = both(random(rows, WIDTH, dtype=kind))
        s = mine(torch.zeros(rows, WIDTH, dtype=kind))
        size = f"{rows} x {WIDTH}"
        yield Case(
            "rms_norm", dtype, size, lambda x=x, w=w, y=y: functional.rms_norm(x, [WIDTH], w, out=y),
            lambda tx=tx, tw=tw: F.rms_norm(tx, [WIDTH], tw, 1e-5), tolerance=5e-2,
        )  # fmt: skip
        yield Case(
            "layer_norm", dtype, size, lambda x=x, w=w, b=b, y=y: functional.layer_norm(x, [WIDTH], w, b, out=y),
            lambda tx=tx, tw=tw, tb=tb: F.layer_norm(tx, [WIDTH], tw, tb, 1e-5), tolerance=5e-2,
        )  # fmt: skip
        yield Case(
            "add_rms_norm", dtype, size,
            lambda x=x, r=r, w=w, y=y, s=s: functional.add_rms_norm(x, r, w, 1e-5, out=y, residual=s)[0],
            lambda tx=tx, tr=tr, tw=tw: F.rms_norm(tx + tr, [WIDTH], tw, 1e-5), tolerance=6e-2,
        )  # fmt: skip


@group
def sums() -> Iterator[Case]:
    for dtype, kind, rows in sizes():
        x, tx = both(random(rows, WIDTH, dtype=kind))
        y, ty = both(torch.zeros(rows, dtype=kind))
        yield Case(
            "sum", dtype, f"{rows} x {WIDTH}", lambda x=x, y=y: infinicore.sum(x, -1, out=y),
            lambda tx=tx, ty=ty: torch.sum(tx, -1, out=ty), tolerance=1.0,
        )  # fmt: skip
    for dtype, kind in DTYPES.items():
        x, tx = both(random(LARGE, WIDTH, dtype=kind))
        y, ty = both(torch.zeros(LARGE, WIDTH, dtype=kind))
        yield Case(
            "cumsum", dtype, f"{LARGE} x {WIDTH}", lambda x=x, y=y: infinicore.cumsum(x, -1, out=y),
            lambda tx=tx, ty=ty: torch.cumsum(tx, -1, out=ty), tolerance=3.0,
        )  # fmt: skip


def _per_channel(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scale = x.abs().amax(-1, keepdim=True).float() / 127
    return torch.round(x / scale).to(torch.int8), scale


def _per_tensor(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scale = x.abs().amax().float() / 127
    return torch.round(x / scale).to(torch.int8), scale


@group
def quantisation() -> Iterator[Case]:
    for dtype, kind, rows in sizes():
        size = f"{rows} x {WIDTH}"
        x, tx = both(random(rows, WIDTH, dtype=kind))
        q = infinicore.empty([rows, WIDTH], dtype=infinicore.int8)
        s = infinicore.empty([rows, 1], dtype=infinicore.float32)
        one, tone = both(torch.full((1,), 0.03))
        made_scale = mine(torch.ones(1))
        made = mine(torch.zeros(rows, WIDTH, dtype=kind))
        packed, tpacked = both(torch.randint(-127, 128, (rows, WIDTH), dtype=torch.int8))
        yield Case(
            "per_channel_quant_i8", dtype, size,
            lambda x=x, q=q, s=s: infinicore.per_channel_quant_i8(x, out=q, x_scale=s)[0],
            lambda tx=tx: _per_channel(tx)[0], tolerance=1.01,
        )  # fmt: skip
        yield Case(
            "per_tensor_quant_i8", dtype, size, lambda x=x, q=q, one=made_scale: infinicore.per_tensor_quant_i8(x, one, out=q),
            lambda tx=tx: _per_tensor(tx)[0], tolerance=1.01,
        )  # fmt: skip
        yield Case(
            "per_tensor_quant_i8, static", dtype, size,
            lambda x=x, q=q, one=one: infinicore.per_tensor_quant_i8(x, one, None, True, out=q),
            lambda tx=tx, tone=tone: torch.round(tx / tone).clamp(-128, 127).to(torch.int8), tolerance=1.01,
        )  # fmt: skip
        yield Case(
            "per_tensor_dequant_i8", dtype, size,
            lambda packed=packed, one=one, made=made: infinicore.per_tensor_dequant_i8(packed, one, out=made),
            lambda tpacked=tpacked, tone=tone, kind=kind: (tpacked * tone).to(kind),
        )  # fmt: skip
