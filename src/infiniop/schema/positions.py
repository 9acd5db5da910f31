"""Positions that have several coordinates."""

from __future__ import annotations

from typing import Any

from .model import INDICES, Attribute, Operator, Tensor, Written


def axis_of(np: Any, pairs: int, sections: tuple[int, int, int], interleaved: bool) -> Any:
    """Which coordinate turns each pair."""
    pair = np.arange(pairs)
    if not interleaved:
        return np.where(pair < sections[0], 0, np.where(pair < sections[0] + sections[1], 1, 2))
    height = (pair % 3 == 1) & (pair < 3 * sections[1])
    width = (pair % 3 == 2) & (pair < 3 * sections[2])
    return np.where(height, 1, np.where(width, 2, 0))


def mrope(
    np: Any, q: Any, k: Any, cos: Any, sin: Any, positions: Any, head_size: float, rotary_dim: float,
    section_t: float, section_h: float, section_w: float, interleaved: float,
) -> Any:  # fmt: skip
    pairs, size = int(rotary_dim) // 2, int(head_size)
    axis = axis_of(np, pairs, (int(section_t), int(section_h), int(section_w)), bool(interleaved))
    rows = positions[axis] if positions.ndim == 2 else np.broadcast_to(positions, (pairs, len(positions)))
    cos, sin = (table[rows, np.arange(pairs)[:, None]].T[:, None] for table in (cos, sin))

    def turned(x: Any) -> Any:
        heads = x.reshape(len(x), x.shape[1] // size, size)
        first, second = heads[..., :pairs], heads[..., pairs : 2 * pairs]
        parts = (first * cos - second * sin, second * cos + first * sin, heads[..., 2 * pairs :])
        return np.concatenate(parts, axis=-1).reshape(x.shape)

    return turned(q), turned(k)


def mrope_trials(np: Any, random: Any) -> Any:
    def trial(
        tokens: int, heads: tuple[int, int], size: int, sections: tuple[int, int, int], interleaved: int, flat: bool = False
    ) -> dict[str, Any]:  # fmt: skip
        pairs = sum(sections)
        angles = random.uniform(-3, 3, (19, pairs))
        return {
            "q": random.normal(size=(tokens, heads[0] * size)),
            "k": random.normal(size=(tokens, heads[1] * size)),
            "cos": np.cos(angles),
            "sin": np.sin(angles),
            "positions": random.integers(0, 19, (tokens,) if flat else (3, tokens)),
            "head_size": size,
            "rotary_dim": 2 * pairs,
            "section_t": sections[0],
            "section_h": sections[1],
            "section_w": sections[2],
            "interleaved": interleaved,
        }

    yield trial(5, (2, 1), 16, (2, 3, 3), 0)
    yield trial(7, (3, 3), 20, (3, 2, 3), 1)
    yield trial(3, (4, 2), 128, (16, 24, 24), 0)
    yield trial(4, (2, 1), 9, (2, 1, 1), 1, flat=True)
    yield trial(0, (2, 1), 16, (2, 3, 3), 0)


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "MRoPE",
        "Turns the heads of `q` and `k` by positions of three coordinates: time, height, width. Pairs are elements of the two halves of the first "
        "`rotary_dim` of a head; the coordinates turn `section_t`, `section_h` and `section_w` of them, one after the other, or, interleaved, "
        "in turns. The other elements stay. A position that the tables do not have is an error of the stream.",
        (
            Tensor("q_out", "out"),
            Tensor("k_out", "out"),
            Tensor("q"),
            Tensor("k"),
            Tensor("cos"),
            Tensor("sin"),
            Tensor("positions", dtypes=INDICES),
        ),
        ("F16", "BF16", "F32", "F64"),
        mrope,
        kind="written",
        written=Written(
            {
                "q_out": "t a",
                "k_out": "t b",
                "q": "t a",
                "k": "t b",
                "cos": "m rotary_dim/2",
                "sin": "m rotary_dim/2",
                "positions": "3? t",
            },
            mrope_trials,
            rules=(
                ("head_size > 0", "head_size must be positive"),
                (
                    "a % head_size == 0 && b % head_size == 0",
                    "q and k must have whole heads of head_size elements",
                ),
                ("rotary_dim >= 0 && rotary_dim % 2 == 0", "rotary_dim must be even"),
                ("rotary_dim <= head_size", "rotary_dim must not exceed head_size"),
                ("section_t >= 0 && section_h >= 0 && section_w >= 0", "sections must not be negative"),
                (
                    "section_t + section_h + section_w == rotary_dim / 2",
                    "the three sections must have rotary_dim / 2 pairs together",
                ),
            ),
            in_place=True,
        ),
        attributes=(
            Attribute("head_size", "int", "how many elements a head has"),
            Attribute("rotary_dim", "int", "how many of them, from the first on, are turned"),
            Attribute("section_t", "int", "how many pairs the time turns"),
            Attribute("section_h", "int", "how many pairs the height turns"),
            Attribute("section_w", "int", "how many pairs the width turns"),
            Attribute("interleaved", "bool", "whether the coordinates take turns", default=0),
        ),
        python="mrope",
        ulps=3,
    ),
)
