"""Positions, attention, and the memory that attention keeps."""

from __future__ import annotations

from typing import Any

from .model import INTEGERS, Attribute, Operator, Tensor, Written

ROPE_ALGO = """typedef enum {
    INFINIOP_ROPE_ALGO_GPT_J = 0,
    INFINIOP_ROPE_ALGO_GPT_NEOX = 1,
    INFINIOP_ROPE_ALGO_COUNT = 2,
} infiniopRoPEAlgo_t;"""


def rope(np: Any, x: Any, pos_ids: Any, sin_table: Any, cos_table: Any, algo: float) -> Any:
    sin, cos = (table[pos_ids.astype(np.int64)][..., None, :] for table in (sin_table, cos_table))
    half = x.shape[-1] // 2
    first, second = (x[..., 0::2], x[..., 1::2]) if algo == 0 else (x[..., :half], x[..., half:])
    turned = first * cos - second * sin, first * sin + second * cos
    if algo == 0:
        return np.stack(turned, axis=-1).reshape(x.shape)
    return np.concatenate(turned, axis=-1)


def rope_trials(np: Any, random: Any) -> Any:
    def trial(*shape: int, algo: int, positions: int = 11, batched: bool = False) -> dict[str, Any]:
        angles = random.uniform(-3, 3, (positions, shape[-1] // 2))
        return {
            "x": random.normal(size=shape),
            "pos_ids": random.integers(0, positions, shape[:-2] if batched else shape[-3:-2]),
            "sin_table": np.sin(angles),
            "cos_table": np.cos(angles),
            "algo": algo,
        }

    yield trial(5, 3, 8, algo=1)
    yield trial(5, 3, 8, algo=0)
    yield trial(2, 7, 4, 128, algo=1)
    yield trial(2, 7, 4, 66, algo=0, batched=True)
    yield trial(0, 4, 16, algo=1)


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "RoPE",
        "Turns pairs of elements of `x` by the angle that the tables have for their position: neighbours (GPT-J), or elements of the two "
        "halves (GPT-NeoX). A position that the tables do not have is an error of the stream.",
        (
            Tensor("y", "out"),
            Tensor("x"),
            Tensor("pos_ids", dtypes=INTEGERS),
            Tensor("sin_table", dtypes=("F16", "BF16", "F32", "F64")),
            Tensor("cos_table", dtypes=("F16", "BF16", "F32", "F64")),
        ),
        ("F16", "BF16", "F32", "F64"),
        rope,
        kind="written",
        written=Written(
            {
                "y": "... s h d",
                "x": "... s h d",
                "pos_ids": "...? s",
                "sin_table": "m d/2",
                "cos_table": "m d/2",
            },
            rope_trials,
            rules=(
                (
                    "algo == 0 || algo == 1",
                    "algo must be INFINIOP_ROPE_ALGO_GPT_J or INFINIOP_ROPE_ALGO_GPT_NEOX",
                ),
            ),
            in_place=True,
        ),
        attributes=(
            Attribute(
                "algo",
                "infiniopRoPEAlgo_t",
                "0: pairs are neighbours; 1: pairs are of the two halves",
                default=1,
            ),
        ),
        declares=ROPE_ALGO,
        python="rope",
        functional=True,
        ulps=3,
    ),
)
