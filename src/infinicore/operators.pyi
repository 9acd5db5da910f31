"""Operators as functions. Generated from src/infiniop/schema: change the operator's entry there."""

from collections.abc import Sequence

from .tensor import Tensor

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "add_rms_norm",
    "addcdiv",
    "addcmul",
    "all",
    "amax",
    "amin",
    "any",
    "asin",
    "asinh",
    "asum",
    "atan",
    "atan2",
    "atanh",
    "attention",
    "axpy",
    "binary_cross_entropy_with_logits",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blas_amax",
    "blas_amin",
    "blas_dot",
    "cast",
    "causal_softmax",
    "ceil",
    "celu",
    "clamp",
    "clip",
    "copysign",
    "cos",
    "cosh",
    "cross_entropy",
    "deg2rad",
    "dequantize_awq",
    "dequantize_gptq",
    "digamma",
    "div",
    "dot",
    "elu",
    "embedding",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "flipud",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "fused_gated_delta_net_gating",
    "fused_moe",
    "fused_moe_mxfp4",
    "gaussian_nll_loss",
    "gcd",
    "gelu",
    "gelu_tanh",
    "greater",
    "greater_equal",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "heaviside",
    "hinge_embedding_loss",
    "histc",
    "huber_loss",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "kv_caching",
    "layer_norm",
    "lcm",
    "ldexp",
    "leaky_relu",
    "lerp",
    "less",
    "less_equal",
    "lgamma",
    "linear_mxfp4",
    "local_response_norm",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_add_exp2",
    "log_softmax",
    "logaddexp",
    "logcumsumexp",
    "logdet",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsigmoid",
    "logsumexp",
    "lp_norm",
    "mamba_selective_scan",
    "masked_fill",
    "maximum",
    "mean",
    "minimum",
    "mish",
    "moe_fused_dense",
    "moe_sum",
    "mrope",
    "mul",
    "mul_scalar",
    "neg",
    "nextafter",
    "not_equal",
    "nrm2",
    "paged_attention",
    "paged_attention_prefill",
    "paged_caching",
    "per_channel_quant_i8",
    "per_tensor_dequant_i8",
    "per_tensor_quant_i8",
    "pow",
    "prelu",
    "prod",
    "quick_gelu",
    "rad2deg",
    "random_sample",
    "reciprocal",
    "relu",
    "relu6",
    "remainder",
    "rms_norm",
    "rope",
    "rot",
    "rotg",
    "rotm",
    "rotmg",
    "round",
    "rsqrt",
    "rwkv5_wkv",
    "scal",
    "scaled_mm_i8",
    "selu",
    "sigmoid",
    "sign",
    "silu",
    "silu_and_mul",
    "sin",
    "sinh",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "softshrink",
    "softsign",
    "sqrt",
    "square",
    "sub",
    "sum",
    "swap",
    "swiglu",
    "take",
    "tan",
    "tanh",
    "tanhshrink",
    "threshold",
    "tril",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "triu",
    "trunc",
    "var",
    "var_mean",
    "where",
    "xlogy",
]

def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` without its sign; the smallest integer stays as it is."""

def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Arc cosine."""

def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic cosine."""

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

def addcdiv(
    input: Tensor,
    tensor1: Tensor | float,
    tensor2: Tensor | float,
    value: float = 1.0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`input + value * tensor1 / tensor2`."""

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

def asum(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of a row's sizes without their signs. The result of one row may have any shape of one element."""

def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Arc tangent."""

def atan2(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point with the coordinates `other` and `input`."""

def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic tangent."""

def attention(
    q: Tensor, k: Tensor, v: Tensor, k_cache: Tensor, v_cache: Tensor, pos: int, *, out: Tensor | None = None
) -> Tensor:
    """Keys and values of new tokens go into the caches from place `pos` on; then causal attention of the new queries to everything there, scaled by one over the root of the heads' size."""

def axpy(alpha: Tensor | float, x: Tensor | float, y: Tensor) -> Tensor:
    """`y` becomes `alpha * x + y`; `alpha` is a tensor, which may be broadcast, as `x` may."""

def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The binary cross entropy of `target` and of the sigmoid of `input`, times `weight`; `pos_weight` is what positive ones count."""

def bitwise_and(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """The bits that `input` and `other` both have; of BOOL, whether both are true."""

def bitwise_left_shift(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input << other`. Shifts by less than 0 or by all bits and more leave 0."""

def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The bits that `input` does not have. Of BOOL that is `LogicalNot`."""

def bitwise_or(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """The bits that `input` or `other` has; of BOOL, whether one is true."""

def bitwise_right_shift(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input >> other`, filled with the sign. Shifts by less than 0 or by all bits and more leave only the sign."""

def bitwise_xor(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """The bits in which `input` and `other` differ; of BOOL, whether they do."""

def blas_amax(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The place of the element of `input` with the largest absolute value, counted from 1 as BLAS does: the first of them, and what is not a number before any; 0 where there is none."""

def blas_amin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The place of the element of `input` with the smallest absolute value, counted from 1 as BLAS does: the first of them, and what is not a number before any; 0 where there is none."""

def blas_dot(x: Tensor, y: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the products of two rows' elements. The result of one row may have any shape of one element."""

def cast(input: Tensor, *, out: Tensor) -> Tensor:
    """Converts to the type of `the result`, rounding to the nearest. From floating point to integers the fraction is cut off, what is out of range becomes the nearest integer there is, and what is not a number 0. Integers keep their low bits. To BOOL: not equal to 0."""

def causal_softmax(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`Softmax` of what row `i` of a matrix may see: all columns but the last `rows - 1 - i`. The others become 0."""

def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounded up."""

def celu(input: Tensor, alpha: float = 1.0, *, out: Tensor | None = None) -> Tensor:
    """`input` where it is positive, `alpha * (exp(input / alpha) - 1)` elsewhere."""

def clamp(
    input: Tensor, min: float | None = None, max: float | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`input`, but not below `min_val` and not above `max_val`; of integers the limits are the nearest that there are. `Clip` takes tensors."""

def clip(
    input: Tensor, min_val: Tensor | float, max_val: Tensor | float, *, out: Tensor | None = None
) -> Tensor:
    """`input`, but not below `min_val` and not above `max_val`, which may be broadcast; what is not a number stays so."""

def copysign(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input` with the sign of `other`."""

def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Cosine."""

def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic cosine."""

def cross_entropy(logits: Tensor, target: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(sum(exp(logits)))` of each row less its element `target`; 0 where `target` is no number of the row's elements."""

def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """An angle in degrees, in radians."""

def dequantize_awq(qweight: Tensor, scales: Tensor, zeros: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Weights from 4 bits, as AutoAWQ packs them: `the result = (qweight - zeros) * scales`. A word has eight columns, from its lowest bits on 0, 2, 4, 6, 1, 3, 5, 7; rows of `scales` and `zeros` belong to groups of as many rows."""

def dequantize_gptq(
    qweight: Tensor, scales: Tensor, zeros: Tensor, g_idx: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """Weights from 4 bits, as GPTQ packs them: `the result = (qweight - (zeros + 1)) * scales`. A word of `qweight` has eight rows, a word of `zeros` eight columns, the first in its lowest bits; `g_idx` has the group of each row. A group that is not there is an error of the stream."""

def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithmic derivative of the gamma function."""

def div(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input / other`."""

def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the products of two rows' elements. The result of one row may have any shape of one element."""

def elu(input: Tensor, alpha: float = 1.0, *, out: Tensor | None = None) -> Tensor:
    """`input` where it is positive, `alpha * (exp(input) - 1)` elsewhere."""

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

def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`e` to the power of `input`."""

def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of `input`."""

def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(input) - 1`."""

def flipud(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` with its first dimension in reverse order."""

def float_power(input: Tensor, exponent: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input` to the power of `exponent` or, where that is null, of `scalar_exponent`."""

def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounded down."""

def floor_divide(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input / other` rounded down. An integer divided by zero is 0."""

def fmax(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """The larger one; if one of them is not a number, the other."""

def fmin(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """The smaller one; if one of them is not a number, the other."""

def fmod(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """The remainder of `input / other` rounded towards zero; it has the sign of `input`. For integers and `other` zero it is 0."""

def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What rounding towards zero takes away."""

def fused_gated_delta_net_gating(
    A_log: Tensor,
    a: Tensor,
    b: Tensor,
    dt_bias: Tensor,
    beta: float = 1.0,
    threshold: float = 20.0,
    *,
    out: Tensor | tuple[Tensor, Tensor] | None = None,
    beta_output: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`the result = -exp(A_log) * softplus(a + dt_bias)`, where `softplus(x)` is `log(1 + exp(beta x)) / beta`, and `x` where `beta x` is over `threshold`; and `beta_output = sigmoid(b)`."""

def fused_moe(
    input: Tensor,
    token_selected_experts: Tensor,
    token_final_scales: Tensor,
    w1: Tensor,
    w2: Tensor,
    b1: Tensor | None = None,
    b2: Tensor | None = None,
    activation: str = "swiglu",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Each row of `input` through the experts that `token_selected_experts` names for it, summed with `token_final_scales`: an expert is `w2 * act(w1 * x + b1) + b2`. SwiGLU and SiTUGLU take the first half of the rows of `w1` for the gate. Experts outside of 0 to e-1 live elsewhere, and add nothing."""

def fused_moe_mxfp4(
    input: Tensor,
    selected_experts: Tensor,
    routing_weights: Tensor,
    w13_packed: Tensor,
    w13_scale: Tensor,
    w2_packed: Tensor,
    w2_scale: Tensor,
    activation: str = "swiglu",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """FusedMoe with weights of 4 bits, as Mxfp4Dequantize has them. They become `input`'s type in the workspace first."""

def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor,
    full: int = 0,
    eps: float = 1e-06,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Half of `log(var) + (input - target)^2 / var`, with `var` at least `eps`; if full, also half of `log(2 pi)`."""

def gcd(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """The largest integer that divides `input` and `other`."""

def gelu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` times the normal distribution function of `input`, in F32 off by 1e-6 at most."""

def gelu_tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Gelu, approximated with a hyperbolic tangent."""

def greater(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` is greater than `other`, 0 elsewhere. The output is BOOL, I8 or U8."""

def greater_equal(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` is greater than `other` or equal to it, 0 elsewhere. The output is BOOL, I8 or U8."""

def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """`input`, and 0 where it is not over `lambd` in size."""

def hardsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`relu6(input + 3) / 6`."""

def hardswish(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input * relu6(input + 3) / 6`."""

def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, *, out: Tensor | None = None
) -> Tensor:
    """`input` between `min_val` and `max_val`."""

def heaviside(input: Tensor, values: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """0 where `input` is negative, 1 where it is positive, and `values` where it is 0."""

def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean", *, out: Tensor | None = None
) -> Tensor:
    """`input` where `target` is 1, `max(0, margin - input)` where it is -1."""

def histc(
    input: Tensor, bins: int = 100, min: float = 0.0, max: float = 0.0, *, out: Tensor | None = None
) -> Tensor:
    """How many elements of `input` lie in each of `bins` parts of the range from `min_val` to `max_val`, or of their own range where both are the same. The last part has its end, too. What is outside, or not a number, counts nowhere."""

def huber_loss(
    input: Tensor, target: Tensor, delta: float = 1.0, reduction: str = "mean", *, out: Tensor | None = None
) -> Tensor:
    """Half the square of `input - target` where that is at most `delta`, beyond it `delta * (abs(input - target) - delta / 2)`."""

def hypot(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`sqrt(input * input + other * other)` without overflow on the way."""

def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` is a number and not infinite, 0 elsewhere. The output is BOOL, I8 or U8."""

def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` is infinite, 0 elsewhere. The output is BOOL, I8 or U8."""

def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` is not a number, 0 elsewhere. The output is BOOL, I8 or U8."""

def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` is infinite and negative, 0 elsewhere. The output is BOOL, I8 or U8."""

def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` is infinite and positive, 0 elsewhere. The output is BOOL, I8 or U8."""

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

def lcm(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """The smallest integer that `input` and `other` divide; it wraps around."""

def ldexp(input: Tensor, exp: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input` times 2 to the power of `exp`."""

def leaky_relu(input: Tensor, negative_slope: float = 0.01, *, out: Tensor | None = None) -> Tensor:
    """`input` where it is positive, `input * negative_slope` elsewhere."""

def lerp(start: Tensor, end: Tensor | float, weight: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`start + weight * (end - start)`; where `weight` is null, `weight_scalar` takes its place."""

def less(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` is less than `other`, 0 elsewhere. The output is BOOL, I8 or U8."""

def less_equal(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` is less than `other` or equal to it, 0 elsewhere. The output is BOOL, I8 or U8."""

def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the gamma function's size."""

def linear_mxfp4(
    input: Tensor,
    packed_weight: Tensor,
    weight_scale: Tensor,
    bias: Tensor | None = None,
    alpha: float = 1.0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`alpha * input * weight^T + bias` with weights of 4 bits, as Mxfp4Dequantize has them. They become `input`'s type in the workspace first."""

def local_response_norm(
    input: Tensor,
    size: int,
    alpha: float = 0.0001,
    beta: float = 0.75,
    k: float = 1.0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Elements over a power, `beta`, of `k` plus `alpha` times the average of squares of `size` neighbouring channels."""

def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Natural logarithm."""

def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 10."""

def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(1 + input)`."""

def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 2."""

def log_add_exp2(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`log2(2^input + 2^other)` without overflow on the way."""

def log_softmax(input: Tensor, dim: int = -1, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `Softmax`, computed without leaving the type's range."""

def logaddexp(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`log(exp(input) + exp(other))` without overflow on the way."""

def logcumsumexp(
    input: Tensor, dim: int, exclusive: int = 0, reverse: int = 0, *, out: Tensor | None = None
) -> Tensor:
    """The logarithm of the sum of the exponentials of each element of a row and all before it."""

def logdet(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the determinant of each matrix: not-a-number of a negative one, -infinity of 0. Computed in double."""

def logical_and(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """1 where neither `input` nor `other` is 0, 0 elsewhere. The output is BOOL, I8 or U8."""

def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` is 0, 0 elsewhere. The output is BOOL, I8 or U8."""

def logical_or(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` or `other` is not 0, 0 elsewhere. The output is BOOL, I8 or U8."""

def logical_xor(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """1 where one of `input` and `other` is 0 and the other is not, 0 elsewhere. The output is BOOL, I8 or U8."""

def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `sigmoid(input)`."""

def logsumexp(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The logarithm of the sum of a row's exponentials, computed without leaving the type's range."""

def lp_norm(
    input: Tensor, dim: int = -1, p: int = 2, eps: float = 1e-12, *, out: Tensor | None = None
) -> Tensor:
    """A row divided by its norm, the root of degree `p` of the sum of its elements' powers. The largest element is divided by first, so that powers stay in the type's range."""

def mamba_selective_scan(
    x: Tensor,
    dt: Tensor,
    b: Tensor,
    c: Tensor,
    a_log: Tensor,
    d: Tensor,
    gate: Tensor,
    dt_bias: Tensor,
    state: Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Each token changes the states of its channels, `s = exp(-exp(a_log) dt) s + dt b x`, and gives `(s c + d x) silu(gate)`, where `dt` is `softplus(dt + dt_bias)`. Computed in float."""

def masked_fill(input: Tensor, mask: Tensor | float, value: float, *, out: Tensor | None = None) -> Tensor:
    """`value` where `mask` is not 0, `input` elsewhere. The mask is BOOL, U8 or I8. Of integers `value` is the nearest that there is."""

def maximum(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """The larger one; what is not a number stays so."""

def mean(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The mean of a row."""

def minimum(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """The smaller one; what is not a number stays so."""

def mish(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input * tanh(log(1 + exp(input)))`."""

def moe_fused_dense(
    hidden_states: Tensor,
    w13: Tensor,
    w2: Tensor,
    topk_weights: Tensor,
    topk_ids: Tensor,
    sorted_token_ids: Tensor,
    expert_ids: Tensor,
    num_tokens_post_padded: Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """FusedMoe with SwiGLU, of routes that MoeAlign has put in order. The order is checked and not needed."""

def moe_sum(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of what the experts of each token gave: `the result[t] = sum of input[t]`."""

def mrope(
    q: Tensor,
    k: Tensor,
    cos: Tensor,
    sin: Tensor,
    positions: Tensor,
    head_size: int,
    rotary_dim: int,
    section_t: int,
    section_h: int,
    section_w: int,
    interleaved: bool = False,
    *,
    out: Tensor | tuple[Tensor, Tensor] | None = None,
    k_out: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Turns the heads of `q` and `k` by positions of three coordinates: time, height, width. Pairs are elements of the two halves of the first `rotary_dim` of a head; the coordinates turn `section_t`, `section_h` and `section_w` of them, one after the other, or, interleaved, in turns. The other elements stay. A position that the tables do not have is an error of the stream."""

def mul(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input * other`; integers wrap around."""

def mul_scalar(input: Tensor, alpha: float, *, out: Tensor | None = None) -> Tensor:
    """`input * alpha`; for integers `alpha` loses its fraction first."""

def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`-input`; integers wrap around."""

def nextafter(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """The number of the type that follows `input` on the way to `other`."""

def not_equal(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """1 where `input` and `other` differ, 0 elsewhere. The output is BOOL, I8 or U8."""

def nrm2(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The root of the sum of a row's squares; the largest element is divided by first, so that squares stay in the type's range. The result of one row may have any shape of one element."""

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

def per_channel_quant_i8(
    input: Tensor,
    *,
    out: Tensor | tuple[Tensor, Tensor, Tensor] | None = None,
    x_scale: Tensor | None = None,
    x_zero: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Rows of `input` as numbers of 8 bits, with a scale for each row: `the result = round(input / x_scale)`, where the largest magnitude becomes 127. With `x_zero`, `round(input / x_scale + x_zero)`, where the smallest number becomes -128 and the largest 127. Ties go to even numbers; not-a-number becomes 0, and no scale is below 1e-8."""

def per_tensor_dequant_i8(
    x_packed: Tensor, x_scale: Tensor, x_zero: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Numbers from 8 bits: `the result = (x_packed - x_zero) * x_scale`, without `x_zero` `x_packed * x_scale`."""

def per_tensor_quant_i8(
    input: Tensor,
    x_scale: Tensor,
    x_zero: Tensor | None = None,
    is_static: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`input` as numbers of 8 bits, with one scale: `the result = round(input / x_scale)`, or with `x_zero` `round(input / x_scale + x_zero)`. Scale and zero point are made from the numbers, as PerChannelQuantI8 makes them of a row, or, static, are those that are there."""

def pow(input: Tensor, exponent: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input` to the power of `exponent`. Integers wrap around, and their negative powers are 0, but of 1 and -1."""

def prelu(input: Tensor, weight: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input` where it is positive, `weight * input` elsewhere; the weight may be broadcast."""

def prod(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The product of a row; of integers and BOOL it is I64, and wraps around."""

def quick_gelu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Gelu, approximated by `input * sigmoid(1.702 * input)`."""

def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """An angle in radians, in degrees."""

def random_sample(
    logits: Tensor,
    random_val: float,
    topp: float,
    topk: int,
    temperature: float,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Draws a place of each row of `logits`, which are logits: with probability `softmax(logits / temperature)` among the `topk` largest, and as many of these as have `topp` of the whole probability. `random_val`, from 0 to 1, decides which. It, `topp` or `temperature` of 0, or `topk` of 1, give the first of the largest. Not-a-number is not drawn."""

def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 / input`."""

def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input`, but not below 0."""

def relu6(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` between 0 and 6."""

def remainder(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """What `floor_divide` leaves of `input`; it has the sign of `other`. For integers and `other` zero it is 0."""

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

def rot(x: Tensor, y: Tensor, c: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
    """Each pair of elements turned: `c * x + s * y` and `c * y - s * x`."""

def rotg(
    x: Tensor, y: Tensor, *, out: Tensor | tuple[Tensor, Tensor] | None = None, s: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The rotation that makes `(x, y)` `(r, 0)`: `the result` and `s`, with `r` in `x`, and in `y` the number from which both can be made again."""

def rotm(x: Tensor, y: Tensor, param: Tensor) -> tuple[Tensor, Tensor]:
    """Each pair of elements times a matrix: `h11 * x + h12 * y` and `h21 * x + h22 * y`. `param` is a flag and h11, h21, h12, h22; flag -1: all of them, 0: 1 on the diagonal, 1: 1 and -1 beside it, -2: nothing changes."""

def rotmg(d1: Tensor, d2: Tensor, x1: Tensor, y1: Tensor, *, out: Tensor | None = None) -> Tensor:
    """BLAS's modified rotation: `the result`, as Rotm takes it, makes the second component of `(sqrt(d1) * x1, sqrt(d2) * y1)` zero; `d1`, `d2` and `x1` become those after it."""

def round(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The nearest integer, of two that are equally near the even one."""

def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 / sqrt(input)`."""

def rwkv5_wkv(
    receptance: Tensor,
    key: Tensor,
    value: Tensor,
    time_decay: Tensor,
    time_faaaa: Tensor,
    state: Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Each token gives `r (time_faaaa k v^T + s)` for each head, and then changes its state, `s = k v^T + exp(-exp(time_decay)) s`. Computed in float."""

def scal(x: Tensor, alpha: Tensor | float) -> Tensor:
    """`x` becomes `alpha * x`; `alpha` is a tensor, which may be broadcast."""

def scaled_mm_i8(
    a_p: Tensor,
    a_s: Tensor,
    b_p: Tensor,
    b_s: Tensor,
    bias: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The product of matrices of 8 bits, in numbers: `the result = a_s * b_s * (a_p @ b_p) + bias`, with a scale for each row of `a_p`, one for each column of `b_p`, and one number of the bias for each column. Sums are exact, in 32 bits."""

def selu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Scaled exponential linear unit."""

def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 / (1 + exp(-input))`."""

def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1, 0 or -1, as `input` is over, at or under 0."""

def silu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input * sigmoid(input)`."""

def silu_and_mul(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`silu` of the first half of `input`'s last dimension, times the second half."""

def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sine."""

def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic sine."""

def smooth_l1_loss(
    input: Tensor, target: Tensor, beta: float = 1.0, reduction: str = "mean", *, out: Tensor | None = None
) -> Tensor:
    """Half the square of `input - target` over `beta` where it is below `beta`, beyond it `abs(input - target) - beta / 2`."""

def softmax(input: Tensor, dim: int = -1, *, out: Tensor | None = None) -> Tensor:
    """The exponentials of a row's elements, divided by their sum."""

def softplus(
    input: Tensor, beta: float = 1.0, threshold: float = 20.0, *, out: Tensor | None = None
) -> Tensor:
    """`log(1 + exp(beta * input)) / beta`, and `input` itself where `beta * input` is over the threshold."""

def softshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """`input`, nearer to 0 by `lambd`, and 0 where it is not that far."""

def softsign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input / (1 + abs(input))`."""

def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Square root."""

def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input * input`."""

def sub(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input - other`; integers wrap around."""

def sum(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The sum of a row; of integers and BOOL it is I64, and wraps around."""

def swap(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """`x` and `y` exchange their elements."""

def swiglu(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input * silu(other)`."""

def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of `input`, counted through all of its dimensions, that `index` names; negative ones count from the last. A number that is out of range is an error of the stream."""

def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Tangent."""

def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic tangent."""

def tanhshrink(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input - tanh(input)`."""

def threshold(input: Tensor, threshold: float, value: float, *, out: Tensor | None = None) -> Tensor:
    """`input` where it is over `threshold`, `value` elsewhere."""

def tril(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The elements of each matrix on the diagonal and below; 0 above."""

def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: int = 2,
    eps: float = 1e-06,
    swap: int = 0,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`max(0, d(anchor, positive) - d(anchor, negative) + margin)` of each row, where `d` is the p-norm of the difference plus `eps`. With swap, the smaller one of the distances of `negative` counts."""

def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    swap: int = 0,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """TripletMarginLoss with the distance that it has by default: the norm of the difference plus 1e-6."""

def triu(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The elements of each matrix on the diagonal and above; 0 below."""

def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounded towards zero."""

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

def where(
    condition: Tensor, input: Tensor | float, other: Tensor | float, *, out: Tensor | None = None
) -> Tensor:
    """`input` where `condition` is not 0, `other` elsewhere. The condition is BOOL, U8 or I8."""

def xlogy(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input * log(other)`, and 0 where `input` is 0."""
