"""Functions of neural networks. Generated from src/infiniop/schema: change the operator's entry there."""

from collections.abc import Sequence

from ..tensor import Tensor
from .layers import RopeAlgo, flash_attention, linear, scaled_dot_product_attention
from .normalisation import batch_norm, group_norm, instance_norm
from .spatial import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    affine_grid,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    conv1d,
    conv2d,
    conv3d,
    interpolate,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)

__all__ = [
    "RopeAlgo",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "add_rms_norm",
    "affine_grid",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "causal_softmax",
    "celu",
    "conv1d",
    "conv2d",
    "conv3d",
    "elu",
    "embedding",
    "flash_attention",
    "gelu",
    "gelu_tanh",
    "group_norm",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "instance_norm",
    "interpolate",
    "layer_norm",
    "leaky_relu",
    "linear",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mish",
    "prelu",
    "quick_gelu",
    "relu",
    "relu6",
    "rms_norm",
    "rope",
    "scaled_dot_product_attention",
    "selu",
    "sigmoid",
    "silu",
    "silu_and_mul",
    "softmax",
    "softplus",
    "softshrink",
    "softsign",
    "swiglu",
    "tanh",
    "tanhshrink",
    "threshold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

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

def causal_softmax(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`Softmax` of what row `i` of a matrix may see: all columns but the last `rows - 1 - i`. The others become 0."""

def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
    """`input` where it is positive, `alpha * (exp(input / alpha) - 1)` elsewhere."""

def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
    """`input` where it is positive, `alpha * (exp(input) - 1)` elsewhere."""

def embedding(input: Tensor, weight: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The rows of `weight` that `input` names. A number that is no row's is an error of the stream."""

def gelu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` times the normal distribution function of `input`."""

def gelu_tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Gelu, approximated with a hyperbolic tangent."""

def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """`input`, and 0 where it is not over `lambd` in size."""

def hardsigmoid(input: Tensor, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
    """`relu6(input + 3) / 6`."""

def hardswish(input: Tensor, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
    """`input * relu6(input + 3) / 6`."""

def hardtanh(
    input: Tensor,
    min_val: float = -1.0,
    max_val: float = 1.0,
    inplace: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`input` between `min_val` and `max_val`."""

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

def leaky_relu(
    input: Tensor, negative_slope: float = 0.01, inplace: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """`input` where it is positive, `input * negative_slope` elsewhere."""

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

def log_softmax(input: Tensor, dim: int = -1, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `Softmax`, computed without leaving the type's range."""

def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `sigmoid(input)`."""

def mish(input: Tensor, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
    """`input * tanh(log(1 + exp(input)))`."""

def prelu(input: Tensor, weight: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input` where it is positive, `weight * input` elsewhere; the weight may be broadcast."""

def quick_gelu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Gelu, approximated by `input * sigmoid(1.702 * input)`."""

def relu(input: Tensor, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
    """`input`, but not below 0."""

def relu6(input: Tensor, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
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

def selu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Scaled exponential linear unit."""

def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 / (1 + exp(-input))`."""

def silu(input: Tensor, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
    """`input * sigmoid(input)`."""

def silu_and_mul(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`silu` of the first half of `input`'s last dimension, times the second half."""

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

def swiglu(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input * silu(other)`."""

def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic tangent."""

def tanhshrink(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input - tanh(input)`."""

def threshold(
    input: Tensor, threshold: float, value: float, inplace: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """`input` where it is over `threshold`, `value` elsewhere."""
