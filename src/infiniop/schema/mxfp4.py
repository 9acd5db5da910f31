"""Weights of 4 bits in groups of 32 with one power of two, as OCP's MXFP4 has them, and products with them."""

from __future__ import annotations

from typing import Any

from .experts import fused_moe
from .model import Attribute, Operator, Tensor, Written

FLOATS = ("F16", "BF16", "F32")
BYTES = ("U8",)


def dequantized(np: Any, packed: Any, scales: Any) -> Any:
    shape = (*packed.shape[:-1], 2 * packed.shape[-1])
    codes = np.stack([packed & 15, packed >> 4], axis=-1).reshape(shape).astype(int)
    magnitudes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    values = np.where(codes & 8, -magnitudes[codes & 7], magnitudes[codes & 7])
    powers = np.where(scales == 255, np.nan, np.exp2(scales.astype(np.float64) - 127))
    return values * np.repeat(powers, 32, axis=-1)


def mxfp4_dequantize(np: Any, packed: Any, scales: Any) -> Any:
    return dequantized(np, packed, scales)


def weights(np: Any, random: Any, *shape: int) -> tuple[Any, Any]:
    """Packed ones, and scales near 1."""
    packed = random.integers(0, 256, (*shape[:-1], shape[-1] // 2))
    return packed, random.integers(121, 128, (*shape[:-1], shape[-1] // 32))


def mxfp4_dequantize_trials(np: Any, random: Any) -> Any:
    for shape in ((3, 64), (2, 5, 320), (32,), (4, 0), (0, 96)):
        packed, scales = weights(np, random, *shape)
        yield {"packed": packed, "scales": scales}
    # Every code, with scales that every type has room for, and the one that stands for no number.
    packed = np.tile(np.arange(16) * 17, (3, 1))
    yield {"packed": packed, "scales": np.array([[127], [113], [255]])}


def linear_mxfp4(np: Any, input: Any, packed_weight: Any, weight_scale: Any, bias: Any, alpha: float) -> Any:
    product = alpha * (input @ dequantized(np, packed_weight, weight_scale).T)
    return product if bias is None else product + bias


def linear_mxfp4_trials(np: Any, random: Any) -> Any:
    for before, n, k, biased, alpha in (
        ((3,), 5, 64, True, 1),
        ((2, 4), 9, 96, False, 0.5),
        ((), 7, 32, True, 2),
        ((0,), 3, 32, False, 1),
    ):
        packed, scales = weights(np, random, n, k)
        yield {
            "input": random.normal(size=(*before, k)),
            "packed_weight": packed,
            "weight_scale": scales,
            "bias": random.normal(size=n) if biased else None,
            "alpha": alpha,
        }


def fused_moe_mxfp4(
    np: Any, input: Any, selected_experts: Any, routing_weights: Any, w13_packed: Any, w13_scale: Any, w2_packed: Any,
    w2_scale: Any, activation: float,
) -> Any:  # fmt: skip
    w13, w2 = dequantized(np, w13_packed, w13_scale), dequantized(np, w2_packed, w2_scale)
    return fused_moe(np, input, selected_experts, routing_weights, w13, w2, None, None, activation)


def fused_moe_mxfp4_trials(np: Any, random: Any) -> Any:
    for tokens, width, inner, experts, chosen, activation in (
        (3, 32, 64, 5, 2, 1),
        (7, 64, 32, 3, 3, 0),
        (0, 32, 32, 2, 1, 1),
    ):
        first, first_scales = weights(np, random, experts, inner if activation == 0 else 2 * inner, width)
        second, second_scales = weights(np, random, experts, width, inner)
        picked = [random.permutation(experts)[:chosen] for _ in range(tokens)]
        yield {
            "input": random.normal(size=(tokens, width)) / 8,
            "selected_experts": np.array(picked, np.int64).reshape(tokens, chosen),
            "routing_weights": random.uniform(0.1, 1, (tokens, chosen)),
            "w13_packed": first,
            "w13_scale": first_scales,
            "w2_packed": second,
            "w2_scale": second_scales,
            "activation": activation,
        }


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "Mxfp4Dequantize",
        "Numbers from 4 bits: each byte of `packed` has two, the first in its low bits, of 1 bit for the sign, 2 for the exponent and 1 for the "
        "fraction. Each 32 have one scale, the exponent of a power of two from -127 on; 255 makes them not-a-number.",
        (Tensor("out", "out"), Tensor("packed", dtypes=BYTES), Tensor("scales", dtypes=BYTES)),
        FLOATS,
        mxfp4_dequantize,
        kind="written",
        written=Written(
            {"out": "... 32*s", "packed": "... 16*s", "scales": "... s"}, mxfp4_dequantize_trials
        ),
        header="mxfp4_dequantize",
        wrapped=True,
        ulps=0,
    ),
    Operator(
        "LinearMxfp4",
        "`alpha * input * weight^T + bias` with weights of 4 bits, as Mxfp4Dequantize has them. They become `input`'s type in the workspace first.",
        (
            Tensor("output", "out"),
            Tensor("input"),
            Tensor("packed_weight", dtypes=BYTES),
            Tensor("weight_scale", dtypes=BYTES),
            Tensor("bias", optional=True),
        ),
        FLOATS,
        linear_mxfp4,
        kind="written",
        written=Written(
            {
                "output": "... n",
                "input": "... 32*s",
                "packed_weight": "n 16*s",
                "weight_scale": "n s",
                "bias": "n",
            },
            linear_mxfp4_trials,
            composed=True,
        ),
        attributes=(Attribute("alpha", "float", "the factor of the product", default=1),),
        header="linear_mxfp4",
        functional=True,
        ulps=64,
    ),
    Operator(
        "FusedMoeMxfp4",
        "FusedMoe with weights of 4 bits, as Mxfp4Dequantize has them. They become `input`'s type in the workspace first.",
        (
            Tensor("output", "out"),
            Tensor("input"),
            Tensor("selected_experts", dtypes=("I32",)),
            Tensor("routing_weights", dtypes=("F32",)),
            Tensor("w13_packed", dtypes=BYTES),
            Tensor("w13_scale", dtypes=BYTES),
            Tensor("w2_packed", dtypes=BYTES),
            Tensor("w2_scale", dtypes=BYTES),
        ),
        FLOATS,
        fused_moe_mxfp4,
        kind="written",
        written=Written(
            {
                "output": "t 32*h",
                "input": "t 32*h",
                "selected_experts": "t k",
                "routing_weights": "t k",
                "w13_packed": "e r 16*h",
                "w13_scale": "e r h",
                "w2_packed": "e 32*h 16*i",
                "w2_scale": "e 32*h i",
            },
            fused_moe_mxfp4_trials,
            rules=(
                (
                    "activation >= 0 && activation <= 2",
                    "activation must be one of infiniopFusedMoeActivation_t",
                ),
                (
                    "activation == 0 ? r == 32 * i : r == 64 * i",
                    "w13 must have as many rows, r, as w2 has columns, 32 i, or twice as many where the activation has a gate",
                ),
            ),
            composed=True,
        ),
        attributes=(
            Attribute(
                "activation",
                "infiniopFusedMoeActivation_t",
                "what stands between the two products",
                default=1,
                choices=("silu", "swiglu", "situglu"),
            ),
        ),
        header="fused_moe_mxfp4",
        declares='#include "infiniop/ops/fused_moe.h"',
        functional=True,
        ulps=64,
        narrow_ulps=2,
    ),
)
