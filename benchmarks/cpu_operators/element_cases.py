"""Element by element, and what only moves elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F

import infinicore
from infinicore.nn import functional

from .cases import DTYPES, WIDTH, Case, both, group, mine, random, sizes

Ours = Callable[..., Any]


def _unary(name: str, ours: Ours, theirs: Callable[[Any, Any], Any]) -> Iterator[Case]:
    """`theirs` has the input and where the result goes."""
    for dtype, kind, rows in sizes():
        x, tx = both(random(rows, WIDTH, dtype=kind))
        y, ty = both(torch.zeros(rows, WIDTH, dtype=kind))
        yield Case(
            name,
            dtype,
            f"{rows} x {WIDTH}",
            lambda x=x, y=y: ours(x, out=y),
            lambda tx=tx, ty=ty: theirs(tx, ty),
        )


@group
def arithmetic() -> Iterator[Case]:
    for name, ours, theirs in (
        ("add", infinicore.add, torch.add),
        ("sub", infinicore.sub, torch.sub),
        ("mul", infinicore.mul, torch.mul),
    ):
        for dtype, kind, rows in sizes():
            a, ta = both(random(rows, WIDTH, dtype=kind))
            b, tb = both(random(rows, WIDTH, dtype=kind))
            c, tc = both(torch.zeros(rows, WIDTH, dtype=kind))
            yield Case(
                name,
                dtype,
                f"{rows} x {WIDTH}",
                lambda a=a, b=b, c=c, ours=ours: ours(a, b, out=c),
                lambda ta=ta, tb=tb, tc=tc, theirs=theirs: theirs(ta, tb, out=tc),
            )


@group
def clip() -> Iterator[Case]:
    yield from _unary(
        "clip",
        lambda x, out: infinicore.clamp(x, -0.5, 0.5, out=out),
        lambda x, out: torch.clamp(x, -0.5, 0.5, out=out),
    )


@group
def activations() -> Iterator[Case]:
    yield from _unary("sigmoid", infinicore.sigmoid, lambda x, out: torch.sigmoid(x, out=out))
    yield from _unary("tanh", infinicore.tanh, lambda x, out: torch.tanh(x, out=out))
    yield from _unary("softplus", infinicore.softplus, lambda x, out: torch._C._nn.softplus(x, out=out))
    yield from _unary("silu", infinicore.silu, lambda x, out: torch._C._nn.silu(x, out=out))
    yield from _unary("relu", infinicore.relu, lambda x, out: torch.clamp_min(x, 0, out=out))
    yield from _unary("gelu", infinicore.gelu, lambda x, out: torch._C._nn.gelu(x, out=out))
    yield from _unary(
        "gelutanh", infinicore.gelu_tanh, lambda x, out: torch._C._nn.gelu(x, approximate="tanh", out=out)
    )
    yield from _unary("quickgelu", infinicore.quick_gelu, lambda x, out: x * torch.sigmoid(1.702 * x))


@group
def gated() -> Iterator[Case]:
    for dtype, kind, rows in sizes():
        a, ta = both(random(rows, WIDTH, dtype=kind))
        b, tb = both(random(rows, WIDTH, dtype=kind))
        c = mine(torch.zeros(rows, WIDTH, dtype=kind))
        yield Case(
            "swiglu",
            dtype,
            f"{rows} x {WIDTH}",
            lambda a=a, b=b, c=c: functional.swiglu(a, b, out=c),
            lambda ta=ta, tb=tb: ta * F.silu(tb),
            tolerance=5e-2,
        )
    for dtype, kind, rows in sizes():
        x, tx = both(random(rows, 2 * WIDTH, dtype=kind))
        c = mine(torch.zeros(rows, WIDTH, dtype=kind))
        yield Case(
            "silu_and_mul",
            dtype,
            f"{rows} x 2*{WIDTH}",
            lambda x=x, c=c: functional.silu_and_mul(x, out=c),
            lambda tx=tx: F.silu(tx[:, :WIDTH]) * tx[:, WIDTH:],
            tolerance=5e-2,
        )


@group
def moved() -> Iterator[Case]:
    for dtype, kind, rows in sizes():
        x, tx = both(random(rows, WIDTH, dtype=kind))
        y, ty = both(torch.zeros(WIDTH, rows, dtype=kind))
        yield Case(
            "rearrange, transposed",
            dtype,
            f"{rows} x {WIDTH}",
            lambda x=x, y=y: infinicore.rearrange(x.permute(1, 0), out=y),
            lambda tx=tx, ty=ty: ty.copy_(tx.t()),
        )
    for dtype, kind in DTYPES.items():
        for tokens in (1, 8, 512):
            x, tx = both(random(tokens, 32, 128, dtype=kind))
            y, ty = both(torch.zeros(32, tokens, 128, dtype=kind))
            yield Case(
                "rearrange, heads",
                dtype,
                f"{tokens} x 32 x 128",
                lambda x=x, y=y: infinicore.rearrange(x.permute(1, 0, 2), out=y),
                lambda tx=tx, ty=ty: ty.copy_(tx.transpose(0, 1)),
            )
    for dtype, kind, rows in sizes():
        x, tx = both(random(rows, WIDTH, dtype=kind))
        yield Case(
            "narrow",
            dtype,
            f"{rows} x {WIDTH}",
            lambda x=x: infinicore.narrow(x, 1, 128, 1024),
            lambda tx=tx: torch.narrow(tx, 1, 128, 1024),
        )
    for dtype, kind, rows in sizes():
        of = infinicore.float32 if dtype == "f32" else infinicore.bfloat16
        for name, ours, theirs in (
            ("zeros", infinicore.zeros, torch.zeros),
            ("ones", infinicore.ones, torch.ones),
        ):
            yield Case(
                name,
                dtype,
                f"{rows} x {WIDTH}",
                lambda ours=ours, rows=rows, of=of: ours([rows, WIDTH], dtype=of),
                lambda theirs=theirs, rows=rows, kind=kind: theirs(rows, WIDTH, dtype=kind),
            )


@group
def tiny() -> Iterator[Case]:
    """What a call itself costs."""
    for dtype, kind in DTYPES.items():
        a, ta = both(random(4, dtype=kind))
        b, tb = both(random(4, dtype=kind))
        c, tc = both(torch.zeros(4, dtype=kind))
        yield Case(
            "add, out=", dtype, "4", lambda a=a, b=b, c=c: infinicore.add(a, b, out=c),
            lambda ta=ta, tb=tb, tc=tc: torch.add(ta, tb, out=tc),
        )  # fmt: skip
        yield Case(
            "add", dtype, "4", lambda a=a, b=b: infinicore.add(a, b), lambda ta=ta, tb=tb: torch.add(ta, tb)
        )
        yield Case("relu", dtype, "4", lambda a=a: infinicore.relu(a), lambda ta=ta: torch.relu(ta))
        x, tx = both(random(1, 8, dtype=kind))
        yield Case(
            "softmax", dtype, "1 x 8", lambda x=x: functional.softmax(x), lambda tx=tx: torch.softmax(tx, -1)
        )
        w, tw = both(random(8, dtype=kind))
        yield Case(
            "rms_norm", dtype, "1 x 8", lambda x=x, w=w: functional.rms_norm(x, [8], w),
            lambda tx=tx, tw=tw: F.rms_norm(tx, [8], tw, 1e-5),
        )  # fmt: skip
        m, tm = both(random(8, 8, dtype=kind))
        yield Case(
            "linear", dtype, "1 x 8 x 8", lambda x=x, m=m: functional.linear(x, m),
            lambda tx=tx, tm=tm: F.linear(tx, tm),
        )  # fmt: skip
