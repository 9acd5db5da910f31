"""Operators as functions. Generated from src/infiniop/schema: change the operator's entry there."""

from collections.abc import Sequence

from .tensor import Tensor

__all__ = [
    "acos",
    "add",
    "add_rms_norm",
    "addcmul",
    "all",
    "amax",
    "amin",
    "any",
    "asin",
    "asinh",
    "atanh",
    "attention",
    "axpy",
    "bitwise_right_shift",
    "cast",
    "causal_softmax",
    "clip",
    "digamma",
    "div",
    "embedding",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "float_power",
    "floor",
    "floor_divide",
    "fmin",
    "fmod",
    "gelu",
    "gelu_tanh",
    "greater",
    "greater_equal",
    "hardswish",
    "hardtanh",
    "hypot",
    "kv_caching",
    "layer_norm",
    "ldexp",
    "lerp",
    "less",
    "less_equal",
    "log1p",
    "log10",
    "log_add_exp2",
    "log_softmax",
    "logaddexp",
    "lp_norm",
    "mean",
    "mul",
    "mul_scalar",
    "not_equal",
    "paged_attention",
    "paged_attention_prefill",
    "paged_caching",
    "prelu",
    "prod",
    "quick_gelu",
    "reciprocal",
    "relu",
    "relu6",
    "rms_norm",
    "rope",
    "scal",
    "selu",
    "sigmoid",
    "silu",
    "silu_and_mul",
    "sinh",
    "softmax",
    "softplus",
    "softsign",
    "sub",
    "sum",
    "swiglu",
    "tan",
    "tanh",
    "tanhshrink",
    "var",
    "var_mean",
]

def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Arc cosine."""

def add(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input + other`; integers wrap around."""

def add_rms_norm(
    a: Tensor,
    b: Tensor,
    weight: Tensor | None = None,
    epsilon: float = 1e-05,
    *,
    out: Tensor | tuple[Tensor, Tensor] | None = None,
    residual: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`RMSNorm` of `a + b`, and the sum itself."""

def addcmul(
    input: Tensor,
    tensor1: Tensor | float,
    tensor2: Tensor | float,
    value: float = 1.0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`input + value * tensor1 * tensor2`."""

def all(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Whether no element of a row is 0."""

def amax(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The largest element of a row."""

def amin(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The smallest element of a row."""

def any(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Whether an element of a row is not 0."""

def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Arc sine."""

def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic sine."""

def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic tangent."""

def attention(
    q: Tensor, k: Tensor, v: Tensor, k_cache: Tensor, v_cache: Tensor, pos: int, *, out: Tensor | None = None
) -> Tensor:
    """Keys and values of new tokens go into the caches from place `pos` on; then causal attention of the new queries to everything there, scaled by one over the root of the heads' size."""

def axpy(alpha: Tensor | float, x: Tensor | float, y: Tensor) -> Tensor:
    """`y` becomes `alpha * x + y`; `alpha` is a tensor, which may be broadcast, as `x` may."""

def bitwise_right_shift(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input >> other`, filled with the sign. Shifts by less than 0 or by all bits and more leave only the sign."""

def cast(input: Tensor, *, out: Tensor) -> Tensor:
    """Converts to the type of `the result`, rounding to the nearest. From floating point to integers the fraction is cut off, what is out of range becomes the nearest integer there is, and what is not a number 0. Integers keep their low bits. To BOOL: not equal to 0."""

def causal_softmax(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`Softmax` of what row `i` of a matrix may see: all columns but the last `rows - 1 - i`. The others become 0."""

def clip(
    input: Tensor, min_val: Tensor | float, max_val: Tensor | float, *, out: Tensor | None = None
) -> Tensor:
    """`input`, but not below `min_val` and not above `max_val`, which may be broadcast; what is not a number stays so."""

def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithmic derivative of the gamma function."""

def div(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input / other`."""

def embedding(input: Tensor, weight: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The rows of `weight` that `input` names. A number that is no row's is an error of the stream."""

def equal(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` and `other` are equal, 0 elsewhere. The output is BOOL, I8 or U8."""

def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Error function."""

def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One minus the error function."""

def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the error function."""

def float_power(input: Tensor, exponent: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input` to the power of `exponent` or, where that is null, of `scalar_exponent`."""

def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounded down."""

def floor_divide(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input / other` rounded down. An integer divided by zero is 0."""

def fmin(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """The smaller one; if one of them is not a number, the other."""

def fmod(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """The remainder of `input / other` rounded towards zero; it has the sign of `input`. For integers and `other` zero it is 0."""

def gelu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` times the normal distribution function of `input`."""

def gelu_tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Gelu, approximated with a hyperbolic tangent."""

def greater(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` is greater than `other`, 0 elsewhere. The output is BOOL, I8 or U8."""

def greater_equal(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` is greater than `other` or equal to it, 0 elsewhere. The output is BOOL, I8 or U8."""

def hardswish(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input * relu6(input + 3) / 6`."""

def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, *, out: Tensor | None = None
) -> Tensor:
    """`input` between `min_val` and `max_val`."""

def hypot(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`sqrt(input * input + other * other)` without overflow on the way."""

def kv_caching(
    k_cache: Tensor, v_cache: Tensor, k: Tensor, v: Tensor, past_kv_lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Keys and values go into the caches of their sequences, behind the `past_kv_lengths` that are there. What does not fit is an error of the stream."""

def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A row with its mean taken away, divided by its standard deviation, times the weights, plus the bias; and, where they are asked for, what there is before the weights, and the deviation."""

def ldexp(input: Tensor, exp: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input` times 2 to the power of `exp`."""

def lerp(start: Tensor, end: Tensor | float, weight: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`start + weight * (end - start)`; where `weight` is null, `weight_scalar` takes its place."""

def less(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` is less than `other`, 0 elsewhere. The output is BOOL, I8 or U8."""

def less_equal(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` is less than `other` or equal to it, 0 elsewhere. The output is BOOL, I8 or U8."""

def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 10."""

def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(1 + input)`."""

def log_add_exp2(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`log2(2^input + 2^other)` without overflow on the way."""

def log_softmax(input: Tensor, dim: int = -1, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `Softmax`, computed without leaving the type's range."""

def logaddexp(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`log(exp(input) + exp(other))` without overflow on the way."""

def lp_norm(
    input: Tensor, dim: int = -1, p: int = 2, eps: float = 1e-12, *, out: Tensor | None = None
) -> Tensor:
    """A row divided by its norm, the root of degree `p` of the sum of its elements' powers. The largest element is divided by first, so that powers stay in the type's range."""

def mean(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The mean of a row."""

def mul(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input * other`; integers wrap around."""

def mul_scalar(input: Tensor, alpha: float, *, out: Tensor | None = None) -> Tensor:
    """`input * alpha`; for integers `alpha` loses its fraction first."""

def not_equal(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` and `other` differ, 0 elsewhere. The output is BOOL, I8 or U8."""

def paged_attention(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    block_tables: Tensor,
    cache_lens: Tensor,
    alibi_slopes: Tensor | None = None,
    scale: float = 1.0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Attention of one query for each sequence to the `cache_lens` keys that it has in pages, which `block_tables` names. `alibi_slopes` adds `slope * (place - last place)`."""

def paged_attention_prefill(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    block_tables: Tensor,
    history_lens: Tensor,
    cu_seqlens_q: Tensor,
    alibi_slopes: Tensor | None = None,
    scale: float = 1.0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The same for several new queries of each sequence: those of sequence `i` are `cu_seqlens_q[i]` to `cu_seqlens_q[i + 1]`; the last one sees all of its keys, and each one before it one less."""

def paged_caching(
    k_cache: Tensor, v_cache: Tensor, k: Tensor, v: Tensor, slot_mapping: Tensor
) -> tuple[Tensor, Tensor]:
    """The keys and values of token `i` go to place `slot_mapping[i]` of caches made of pages; negative places are left out. A place that the cache does not have is an error of the stream."""

def prelu(input: Tensor, weight: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input` where it is positive, `weight * input` elsewhere; the weight may be broadcast."""

def prod(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The product of a row."""

def quick_gelu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Gelu, approximated by `input * sigmoid(1.702 * input)`."""

def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 / input`."""

def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input`, but not below 0."""

def relu6(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` between 0 and 6."""

def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float = 1e-05,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A row divided by the root of the mean of its squares, times the weights."""

def rope(
    input: Tensor,
    pos_ids: Tensor,
    sin_table: Tensor,
    cos_table: Tensor,
    algo: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Turns pairs of elements of `input` by the angle that the tables have for their position: neighbours (GPT-J), or elements of the two halves (GPT-NeoX). A position that the tables do not have is an error of the stream."""

def scal(x: Tensor, alpha: Tensor | float) -> Tensor:
    """`x` becomes `alpha * x`; `alpha` is a tensor, which may be broadcast."""

def selu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Scaled exponential linear unit."""

def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 / (1 + exp(-input))`."""

def silu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input * sigmoid(input)`."""

def silu_and_mul(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`silu` of the first half of `input`'s last dimension, times the second half."""

def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic sine."""

def softmax(input: Tensor, dim: int = -1, *, out: Tensor | None = None) -> Tensor:
    """The exponentials of a row's elements, divided by their sum."""

def softplus(
    input: Tensor, beta: float = 1.0, threshold: float = 20.0, *, out: Tensor | None = None
) -> Tensor:
    """`log(1 + exp(beta * input)) / beta`, and `input` itself where `beta * input` is over the threshold."""

def softsign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input / (1 + abs(input))`."""

def sub(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input - other`; integers wrap around."""

def sum(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The sum of a row."""

def swiglu(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input * silu(other)`."""

def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Tangent."""

def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic tangent."""

def tanhshrink(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input - tanh(input)`."""

def var(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The variance of a row."""

def var_mean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    out: Tensor | tuple[Tensor, Tensor] | None = None,
    mean: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The variance of a row, and its mean."""
