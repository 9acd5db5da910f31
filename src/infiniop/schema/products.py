"""Products of matrices, and what is made of them."""

from __future__ import annotations

from typing import Any

from .model import NUMBERS, Attribute, Operator, Tensor, Written

TYPES = ("F16", "BF16", "F32", "F64")


def addbmm(np: Any, input: Any, batch1: Any, batch2: Any, alpha: float, beta: float) -> Any:
    total = alpha * np.einsum("bnm,bmp->np", batch1, batch2)
    return total + beta * input if beta else total


def addbmm_trials(np: Any, random: Any) -> Any:
    for b, n, m, p, shape, alpha, beta in (
        (3, 5, 7, 6, (5, 6), 1, 1),
        (2, 17, 40, 9, (9,), 0.5, -2),
        (4, 1, 30, 3, (1, 3), 2, 0.25),
        (1, 6, 8, 5, (6, 1), -1, 1),
        (0, 3, 4, 5, (3, 5), 1, 0.5),
        (3, 4, 0, 2, (), 1, 2),
        (2, 0, 4, 5, (0, 5), 1, 1),
    ):
        yield {
            "input": random.normal(size=shape),
            "batch1": random.normal(size=(b, n, m)),
            "batch2": random.normal(size=(b, m, p)),
            "alpha": alpha,
            "beta": beta,
        }
    # With beta 0 what it would be a factor of is not read.
    unread = {"input": np.full((2, 3), np.nan), "batch1": random.normal(size=(2, 2, 4))}
    yield unread | {"batch2": random.normal(size=(2, 4, 3)), "alpha": 1, "beta": 0}


def addr(np: Any, input: Any, vec1: Any, vec2: Any, beta: float, alpha: float) -> Any:
    product = alpha * vec1[:, None] * vec2
    return product + beta * input if beta else product


def addr_trials(np: Any, random: Any) -> Any:
    for n, m, shape, beta, alpha in (
        (5, 7, (5, 7), 1, 1),
        (40, 300, (300,), 0.5, -2),
        (1, 9, (1, 1), 2, 0.25),
        (6, 1, (), 1, 3),
        (0, 4, (4,), 1, 1),
        (3, 0, (3, 1), 1, 1),
    ):
        yield {
            "input": random.normal(size=shape),
            "vec1": random.normal(size=n),
            "vec2": random.normal(size=m),
            "beta": beta,
            "alpha": alpha,
        }
    yield {"input": np.full(4, np.inf), "vec1": np.ones(3), "vec2": np.arange(4.0), "beta": 0, "alpha": 1}


def inner(np: Any, input: Any, other: Any) -> Any:
    return np.tensordot(input, other, axes=(-1, -1))


def inner_trials(np: Any, random: Any) -> Any:
    for first, second in (
        ((3, 20), (4, 20)),
        ((2, 3, 9), (5, 9)),
        ((2, 3, 9), (4, 2, 9)),
        ((300,), (300,)),
        ((6,), (2, 4, 6)),
        ((2, 0), (3, 0)),
        ((0, 4), (3, 4)),
    ):
        yield {"input": random.normal(size=first), "other": random.normal(size=second)}


def kron(np: Any, x1: Any, x2: Any) -> Any:
    return np.kron(x1, x2)


def kron_trials(np: Any, random: Any) -> Any:
    for first, second in (
        ((3, 4), (2, 5)),
        ((7,), (40,)),
        ((2, 1, 3), (4, 2)),
        ((3,), (2, 2, 3)),
        ((2, 3, 2, 2), (1, 2, 3, 2)),
        ((), (2, 3)),
        ((2, 2), ()),
        ((0, 3), (2, 2)),
    ):
        yield {"x1": random.integers(-8, 9, first) / 4, "x2": random.integers(-8, 9, second) / 2}


def matrix_power(np: Any, x: Any, n: float) -> Any:
    return np.linalg.matrix_power(x, int(n))


def matrix_power_trials(np: Any, random: Any) -> Any:
    for shape, n in (
        ((4, 4), 3),
        ((2, 3, 5, 5), 2),
        ((7, 7), 0),
        ((2, 6, 6), 1),
        ((20, 20), 13),
        ((3, 9, 9), 8),
        ((1, 1), 5),
        ((0, 3, 3), 4),
        ((2, 0, 0), 2),
    ):
        yield {"x": random.normal(size=shape) / max(1, shape[-1]) ** 0.5, "n": n}


def fused_ffn(
    np: Any, residual: Any, norm_weight: Any, gate_up_weight: Any, down_weight: Any, epsilon: float, **rest: Any
) -> Any:  # fmt: skip
    x = rest["in"]
    normed = x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + epsilon) * norm_weight
    gate, up = np.split(normed @ gate_up_weight.T, 2, axis=-1)
    out = (gate / (1 + np.exp(-gate)) * up) @ down_weight.T
    return out if residual is None else out + residual


def fused_ffn_trials(np: Any, random: Any) -> Any:
    for tokens, width, inside, adds in (
        (3, 32, 20, True),
        (1, 16, 48, False),
        (9, 24, 7, True),
        (0, 8, 8, True),
    ):
        yield {
            "in": random.normal(size=(tokens, width)),
            "residual": random.normal(size=(tokens, width)) if adds else None,
            "norm_weight": random.uniform(0.5, 1.5, width),
            "gate_up_weight": random.normal(size=(2 * inside, width)) / width**0.5,
            "down_weight": random.normal(size=(width, inside)) / inside**0.5,
            "epsilon": 1e-5,
        }


INPUT_IS_BROADCAST = (
    "broadcasts_to(plan, tensor::input, tensor::out)",
    "input must have the shape of out, or size 1 or no dimension where it is repeated",
)

OPERATORS: tuple[Operator, ...] = (
    Operator(
        "Gemm",
        "`alpha * a * b + beta * c` of matrices, or of as many as the first of three dimensions says; `a` and `b` may have one for all "
        "of `c`'s. F16 and BF16 are summed up as float. With `beta` 0 what `c` held is not read, with `alpha` 0 neither `a` nor `b`.",
        (Tensor("c", "out"), Tensor("a"), Tensor("b")),
        TYPES,
        lambda np, c, a, b, alpha, beta: alpha * (a @ b) + (beta * c if beta else 0),
        kind="gemm",
        attributes=(
            Attribute("alpha", "float", "the factor of the product", at_compute=True),
            Attribute("beta", "float", "the factor of what c held", at_compute=True),
        ),
    ),
    Operator(
        "Addbmm",
        "`beta * input + alpha *` the sum of the products of `batch1`'s matrices with `batch2`'s, rounded once. `input` is broadcast to the "
        "result's shape; with `beta` 0 it is not read.",
        (Tensor("out", "out"), Tensor("input"), Tensor("batch1"), Tensor("batch2")),
        TYPES,
        addbmm,
        kind="written",
        written=Written(
            {"out": "n p", "input": "*", "batch1": "b n m", "batch2": "b m p"},
            addbmm_trials,
            rules=(INPUT_IS_BROADCAST,),
            composed=True,
        ),
        attributes=(
            Attribute("alpha", "float", "the factor of the products"),
            Attribute("beta", "float", "the factor of input"),
        ),
        wrapped=True,
        ulps=64,
    ),
    Operator(
        "Addr",
        "`beta * input + alpha *` the products of each element of `vec1` with each of `vec2`. `input` is broadcast to the result's shape; with "
        "`beta` 0 it is not read.",
        (Tensor("out", "out"), Tensor("input"), Tensor("vec1"), Tensor("vec2")),
        TYPES,
        addr,
        kind="written",
        written=Written(
            {"out": "n m", "input": "*", "vec1": "n", "vec2": "m"},
            addr_trials,
            rules=(INPUT_IS_BROADCAST,),
            composed=True,
        ),
        attributes=(
            Attribute("beta", "float", "the factor of input"),
            Attribute("alpha", "float", "the factor of the products"),
        ),
        wrapped=True,
        ulps=8,
    ),
    Operator(
        "Inner",
        "The products of each row of `input` with each of `other`, along the last dimension of both: `out` has the other dimensions of `input`, then "
        "those of `other`.",
        (Tensor("out", "out"), Tensor("input"), Tensor("other")),
        TYPES,
        inner,
        kind="written",
        written=Written(
            {"out": "*", "input": "*", "other": "*"},
            inner_trials,
            rules=(
                (
                    "is_inner(plan, tensor::out, tensor::input, tensor::other)",
                    "the last dimensions of input and other must have one size, and out all others, those of input first",
                ),
            ),
            composed=True,
        ),
        wrapped=True,
        ulps=64,
    ),
    Operator(
        "Kron",
        "Each element of `x1` times the whole of `x2`, in its place: `y` has in each dimension the product of their sizes. The one with fewer "
        "dimensions has size 1 in the first ones.",
        (Tensor("y", "out"), Tensor("x1"), Tensor("x2")),
        NUMBERS,
        kron,
        kind="written",
        written=Written(
            {"y": "*", "x1": "*", "x2": "*"},
            kron_trials,
            rules=(
                (
                    "is_kron(plan, tensor::y, tensor::x1, tensor::x2)",
                    "each dimension of y must have the product of the sizes of x1 and x2, aligned at the last one",
                ),
            ),
            composed=True,
        ),
        wrapped=True,
        ulps=1,
    ),
    Operator(
        "MatrixPower",
        "The product of `n` times `x`, of a matrix or of as many as there are; for `n` 0 ones on the diagonal. F16 and BF16 are multiplied as float, "
        "and rounded once.",
        (Tensor("y", "out"), Tensor("x")),
        TYPES,
        matrix_power,
        kind="written",
        written=Written(
            {"y": "... m m", "x": "... m m"},
            matrix_power_trials,
            rules=(("n >= 0", "n must be 0 or more"),),
            composed=True,
        ),
        attributes=(Attribute("n", "int", "how many factors"),),
        header="matrix_power",
        wrapped=True,
        ulps=256,
    ),
    Operator(
        "FusedFFN",
        "The second half of a layer: `residual + (silu(g) * u) * down_weight^T`, where `g` and `u` are the halves of `rms_norm(in) * gate_up_weight^T`.",
        (
            Tensor("out", "out"),
            Tensor("in", python="input"),
            Tensor("residual", optional=True),
            Tensor("norm_weight"),
            Tensor("gate_up_weight"),
            Tensor("down_weight"),
        ),
        ("F16", "BF16", "F32"),
        fused_ffn,
        kind="written",
        written=Written(
            {
                "out": "t d",
                "in": "t d",
                "residual": "t d",
                "norm_weight": "d",
                "gate_up_weight": "2*i d",
                "down_weight": "d i",
            },
            fused_ffn_trials,
            composed=True,
        ),
        attributes=(Attribute("epsilon", "float", "added to the mean of squares", default=1e-6),),
        header="fused_ffn",
        python="fused_ffn",
        wrapped=True,
        ulps=64,
        narrow_ulps=4,
    ),
)
