"""Normalisations of channels: over a batch, over groups of channels, over neighbouring channels."""

from __future__ import annotations

from typing import Any

from .model import Attribute, Operator, Tensor, Written

FLOATING = ("F16", "BF16", "F32", "F64")
EPS = Attribute("eps", "double", "what is added to variances", default=1e-5)


def of_channel(np: Any, values: Any, x: Any, otherwise: float) -> Any:
    """A number for each channel, beside the elements; `otherwise` where there are none."""
    return otherwise if values is None else values.reshape(1, -1, *([1] * (x.ndim - 2)))


def batch_norm(np: Any, x: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: float) -> Any:
    scaled = (x - of_channel(np, mean, x, 0)) / np.sqrt(of_channel(np, var, x, 1) + eps)
    return scaled * of_channel(np, weight, x, 1) + of_channel(np, bias, x, 0)


def batch_norm_training(
    np: Any, x: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, momentum: float, eps: float
) -> Any:
    axes = (0, *range(2, x.ndim))
    count = x.size // max(x.shape[1], 1)
    mean, var = (
        (x.mean(axes), x.var(axes)) if count else (np.full(x.shape[1], np.nan), np.full(x.shape[1], np.nan))
    )
    result = batch_norm(np, x, mean, var, weight, bias, eps)
    unbiased = var * count / (count - 1) if count > 1 else var * np.nan
    return (
        result,
        (1 - momentum) * running_mean + momentum * mean,
        (1 - momentum) * running_var + momentum * unbiased,
    )


def group_norm(np: Any, x: Any, weight: Any, bias: Any, num_groups: float, eps: float) -> Any:
    groups = int(num_groups)
    grouped = x.reshape(x.shape[0], groups, x.size // max(x.shape[0] * groups, 1))
    mean = grouped.mean(-1, keepdims=True) if grouped.size else 0
    var = grouped.var(-1, keepdims=True) if grouped.size else 1
    scaled = ((grouped - mean) / np.sqrt(var + eps)).reshape(x.shape)
    return scaled * of_channel(np, weight, x, 1) + of_channel(np, bias, x, 0)


def local_response_norm(np: Any, x: Any, size: float, alpha: float, beta: float, k: float) -> Any:
    n = int(size)
    total = np.zeros_like(x)
    for shift in range(-(n // 2), (n - 1) // 2 + 1):
        first, last = max(0, -shift), min(x.shape[1], x.shape[1] - shift)
        if first < last:
            total[:, first:last] += x[:, first + shift : last + shift] ** 2
    return x / (total / n * alpha + k) ** beta


SHAPES = ((4, 6, 5, 7), (3, 8), (2, 4, 300), (1, 6, 3, 4, 5), (2, 12, 40, 33), (5, 2, 2200))


def batch_norm_trials(np: Any, random: Any) -> Any:
    for number, shape in enumerate((*SHAPES, (0, 3, 4))):
        c = shape[1]
        yield {
            "x": random.normal(1, 2, shape),
            "mean": random.normal(size=c),
            "var": random.uniform(0.5, 2, c),
            "weight": random.normal(size=c) if number % 3 != 1 else None,
            "bias": random.normal(size=c) if number % 3 != 2 else None,
            "eps": 1e-5,
        }


def batch_norm_training_trials(np: Any, random: Any) -> Any:
    for number, shape in enumerate(SHAPES):
        c = shape[1]
        yield {
            "x": random.normal(1, 2, shape),
            "running_mean": random.normal(size=c),
            "running_var": random.uniform(0.5, 2, c),
            "weight": random.normal(size=c) if number % 3 != 1 else None,
            "bias": random.normal(size=c) if number % 3 != 2 else None,
            "momentum": 0.25,
            "eps": 1e-5,
        }


def group_norm_trials(np: Any, random: Any) -> Any:
    for number, (shape, groups) in enumerate(zip((*SHAPES, (0, 4, 3)), (3, 2, 4, 1, 4, 2, 2), strict=True)):
        c = shape[1]
        yield {
            "x": random.normal(1, 2, shape),
            "weight": random.normal(size=c) if number % 3 != 1 else None,
            "bias": random.normal(size=c) if number % 3 != 2 else None,
            "num_groups": groups,
            "eps": 1e-5,
        }


def local_response_norm_trials(np: Any, random: Any) -> Any:
    for shape, size in (
        ((2, 7, 4, 5), 5),
        ((1, 3, 9), 2),
        ((2, 4, 3, 3, 3), 9),
        ((1, 64, 17, 20), 4),
        ((0, 3, 4), 3),
        ((3, 5), 1),
    ):
        yield {"x": random.normal(size=shape), "size": size, "alpha": 0.5, "beta": 0.75, "k": 1.0}


X, Y = Tensor("x"), Tensor("y", "out")
WEIGHT = Tensor("weight", dtypes=FLOATING, optional=True)
BIAS = Tensor("bias", dtypes=FLOATING, optional=True)
WHOLE = {"y": "b c ...", "x": "b c ..."}
EACH = {"weight": "c", "bias": "c"}

OPERATORS: tuple[Operator, ...] = (
    Operator(
        "BatchNorm",
        "Elements less the `mean` of their channel, over the root of its `var`, times `weight` and plus `bias`.",
        (Y, X, Tensor("mean", dtypes=FLOATING), Tensor("var", dtypes=FLOATING), WEIGHT, BIAS),
        FLOATING,
        batch_norm,
        kind="written",
        written=Written({**WHOLE, "mean": "c", "var": "c", **EACH}, batch_norm_trials, in_place=True),
        attributes=(EPS,),
        header="batch_norm",
        published=False,
        wrapped=True,
        ulps=16,
    ),
    Operator(
        "BatchNormTraining",
        "`BatchNorm` by mean and variance of what is there; `momentum` of these, and the rest of what they were, are `running_mean` and "
        "`running_var` then.",
        (
            Y,
            X,
            Tensor("running_mean", "inout", dtypes=FLOATING),
            Tensor("running_var", "inout", dtypes=FLOATING),
            WEIGHT,
            BIAS,
        ),
        FLOATING,
        batch_norm_training,
        kind="written",
        written=Written(
            {**WHOLE, "running_mean": "c", "running_var": "c", **EACH},
            batch_norm_training_trials,
            in_place=True,
        ),
        attributes=(
            Attribute("momentum", "double", "how much of the new statistics is taken", default=0.1),
            EPS,
        ),
        header="batch_norm_training",
        published=False,
        wrapped=True,
        ulps=64,
    ),
    Operator(
        "GroupNorm",
        "Elements less the mean of their group of channels, over the root of its variance, times `weight` and plus `bias` of the channel.",
        (Y, X, WEIGHT, BIAS),
        FLOATING,
        group_norm,
        kind="written",
        written=Written(
            {**WHOLE, **EACH},
            group_norm_trials,
            rules=(
                (
                    "num_groups >= 1 && c % num_groups == 0",
                    "the number of channels, c, must be a multiple of num_groups",
                ),
            ),
            in_place=True,
        ),
        attributes=(Attribute("num_groups", "size_t", "how many groups channels are in"), EPS),
        header="group_norm",
        published=False,
        wrapped=True,
        ulps=64,
    ),
    Operator(
        "LocalResponseNorm",
        "Elements over a power, `beta`, of `k` plus `alpha` times the average of squares of `size` neighbouring channels.",
        (Y, X),
        FLOATING,
        local_response_norm,
        kind="written",
        written=Written(
            dict(WHOLE), local_response_norm_trials, rules=(("size >= 1", "size must be at least 1"),)
        ),
        attributes=(
            Attribute("size", "size_t", "how many neighbours count"),
            Attribute("alpha", "double", "the factor of their squares", default=1e-4),
            Attribute("beta", "double", "the power", default=0.75),
            Attribute("k", "double", "what is added", default=1.0),
        ),
        header="local_response_norm",
        published=False,
        functional=True,
        ulps=32,
    ),
)
