"""Matrix products, their quantised weights, and experts."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

import infinicore
from infinicore.nn import functional

from .cases import DTYPES, WIDTH, Case, both, group, mine, random

GEMM = 0.95  # both sides call a library


@group
def products() -> Iterator[Case]:
    for rows, k, n in ((512, 512, 512), (512, 2048, 2048), (1, WIDTH, WIDTH), (8, WIDTH, WIDTH)):
        a, ta = both(random(rows, k) * k**-0.5)
        b, tb = both(random(k, n))
        c, tc = both(torch.zeros(rows, n))
        yield Case(
            "matmul", "f32", f"{rows} x {k} x {n}", lambda a=a, b=b, c=c: infinicore.matmul(a, b, out=c),
            lambda ta=ta, tb=tb, tc=tc: torch.matmul(ta, tb, out=tc), wanted=GEMM,
        )  # fmt: skip
    for dtype, kind in DTYPES.items():
        for rows, k, n in ((512, 512, 512), (512, 2048, 2048), (1, WIDTH, WIDTH), (8, WIDTH, WIDTH)):
            x, tx = both((random(rows, k) * k**-0.5).to(kind))
            w, tw = both(random(n, k, dtype=kind))
            y = mine(torch.zeros(rows, n, dtype=kind))
            yield Case(
                "linear", dtype, f"{rows} x {k} x {n}", lambda x=x, w=w, y=y: functional.linear(x, w, out=y),
                lambda tx=tx, tw=tw: F.linear(tx, tw), wanted=GEMM, tolerance=5e-2,
            )  # fmt: skip
    for dtype, kind in DTYPES.items():
        a, ta = both((random(32, 128, 128) * 0.1).to(kind))
        b, tb = both(random(32, 128, 128, dtype=kind))
        c, tc = both(torch.zeros(32, 128, 128, dtype=kind))
        yield Case(
            "gemm, batched", dtype, "32 x 128 x 128 x 128", lambda a=a, b=b, c=c: infinicore.matmul(a, b, out=c),
            lambda ta=ta, tb=tb, tc=tc: torch.bmm(ta, tb, out=tc), wanted=GEMM, tolerance=5e-2,
        )  # fmt: skip


@group
def quantised() -> Iterator[Case]:
    for rows in (1, 8, 512):
        n = k = WIDTH if rows < 512 else 1024
        for dtype, kind in DTYPES.items():
            a, ta = both(torch.randint(-127, 128, (rows, k), dtype=torch.int8))
            # Weights as checkpoints have them: a row for each feature of the result.
            b, tb = both(torch.randint(-127, 128, (n, k), dtype=torch.int8))
            a_s, ta_s = both(torch.rand(rows, 1) * 1e-2)
            b_s, tb_s = both(torch.rand(n, 1) * 1e-2)
            c = mine(torch.zeros(rows, n, dtype=kind))
            yield Case(
                "scaled_mm_i8", dtype, f"{rows} x {k} x {n}",
                lambda a=a, a_s=a_s, b=b, b_s=b_s, c=c: infinicore.scaled_mm_i8(a, a_s, b.permute(1, 0), b_s, out=c),
                lambda ta=ta, tb=tb, ta_s=ta_s, tb_s=tb_s, kind=kind: (
                    torch._int_mm(ta, tb.t()) * ta_s * tb_s.t()
                ).to(kind),
            )  # fmt: skip


_SHIFTS = torch.arange(0, 32, 4, dtype=torch.int32)
_AWQ_SHIFTS = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7], dtype=torch.int32) * 4


def _awq(words: torch.Tensor, scales: torch.Tensor, zeros: torch.Tensor, group_size: int) -> torch.Tensor:
    numbers = ((words.unsqueeze(-1) >> _AWQ_SHIFTS) & 15).view(words.size(0), -1)
    offsets = ((zeros.unsqueeze(-1) >> _AWQ_SHIFTS) & 15).view(zeros.size(0), -1)
    wide = numbers.view(-1, group_size, numbers.size(1)) - offsets.unsqueeze(1)
    return (wide * scales.unsqueeze(1)).view(numbers.shape)


def _gptq(
    words: torch.Tensor, scales: torch.Tensor, zeros: torch.Tensor, groups: torch.Tensor
) -> torch.Tensor:
    numbers = ((words.unsqueeze(1) >> _SHIFTS.view(1, 8, 1)) & 15).view(-1, words.size(1))
    offsets = ((zeros.unsqueeze(-1) >> _SHIFTS) & 15).view(zeros.size(0), -1) + 1
    return (numbers - offsets[groups]) * scales[groups]


@group
def weights_of_4_bits() -> Iterator[Case]:
    k, n, size = 1024, WIDTH, 128
    limits = torch.iinfo(torch.int32)
    for dtype, kind in DTYPES.items():
        s, ts = both(random(k // size, n, dtype=kind) * 0.01)
        y = mine(torch.zeros(k, n, dtype=kind))
        z, tz = both(torch.randint(limits.min, limits.max, (k // size, n // 8), dtype=torch.int32))
        w, tw = both(torch.randint(limits.min, limits.max, (k, n // 8), dtype=torch.int32))
        yield Case(
            "dequantize_awq", dtype, f"{k} x {n}", lambda w=w, s=s, z=z, y=y: infinicore.dequantize_awq(w, s, z, out=y),
            lambda tw=tw, ts=ts, tz=tz: _awq(tw, ts, tz, size),
        )  # fmt: skip
        v, tv = both(torch.randint(limits.min, limits.max, (k // 8, n), dtype=torch.int32))
        g, tg = both((torch.arange(k) // size).to(torch.int32))
        yield Case(
            "dequantize_gptq", dtype, f"{k} x {n}",
            lambda v=v, s=s, z=z, g=g, y=y: infinicore.dequantize_gptq(v, s, z, g, out=y),
            lambda tv=tv, ts=ts, tz=tz, tg=tg: _gptq(tv, ts, tz, tg),
        )  # fmt: skip


def _experts(
    x: torch.Tensor, chosen: torch.Tensor, scales: torch.Tensor, up: torch.Tensor, down: torch.Tensor
) -> torch.Tensor:
    result = torch.zeros_like(x)
    for expert in chosen.unique().tolist():
        rows, places = torch.where(chosen == expert)
        gate, value = F.linear(x[rows], up[expert]).chunk(2, -1)
        made = F.linear(F.silu(gate) * value, down[expert])
        result.index_add_(0, rows, (made * scales[rows, places, None]).to(x.dtype))
    return result


@group
def experts() -> Iterator[Case]:
    count, hidden, inner, topk = 8, 512, 1024, 2
    for dtype, kind in DTYPES.items():
        for tokens in (1, 8, 256):
            x, tx = both(random(tokens, hidden, dtype=kind))
            up, tup = both((random(count, 2 * inner, hidden) * hidden**-0.5).to(kind))
            down, tdown = both((random(count, hidden, inner) * inner**-0.5).to(kind))
            choice = torch.stack([torch.randperm(count)[:topk] for _ in range(tokens)]).to(torch.int32)
            chosen, tchosen = both(choice)
            scales, tscales = both(torch.rand(tokens, topk))
            y = mine(torch.zeros(tokens, hidden, dtype=kind))
            yield Case(
                "fused_moe", dtype, f"{tokens} x {hidden} x {inner}, {count}",
                lambda x=x, c=chosen, s=scales, u=up, d=down, y=y: functional.fused_moe(x, c, s, u, d, out=y),
                lambda tx=tx, c=tchosen, s=tscales, u=tup, d=tdown: _experts(tx, c, s, u, d), tolerance=8e-2,
            )  # fmt: skip
