"""Numbers of 8 and 4 bits with scales beside them, and products of such matrices."""

from __future__ import annotations

from typing import Any

from .model import INDICES, Attribute, Operator, Tensor, Written

FLOATS = ("F16", "BF16", "F32")
SMALLEST_SCALE = 1e-8


def settle(np: Any, low: Any, high: Any, symmetric: bool) -> tuple[Any, Any]:
    """Scale and zero point of numbers from `low` to `high`; of `symmetric` ones `high` is the largest magnitude. In float, as kernels."""
    single = np.float32
    steps = single(127 if symmetric else 255)
    span = high if symmetric else np.where(high >= low, high - low, single(0))
    scale = np.fmax(span / steps, single(SMALLEST_SCALE))
    first = np.where(high >= low, low, single(0))
    zero = None if symmetric else -first * (single(1) / scale) - single(128)
    return scale, zero


def quantise(np: Any, x: Any, scale: Any, zero: Any) -> Any:
    single = np.float32
    number = x * (single(1) / scale)
    if zero is not None:
        number = number + zero
    lowest = single(-127 if zero is None else -128)
    return np.round(np.where(np.isnan(number), single(0), np.clip(number, lowest, single(127))))


def per_channel_quant(np: Any, x: Any, x_zero: bool) -> Any:
    x = x.astype(np.float32)
    high = np.fmax.reduce(
        x if x_zero else np.abs(x), axis=-1, keepdims=True, initial=-np.inf if x_zero else 0
    )
    low = np.fmin.reduce(x, axis=-1, keepdims=True, initial=np.inf)
    scale, zero = settle(np, low.astype(np.float32), high.astype(np.float32), not x_zero)
    return quantise(np, x, scale, zero), scale, zero


def per_channel_quant_trials(np: Any, random: Any) -> Any:
    def trial(x: Any) -> Any:
        yield {"x": x, "x_zero": None}
        yield {"x": x}

    yield from trial(random.normal(size=(5, 37)) * 4)
    # A scale of 1, so that halves are ties.
    yield {"x": np.concatenate([np.arange(-126.5, 127), [127]])[None], "x_zero": None}
    yield from trial(random.normal(size=(2, 3, 129)) * 100)
    yield from trial(random.normal(size=(2, 9000)))
    yield from trial(np.array([[0.0, 0, 0], [3, 3, 3], [np.nan, 2, -1], [np.nan, np.nan, np.nan]]))
    yield from trial(np.zeros((3, 0)))
    yield {"x": random.normal(size=(0, 5)), "x_zero": None}


def per_tensor_quant(np: Any, x: Any, x_scale: Any, x_zero: Any, is_static: float) -> Any:
    x, scale = x.astype(np.float32), x_scale.astype(np.float32)
    zero = None if x_zero is None else x_zero.astype(np.float32)
    if not is_static:
        seen = np.abs(x) if x_zero is None else x
        high = np.fmax.reduce(seen, axis=None, initial=0 if x_zero is None else -np.inf)
        low = np.fmin.reduce(x, axis=None, initial=np.inf)
        settled = settle(np, np.float32(low), np.float32(high), x_zero is None)
        scale, zero = (None if each is None else np.reshape(each, (1,)) for each in settled)
    return quantise(np, x, scale[0], None if zero is None else zero[0]), scale, zero


def per_tensor_quant_trials(np: Any, random: Any) -> Any:
    def trial(x: Any, is_static: int, with_zero: bool) -> dict[str, Any]:
        zero = np.array([-3.25]) if with_zero else None
        return {"x": x, "x_scale": np.array([0.0625]), "x_zero": zero, "is_static": is_static}

    for is_static in (0, 1):
        for with_zero in (False, True):
            yield trial(random.normal(size=(5, 37)) * 4, is_static, with_zero)
            yield trial(random.normal(size=(3, 40, 500)) * 4, is_static, with_zero)
            yield trial(np.array([0.0, -0.0, 0]), is_static, with_zero)
    yield trial(np.array([np.nan, 2.5, -1, np.nan]), 0, False)
    yield trial(np.array(3.0), 0, True)
    yield trial(np.zeros((2, 0)), 0, True)


def per_tensor_dequant(np: Any, x_packed: Any, x_scale: Any, x_zero: Any) -> Any:
    numbers = x_packed.astype(np.float64)
    return (numbers if x_zero is None else numbers - x_zero[0]) * x_scale[0]


def per_tensor_dequant_trials(np: Any, random: Any) -> Any:
    for shape in ((5, 37), (3, 40, 500), (), (4, 0)):
        for zero in (None, np.array([-3.25])):
            packed = random.integers(-128, 128, shape)
            yield {"x_packed": packed, "x_scale": np.array([0.0421]), "x_zero": zero}


def i8_gemm(np: Any, bias: Any, x: Any, x_scale: Any, weights: Any, weights_scale: Any) -> Any:
    sums = x.astype(np.int64) @ weights.astype(np.int64)
    result = sums * x_scale.reshape(len(x_scale), 1) * weights_scale.reshape(1, len(weights_scale))
    return result if bias is None else result + bias


def i8_gemm_trials(np: Any, random: Any) -> Any:
    def trial(m: int, n: int, k: int, *, bias: bool = True, one: bool = False) -> dict[str, Any]:
        return {
            "x": random.integers(-128, 128, (m, k)),
            "weights": random.integers(-128, 128, (k, n)),
            "x_scale": random.uniform(0.001, 0.02, (m, 1) if one else m),
            "weights_scale": random.uniform(0.001, 0.02, (n, 1) if one else n),
            "bias": random.normal(size=n) if bias else None,
        }

    yield trial(5, 7, 33)
    yield trial(1, 130, 67, bias=False)
    yield trial(70, 65, 600, one=True)
    yield trial(3, 4, 0)
    yield trial(0, 4, 8)
    yield trial(3, 5, 4200, bias=False)
    # The sums that reach furthest.
    yield trial(2, 3, 2000) | {"x": np.full((2, 2000), -128), "weights": np.full((2000, 3), -128)}


# Of the eight numbers of a word, from its lowest bits on, the columns that they belong to.
AWQ_COLUMNS = (0, 2, 4, 6, 1, 3, 5, 7)


def nibbles(np: Any, words: Any, columns: tuple[int, ...]) -> Any:
    """The numbers of 4 bits in the words of the last dimension."""
    numbers = np.zeros((*words.shape, 8), np.float64)
    for place, column in enumerate(columns):
        numbers[..., column] = words.astype(np.int64) >> (4 * place) & 15
    return numbers.reshape(*words.shape[:-1], words.shape[-1] * 8)


def dequantize_awq(np: Any, qweight: Any, scales: Any, zeros: Any) -> Any:
    group = np.arange(len(qweight)) // max(1, len(qweight) // max(1, len(scales)))
    return (nibbles(np, qweight, AWQ_COLUMNS) - nibbles(np, zeros, AWQ_COLUMNS)[group]) * scales[group]


def words_of(random: Any, *shape: int) -> Any:
    return random.integers(-(2**31), 2**31, shape)


def dequantize_awq_trials(np: Any, random: Any) -> Any:
    for rows, words, groups in ((12, 3, 2), (64, 37, 1), (6, 300, 6), (0, 2, 1)):
        yield {
            "qweight": words_of(random, rows, words),
            "scales": random.uniform(0.01, 0.5, (groups, 8 * words)),
            "zeros": words_of(random, groups, words),
        }


def dequantize_gptq(np: Any, qweight: Any, scales: Any, zeros: Any, g_idx: Any) -> Any:
    rows, columns = len(g_idx), scales.shape[1]
    order = tuple(range(8))
    numbers = nibbles(np, qweight.T, order).T[:rows]
    zero = nibbles(np, zeros, order)[:, :columns]
    return (numbers - (zero[g_idx] + 1)) * scales[g_idx]


def dequantize_gptq_trials(np: Any, random: Any) -> Any:
    for rows, columns, groups in ((13, 21, 3), (64, 300, 2), (9, 8, 1), (0, 5, 1)):
        yield {
            "qweight": words_of(random, (rows + 7) // 8, columns),
            "scales": random.uniform(0.01, 0.5, (groups, columns)),
            "zeros": words_of(random, groups, (columns + 7) // 8),
            "g_idx": random.integers(0, groups, rows),
        }


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "PerChannelQuantI8",
        "Rows of `x` as numbers of 8 bits, with a scale for each row: `x_packed = round(x / x_scale)`, where the largest magnitude becomes 127. "
        "With `x_zero`, `round(x / x_scale + x_zero)`, where the smallest number becomes -128 and the largest 127. Ties go to even numbers; "
        "not-a-number becomes 0, and no scale is below 1e-8.",
        (
            Tensor("x_packed", "out", dtypes=("I8",)),
            Tensor("x_scale", "out", dtypes=("F32",)),
            Tensor("x_zero", "out", dtypes=("F32",), optional=True),
            Tensor("x"),
        ),
        FLOATS,
        per_channel_quant,
        kind="written",
        written=Written(
            {"x_packed": "... k", "x_scale": "... 1", "x_zero": "... 1", "x": "... k"},
            per_channel_quant_trials,
        ),
        header="quant/per_channel_quant_int8",
    ),
    Operator(
        "PerTensorQuantI8",
        "`x` as numbers of 8 bits, with one scale: `x_packed = round(x / x_scale)`, or with `x_zero` `round(x / x_scale + x_zero)`. "
        "Scale and zero point are made from the numbers, as PerChannelQuantI8 makes them of a row, or, static, are those that are there.",
        (
            Tensor("x_packed", "out", dtypes=("I8",)),
            Tensor("x_scale", "inout", dtypes=("F32",)),
            Tensor("x_zero", "inout", dtypes=("F32",), optional=True),
            Tensor("x"),
        ),
        FLOATS,
        per_tensor_quant,
        kind="written",
        written=Written(
            {"x_packed": "...", "x_scale": "1", "x_zero": "1", "x": "..."}, per_tensor_quant_trials
        ),
        attributes=(
            Attribute(
                "is_static",
                "bool",
                "whether x_scale and x_zero are read; they are written otherwise",
                at_compute=True,
                default=0,
            ),
        ),
        header="quant/per_tensor_quant_int8",
        python_order=("x", "x_scale", "x_zero"),
    ),
    Operator(
        "PerTensorDequantI8",
        "Numbers from 8 bits: `x = (x_packed - x_zero) * x_scale`, without `x_zero` `x_packed * x_scale`.",
        (
            Tensor("x", "out", dtypes=("F32", "F16", "BF16")),
            Tensor("x_packed"),
            Tensor("x_scale", dtypes=("F32",)),
            Tensor("x_zero", dtypes=("F32",), optional=True),
        ),
        ("I8",),
        per_tensor_dequant,
        kind="written",
        written=Written(
            {"x": "...", "x_packed": "...", "x_scale": "1", "x_zero": "1"}, per_tensor_dequant_trials
        ),
        header="dequant/per_tensor_dequant_int8",
    ),
    Operator(
        "I8Gemm",
        "The product of matrices of 8 bits, in numbers: `out = x_scale * weights_scale * (x @ weights) + bias`, with a scale for each row of "
        "`x`, one for each column of `weights`, and one number of the bias for each column. Sums are exact, in 32 bits.",
        (
            Tensor("out", "out"),
            Tensor("bias", optional=True),
            Tensor("x", dtypes=("I8",), python="a_p"),
            Tensor("x_scale", dtypes=("F32",), python="a_s"),
            Tensor("weights", dtypes=("I8",), python="b_p"),
            Tensor("weights_scale", dtypes=("F32",), python="b_s"),
        ),
        ("BF16", "F16", "F32"),
        i8_gemm,
        kind="written",
        written=Written(
            {
                "out": "m n",
                "bias": "n",
                "x": "m k",
                "x_scale": "m 1?",
                "weights": "k n",
                "weights_scale": "n 1?",
            },
            i8_gemm_trials,
            rules=(("k <= 131071", "k must be at most 131071, so that sums fit into 32 bits"),),
        ),
        header="int8_gemm",
        python="scaled_mm_i8",
        python_order=("x", "x_scale", "weights", "weights_scale", "bias"),
    ),
    Operator(
        "DequantizeAWQ",
        "Weights from 4 bits, as AutoAWQ packs them: `out = (qweight - zeros) * scales`. A word has eight columns, from its lowest bits on "
        "0, 2, 4, 6, 1, 3, 5, 7; rows of `scales` and `zeros` belong to groups of as many rows.",
        (
            Tensor("out", "out"),
            Tensor("qweight", dtypes=("I32",)),
            Tensor("scales"),
            Tensor("zeros", dtypes=("I32",)),
        ),
        FLOATS,
        dequantize_awq,
        kind="written",
        written=Written(
            {"out": "k 8*w", "qweight": "k w", "scales": "g 8*w", "zeros": "g w"},
            dequantize_awq_trials,
            rules=(
                ("k == 0 || (g > 0 && k % g == 0)", "the k rows must be g groups of the same number of rows"),
            ),
        ),
        header="dequantize_awq",
    ),
    Operator(
        "DequantizeGPTQ",
        "Weights from 4 bits, as GPTQ packs them: `out = (qweight - (zeros + 1)) * scales`. A word of `qweight` has eight rows, a word of "
        "`zeros` eight columns, the first in its lowest bits; `g_idx` has the group of each row. A group that is not there is an error of the "
        "stream.",
        (
            Tensor("out", "out"),
            Tensor("qweight", dtypes=("I32",)),
            Tensor("scales"),
            Tensor("zeros", dtypes=("I32",)),
            Tensor("g_idx", dtypes=INDICES),
        ),
        FLOATS,
        dequantize_gptq,
        kind="written",
        written=Written(
            {"out": "k n", "qweight": "p n", "scales": "g n", "zeros": "g q", "g_idx": "k"},
            dequantize_gptq_trials,
            rules=(
                ("p == (k + 7) / 8", "qweight must have a row for each eight of the k rows"),
                ("q == (n + 7) / 8", "zeros must have a column for each eight of the n columns"),
            ),
        ),
        header="dequantize_gptq",
    ),
)
