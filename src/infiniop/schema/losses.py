"""How far numbers are from what they should be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .model import INDICES, Attribute, Operator, Tensor, Written

TYPES = ("F16", "BF16", "F32", "F64")
REDUCTION_TYPE = """typedef enum {
    INFINIOP_REDUCTION_NONE = 0,
    INFINIOP_REDUCTION_MEAN = 1,
    INFINIOP_REDUCTION_SUM = 2,
} infiniopReduction_t;"""
REDUCTION_RULE = (
    "reduction >= 0 && reduction <= 2",
    "reduction must be 0 (none), 1 (mean) or 2 (sum)",
)


def reduction(ctype: str = "int") -> Attribute:
    doc = "0: a loss for each element; 1: their mean; 2: their sum"
    return Attribute("reduction", ctype, doc, default=1, choices=("none", "mean", "sum"))


def reduced(np: Any, losses: Any, how: float) -> Any:
    return losses if how == 0 else np.sum(losses) / np.float64(np.size(losses) if how == 1 else 1)


def trials(make: Callable[[Any, Any, tuple[int, ...]], dict[str, Any]], *more: dict[str, Any]) -> Any:
    """Each shape with each reduction; `more` has attributes for further calls."""

    def every(np: Any, random: Any) -> Any:
        for shape in ((4, 9), (3, 20, 300), (7,), (5, 0)):
            for how in (0, 1, 2):
                yield make(np, random, shape) | {"reduction": how}
        for attributes in more:
            yield make(np, random, (6, 11)) | {"reduction": 0} | attributes

    return every


def huber(np: Any, input: Any, target: Any, delta: float, reduction: float) -> Any:
    off = np.abs(input - target)
    return reduced(np, np.where(off <= delta, 0.5 * off * off, delta * (off - 0.5 * delta)), reduction)


def smooth_l1(np: Any, input: Any, target: Any, beta: float, reduction: float) -> Any:
    off = np.abs(input - target)
    square = 0.5 * off * off / beta if beta > 0 else off
    return reduced(np, np.where(off < beta, square, off - 0.5 * beta), reduction)


def bce_with_logits(np: Any, logits: Any, target: Any, weight: Any, pos_weight: Any, reduction: float) -> Any:
    softplus = np.log1p(np.exp(-np.abs(logits))) + np.maximum(-logits, 0)
    positive = 1.0 if pos_weight is None else 1 + (pos_weight - 1) * target
    losses = (1 - target) * logits + positive * softplus
    return reduced(np, losses if weight is None else losses * weight, reduction)


def gaussian_nll(
    np: Any, input: Any, target: Any, var: Any, full: float, eps: float, reduction: float
) -> Any:
    spread = np.maximum(var, eps)
    losses = 0.5 * (np.log(spread) + (input - target) ** 2 / spread)
    return reduced(np, losses + (0.5 * math.log(2 * math.pi) if full else 0), reduction)


def hinge_embedding(np: Any, input: Any, target: Any, margin: float, reduction: float) -> Any:
    near = np.where(target != -1, input, 0)
    return reduced(np, near + np.where(target != 1, np.maximum(margin - input, 0), 0), reduction)


def triplet_margin(
    np: Any, anchor: Any, positive: Any, negative: Any, margin: float, p: float, eps: float, swap: float, reduction: float
) -> Any:  # fmt: skip
    def distance(a: Any, b: Any) -> Any:
        return np.sum(np.abs(a - b + eps) ** p, axis=-1) ** (1 / p)

    far = distance(anchor, negative)
    if swap:
        far = np.minimum(far, distance(positive, negative))
    return reduced(np, np.maximum(distance(anchor, positive) - far + margin, 0), reduction)


def multi_margin(
    np: Any, input: Any, target: Any, weight: Any, p: float, margin: float, reduction: float
) -> Any:
    classes, place = input.shape[-1], target.astype(np.int64)
    own = np.take_along_axis(input, place[..., None], axis=-1) if input.size else input[..., :1]
    lost = np.maximum(margin - own + input, 0) ** p
    if weight is not None:
        lost = lost * weight[place][..., None]
    others = np.arange(classes) != place[..., None]
    return reduced(np, np.sum(np.where(others, lost, 0), axis=-1) / max(1, classes), reduction)


def cross_entropy(np: Any, x: Any, target: Any) -> Any:
    if x.shape[-1] == 0:
        return np.zeros(target.shape)
    is_class = (target >= 0) & (target < x.shape[-1])
    place = np.where(is_class, target, 0).astype(np.int64)
    most = np.max(x, axis=-1)
    total = np.log(np.sum(np.exp(x - most[..., None]), axis=-1)) + most
    return np.where(is_class, total - np.take_along_axis(x, place[..., None], axis=-1)[..., 0], 0)


def two(np: Any, random: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"input": random.normal(size=shape) * 2, "target": random.normal(size=shape)}


def logits(np: Any, random: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"logits": random.normal(size=shape) * 6, "target": random.uniform(size=shape)}


def bce_trials(np: Any, random: Any) -> Any:
    yield from trials(logits)(np, random)
    for shape in ((4, 9), (9,)):
        yield logits(np, random, (4, 9)) | {"weight": random.uniform(size=shape), "reduction": 1}
        yield logits(np, random, (4, 9)) | {"pos_weight": random.uniform(0, 3, shape), "reduction": 0}
    both = {"weight": random.uniform(size=(2, 9)), "pos_weight": random.uniform(0, 3, 9)}
    yield (
        {"logits": np.array([[0.0, -0.0, 90, -90, 1e-4, -1e-4, 30, -30, 8]] * 2), "reduction": 0}
        | both
        | {"target": np.array([[0.0] * 9, [1.0] * 9])}
    )


def spread(np: Any, random: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    return two(np, random, shape) | {"var": random.uniform(-0.1, 3, shape), "eps": 0.01}


def signs(np: Any, random: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"input": random.normal(size=shape) * 2, "target": random.integers(-1, 2, shape)}


def three(np: Any, random: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    return {name: random.normal(size=shape) for name in ("anchor", "positive", "negative")}


def multi_margin_trials(np: Any, random: Any) -> Any:
    for number, (shape, p, weighs) in enumerate(
        (((5, 9), 1, False), ((3, 2, 300), 2, True), ((7,), 1, True), ((4, 1), 2, False), ((0, 6), 1, False))
    ):
        for how in (0, 1, 2):
            yield {
                "input": random.normal(size=shape) * 2,
                "target": random.integers(0, shape[-1], shape[:-1]),
                "weight": random.uniform(size=shape[-1]) if weighs else None,
                "p": p,
                "margin": (1, 0.5, 2, 1, 1)[number],
                "reduction": how,
            }


def cross_entropy_trials(np: Any, random: Any) -> Any:
    yield {"x": random.normal(size=(5, 19)) * 3, "target": random.integers(0, 19, 5)}
    yield {"x": random.normal(size=(2, 3, 5000)) * 3, "target": random.integers(0, 5000, (2, 3))}
    # Numbers that are no class: nothing is lost by them.
    yield {"x": random.normal(size=(4, 6)), "target": np.array([5, 6, -1, -100])}
    yield {"x": np.array([[900.0, -900, 0], [-900, -900, -899]]), "target": np.array([2, 0])}
    yield {"x": random.normal(size=7), "target": np.array(3)}
    yield {"x": np.zeros((3, 0)), "target": np.array([0, 0, 0])}
    yield {"x": np.zeros((0, 4)), "target": np.zeros(0)}


def loss(
    name: str, doc: str, inputs: tuple[Tensor, ...], reference: Callable[..., Any], attributes: tuple[Attribute, ...],
    trials: Callable[[Any, Any], Any], *, header: str, out: str = "output", shapes: dict[str, str] | None = None,
    rules: tuple[tuple[str, str], ...] = (), declares: str = "", python: str = "", ulps: float = 8, composed: bool = False,
) -> Operator:  # fmt: skip
    return Operator(
        name,
        doc,
        (Tensor(out, "out", reduced_by="reduction"), *inputs),
        TYPES,
        reference,
        kind="written",
        written=Written(
            {out: "..."} | dict.fromkeys((tensor.name for tensor in inputs), "...") | (shapes or {}),
            trials,
            rules=(REDUCTION_RULE, *rules),
            composed=composed,
        ),
        attributes=attributes,
        header=header,
        declares=declares,
        python=python,
        functional=True,
        ulps=ulps,
    )


OPERATORS: tuple[Operator, ...] = (
    loss(
        "HuberLoss",
        "Half the square of `input - target` where that is at most `delta`, beyond it `delta * (abs(input - target) - delta / 2)`.",
        (Tensor("input"), Tensor("target")),
        huber,
        (Attribute("delta", "float", "where the parabola ends; positive", default=1), reduction()),
        trials(two, {"delta": 0.3}, {"delta": 2.5}),
        rules=(("delta > 0", "delta must be positive"),),
        header="huber_loss",
    ),
    loss(
        "SmoothL1Loss",
        "Half the square of `input - target` over `beta` where it is below `beta`, beyond it `abs(input - target) - beta / 2`.",
        (Tensor("input"), Tensor("target")),
        smooth_l1,
        (Attribute("beta", "float", "where the parabola ends; 0: nowhere", default=1), reduction()),
        trials(two, {"beta": 0}, {"beta": 2.5}),
        rules=(("beta >= 0", "beta must not be negative"),),
        header="smooth_l1_loss",
        python="smooth_l1_loss",
    ),
    loss(
        "BCEWithLogits",
        "The binary cross entropy of `target` and of the sigmoid of `logits`, times `weight`; `pos_weight` is what positive ones count.",
        (
            Tensor("logits", python="input"),
            Tensor("target"),
            Tensor("weight", optional=True),
            Tensor("pos_weight", optional=True),
        ),
        bce_with_logits,
        (reduction("infiniopReduction_t"),),
        bce_trials,
        shapes={
            "out": "... d",
            "logits": "... d",
            "target": "... d",
            "weight": "...? d",
            "pos_weight": "...? d",
        },
        header="binary_cross_entropy_with_logits",
        out="out",
        declares=REDUCTION_TYPE,
        python="binary_cross_entropy_with_logits",
    ),
    loss(
        "GaussianNllLoss",
        "Half of `log(var) + (input - target)^2 / var`, with `var` at least `eps`; if full, also half of `log(2 pi)`.",
        (Tensor("input"), Tensor("target"), Tensor("var")),
        gaussian_nll,
        (
            Attribute("full", "int", "whether the constant term is there", default=0),
            Attribute("eps", "double", "the least variance", default=1e-6),
            reduction(),
        ),
        trials(spread, {"full": 1}),
        header="gaussian_nll_loss",
        out="y",
    ),
    loss(
        "HingeEmbeddingLoss",
        "`input` where `target` is 1, `max(0, margin - input)` where it is -1.",
        (Tensor("input"), Tensor("target")),
        hinge_embedding,
        (Attribute("margin", "double", "how far apart what is not alike has to be", default=1), reduction()),
        trials(signs, {"margin": 2.5}),
        header="hinge_embedding_loss",
        out="y",
    ),
    loss(
        "TripletMarginLoss",
        "`max(0, d(anchor, positive) - d(anchor, negative) + margin)` of each row, where `d` is the p-norm of the difference plus `eps`. With swap, "
        "the smaller one of the distances of `negative` counts.",
        (Tensor("anchor"), Tensor("positive"), Tensor("negative")),
        triplet_margin,
        (
            Attribute("margin", "float", "how much further the negative has to be", default=1),
            Attribute("p", "int", "which norm; at least 1", default=2),
            Attribute("eps", "float", "added to each difference", default=1e-6),
            Attribute(
                "swap", "int", "whether the distance from positive to negative is looked at", default=0
            ),
            reduction(),
        ),
        trials(three, {"p": 1}, {"p": 3, "swap": 1}, {"margin": 0.25, "eps": 0.5}),
        shapes={"output": "...", "anchor": "... d", "positive": "... d", "negative": "... d"},
        rules=(("p >= 1", "p must be at least 1"),),
        header="triplet_margin_loss",
        ulps=64,  # of losses, which are less than the distances that they are differences of
    ),
    loss(
        "TripletMarginWithDistanceLoss",
        "TripletMarginLoss with the distance that it has by default: the norm of the difference plus 1e-6.",
        (Tensor("anchor"), Tensor("positive"), Tensor("negative")),
        lambda np, anchor, positive, negative, margin, swap, reduction: triplet_margin(
            np, anchor, positive, negative, margin, 2, float(np.float32(1e-6)), swap, reduction
        ),
        (
            Attribute("margin", "float", "how much further the negative has to be", default=1),
            Attribute(
                "swap", "int", "whether the distance from positive to negative is looked at", default=0
            ),
            reduction(),
        ),
        trials(three, {"swap": 1}, {"margin": 0.25}),
        shapes={"output": "...", "anchor": "... d", "positive": "... d", "negative": "... d"},
        header="triplet_margin_with_distance_loss",
        ulps=64,
        composed=True,
    ),
    Operator(
        "MultiMarginLoss",
        "The mean over the classes of `max(0, margin - x[target] + x[i])^p` of each row, without the target itself, times `weight[target]`.",
        (
            Tensor("output", "out", reduced_by="reduction"),
            Tensor("input"),
            Tensor("target", dtypes=INDICES),
            Tensor("weight", optional=True),
        ),
        TYPES,
        multi_margin,
        kind="written",
        written=Written(
            {"output": "...", "input": "... c", "target": "...", "weight": "c"},
            multi_margin_trials,
            rules=(
                REDUCTION_RULE,
                ("p == 1 || p == 2", "p must be 1 or 2"),
                ("c > 0", "input must have a class or more in its last dimension"),
            ),
        ),
        attributes=(
            Attribute("p", "int", "1, or 2 for squares", default=1),
            Attribute("margin", "float", "how much larger the target's number has to be", default=1),
            reduction(),
        ),
        header="multi_margin_loss",
        wrapped=True,
        ulps=16,
    ),
    Operator(
        "CrossEntropy",
        "`log(sum(exp(x)))` of each row less its element `target`; 0 where `target` is no number of the row's elements.",
        (Tensor("y", "out"), Tensor("x", python="logits"), Tensor("target", dtypes=INDICES)),
        TYPES,
        cross_entropy,
        kind="written",
        written=Written({"y": "...", "x": "... v", "target": "..."}, cross_entropy_trials),
        header="cross_entropy",
        functional=True,
        ulps=8,
    ),
)
