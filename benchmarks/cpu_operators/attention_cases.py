"""Attention, its caches, and rotary positions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

import infinicore
from infinicore.nn import functional

from .cases import DTYPES, Case, both, group, mine, random

HEADS, SHARED, SIZE = 32, 8, 128  # of queries, of keys; elements of a head
SECTIONS = [16, 24, 24]  # of time, height and width


def _neox(x: torch.Tensor, sin: torch.Tensor, cos: torch.Tensor) -> torch.Tensor:
    """Tables have both halves already, as models keep them."""
    half = x.size(-1) // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), -1)
    return x * cos + turned * sin


@group
def positions() -> Iterator[Case]:
    for dtype, kind in DTYPES.items():
        for tokens in (1, 8, 512):
            angles = random(1024, SIZE // 2)
            sin, tsin = both(torch.sin(angles).to(kind))
            cos, tcos = both(torch.cos(angles).to(kind))
            x, tx = both(random(tokens, HEADS, SIZE, dtype=kind))
            y = mine(torch.zeros(tokens, HEADS, SIZE, dtype=kind))
            ids = torch.arange(tokens) + 7
            pos, tpos = both(ids.to(torch.int32))
            wide_sin, wide_cos = (torch.cat((table, table), -1) for table in (tsin, tcos))
            yield Case(
                "rope", dtype, f"{tokens} x {HEADS} x {SIZE}",
                lambda x=x, p=pos, s=sin, c=cos, y=y: functional.rope(x, p, s, c, 1, out=y),
                lambda x=tx, p=tpos, s=wide_sin, c=wide_cos: _neox(x, s[p].unsqueeze(1), c[p].unsqueeze(1)),
                tolerance=6e-2,
            )  # fmt: skip
            q, tq = both(random(tokens, HEADS * SIZE, dtype=kind))
            k, tk = both(random(tokens, SHARED * SIZE, dtype=kind))
            q_out, k_out = (mine(torch.zeros_like(each)) for each in (tq, tk))
            where, twhere = both(torch.randint(0, 1024, (3, tokens), dtype=torch.int64))

            def multimodal(
                tq: Any = tq, tk: Any = tk, p: Any = twhere, sin: Any = wide_sin, cos: Any = wide_cos, tokens: int = tokens
            ) -> Any:  # fmt: skip
                parts = SECTIONS * 2
                s, c = (
                    torch.cat([m[i % 3] for i, m in enumerate(table[p].split(parts, -1))], -1).unsqueeze(1)
                    for table in (sin, cos)
                )
                return (
                    _neox(tq.view(tokens, HEADS, SIZE), s, c),
                    _neox(tk.view(tokens, SHARED, SIZE), s, c),
                )[0]

            yield Case(
                "mrope", dtype, f"{tokens} x {HEADS} x {SIZE}",
                lambda q=q, k=k, c=cos, s=sin, p=where, a=q_out, b=k_out: infinicore.mrope(
                    q, k, c, s, p, SIZE, SIZE, *SECTIONS, out=a, k_out=b
                )[0],
                multimodal, tolerance=6e-2,
            )  # fmt: skip


@group
def attention() -> Iterator[Case]:
    for dtype, kind in DTYPES.items():
        for queries, keys, causal in ((512, 512, True), (1, 512, False), (1, 2048, False)):
            q, tq = both(random(1, HEADS, queries, SIZE, dtype=kind))
            k, tk = both(random(1, SHARED, keys, SIZE, dtype=kind))
            v, tv = both(random(1, SHARED, keys, SIZE, dtype=kind))
            y = mine(torch.zeros(1, HEADS, queries, SIZE, dtype=kind))
            yield Case(
                "flash_attention", dtype, f"{HEADS} ({SHARED}) x {queries} x {keys} x {SIZE}",
                lambda q=q, k=k, v=v, y=y, causal=causal: functional.flash_attention(q, k, v, is_causal=causal, out=y),
                lambda q=tq, k=tk, v=tv, causal=causal: F.scaled_dot_product_attention(
                    q, k, v, is_causal=causal, enable_gqa=True
                ),
                tolerance=4e-2,
            )  # fmt: skip
    for dtype, kind in DTYPES.items():
        for queries, past in ((1, 511), (8, 504), (256, 0)):
            room = 1024
            q, tq = both(random(HEADS, queries, SIZE, dtype=kind))
            k, tk = both(random(SHARED, queries, SIZE, dtype=kind))
            v, tv = both(random(SHARED, queries, SIZE, dtype=kind))
            k_cache, tk_cache = both(random(SHARED, room, SIZE, dtype=kind))
            v_cache, tv_cache = both(random(SHARED, room, SIZE, dtype=kind))
            y = mine(torch.zeros(queries, HEADS, SIZE, dtype=kind))
            end = past + queries
            mask = torch.ones(queries, end, dtype=torch.bool).tril(past)

            def cached(
                q: Any = tq, k: Any = tk, v: Any = tv, kc: Any = tk_cache, vc: Any = tv_cache, past: int = past, end: int = end,
                mask: Any = mask,
            ) -> Any:  # fmt: skip
                kc[:, past:end] = k
                vc[:, past:end] = v
                seen = None if q.size(1) == 1 else mask
                made = F.scaled_dot_product_attention(
                    q[None], kc[None, :, :end], vc[None, :, :end], attn_mask=seen, enable_gqa=True
                )
                return made[0].transpose(0, 1)

            yield Case(
                "attention", dtype, f"{HEADS} ({SHARED}) x {queries} after {past}",
                lambda q=q, k=k, v=v, kc=k_cache, vc=v_cache, past=past, y=y: infinicore.attention(
                    q, k, v, kc, vc, past, out=y
                ),
                cached, tolerance=4e-2,
            )  # fmt: skip


@group
def caches() -> Iterator[Case]:
    for dtype, kind in DTYPES.items():
        for batch, tokens in ((1, 1), (8, 1), (1, 512)):
            k_cache, tk_cache = both(random(batch, SHARED, 1024, SIZE, dtype=kind))
            v_cache, tv_cache = both(random(batch, SHARED, 1024, SIZE, dtype=kind))
            k, tk = both(random(batch, SHARED, tokens, SIZE, dtype=kind))
            v, tv = both(random(batch, SHARED, tokens, SIZE, dtype=kind))
            past = torch.full((batch,), 100)
            lengths, tlengths = both(past)
            numbers = torch.arange(tokens)
            sequences = torch.arange(batch)[:, None]

            def put(
                kc: Any = tk_cache, vc: Any = tv_cache, k: Any = tk, v: Any = tv, past: Any = tlengths, s: Any = sequences,
                n: Any = numbers,
            ) -> Any:  # fmt: skip
                places = past[:, None] + n
                kc[s, :, places] = k.transpose(1, 2)
                vc[s, :, places] = v.transpose(1, 2)
                return kc

            yield Case(
                "kv_caching", dtype, f"{batch} x {SHARED} x {tokens} x {SIZE}",
                lambda kc=k_cache, vc=v_cache, k=k, v=v, p=lengths: infinicore.kv_caching(kc, vc, k, v, p)[0], put,
            )  # fmt: skip
            count = batch * tokens
            pages = 128
            k_pages, tk_pages = both(random(pages, SHARED, 16, SIZE, dtype=kind))
            v_pages, tv_pages = both(random(pages, SHARED, 16, SIZE, dtype=kind))
            k, tk = both(random(count, SHARED, SIZE, dtype=kind))
            v, tv = both(random(count, SHARED, SIZE, dtype=kind))
            slots, tslots = both(torch.randperm(pages * 16)[:count])

            def put_pages(
                kc: Any = tk_pages, vc: Any = tv_pages, k: Any = tk, v: Any = tv, slots: Any = tslots
            ) -> Any:
                page, place = slots // 16, slots % 16
                kc[page, :, place] = k
                vc[page, :, place] = v
                return kc

            yield Case(
                "paged_caching", dtype, f"{count} x {SHARED} x {SIZE}",
                lambda kc=k_pages, vc=v_pages, k=k, v=v, s=slots: infinicore.paged_caching(kc, vc, k, v, s)[0],
                put_pages,
            )  # fmt: skip


@group
def pages() -> Iterator[Case]:
    scale = SIZE**-0.5
    for dtype, kind in DTYPES.items():
        for sequences, keys in ((1, 512), (8, 512)):
            per = keys // 16
            k_pages, tk_pages = both(random(sequences * per, SHARED, 16, SIZE, dtype=kind))
            v_pages, tv_pages = both(random(sequences * per, SHARED, 16, SIZE, dtype=kind))
            table, ttable = both(torch.randperm(sequences * per).view(sequences, per))
            lengths = mine(torch.full((sequences,), keys))
            q, tq = both(random(sequences, HEADS, SIZE, dtype=kind))
            y = mine(torch.zeros_like(tq))

            def gathered(cache: Any, table: Any) -> Any:
                return cache[table].transpose(1, 2).reshape(table.size(0), SHARED, -1, SIZE)

            def decode(q: Any = tq, k: Any = tk_pages, v: Any = tv_pages, table: Any = ttable) -> Any:
                return F.scaled_dot_product_attention(
                    q.unsqueeze(2), gathered(k, table), gathered(v, table), enable_gqa=True
                ).squeeze(2)

            yield Case(
                "paged_attention", dtype, f"{sequences} x {HEADS} ({SHARED}) x {keys}",
                lambda q=q, k=k_pages, v=v_pages, t=table, n=lengths, y=y: infinicore.paged_attention(
                    q, k, v, t, n, None, scale, out=y
                ),
                decode, tolerance=4e-2,
            )  # fmt: skip
        new, keys = 128, 256
        k_pages, tk_pages = both(random(keys // 16, SHARED, 16, SIZE, dtype=kind))
        v_pages, tv_pages = both(random(keys // 16, SHARED, 16, SIZE, dtype=kind))
        table, ttable = both(torch.randperm(keys // 16).view(1, -1))
        lengths = mine(torch.full((1,), keys))
        ends = mine(torch.tensor([0, new]))
        q, tq = both(random(new, HEADS, SIZE, dtype=kind))
        y = mine(torch.zeros_like(tq))
        mask = torch.ones(new, keys, dtype=torch.bool).tril(keys - new)

        def prefill(
            q: Any = tq, k: Any = tk_pages, v: Any = tv_pages, table: Any = ttable, mask: Any = mask
        ) -> Any:
            made = F.scaled_dot_product_attention(
                q.transpose(0, 1)[None],
                gathered(k, table),
                gathered(v, table),
                attn_mask=mask,
                enable_gqa=True,
            )
            return made[0].transpose(0, 1)

        yield Case(
            "paged_attention_prefill", dtype, f"{new} of {keys} x {HEADS} ({SHARED})",
            lambda q=q, k=k_pages, v=v_pages, t=table, n=lengths, e=ends, y=y: infinicore.paged_attention_prefill(
                q, k, v, t, n, e, None, scale, out=y
            ),
            prefill, tolerance=4e-2,
        )  # fmt: skip
