"""Functions of neural networks. Generated from src/infiniop/schema: change the operator's entry there."""

from collections.abc import Sequence

from ..tensor import Tensor
from .layers import (
    ACT_SILU,
    ACT_SWIGLU,
    RopeAlgo,
    bilinear,
    causal_conv1d,
    chunk_gated_delta_rule,
    flash_attention,
    linear,
    multi_margin_loss,
    one_hot,
    pad,
    pixel_shuffle,
    pixel_unshuffle,
    recurrent_gated_delta_rule,
    scaled_dot_product_attention,
    unfold,
)
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
    "ACT_SILU",
    "ACT_SWIGLU",
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
    "bilinear",
    "binary_cross_entropy_with_logits",
    "causal_conv1d",
    "causal_softmax",
    "celu",
    "chunk_gated_delta_rule",
    "conv1d",
    "conv2d",
    "conv3d",
    "cross_entropy",
    "elu",
    "embedding",
    "flash_attention",
    "fused_gated_delta_net_gating",
    "fused_moe",
    "fused_moe_mxfp4",
    "gaussian_nll_loss",
    "gelu",
    "gelu_tanh",
    "group_norm",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "layer_norm",
    "leaky_relu",
    "linear",
    "linear_mxfp4",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "mamba_selective_scan",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mish",
    "moe_fused_dense",
    "multi_margin_loss",
    "one_hot",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "prelu",
    "quick_gelu",
    "random_sample",
    "recurrent_gated_delta_rule",
    "relu",
    "relu6",
    "rms_norm",
    "rope",
    "rwkv5_wkv",
    "scaled_dot_product_attention",
    "selu",
    "sigmoid",
    "silu",
    "silu_and_mul",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "softshrink",
    "softsign",
    "swiglu",
    "tanh",
    "tanhshrink",
    "threshold",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
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

def causal_softmax(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`Softmax` of what row `i` of a matrix may see: all columns but the last `rows - 1 - i`. The others become 0."""

def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
    """`input` where it is positive, `alpha * (exp(input / alpha) - 1)` elsewhere."""

def cross_entropy(logits: Tensor, target: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(sum(exp(logits)))` of each row less its element `target`; 0 where `target` is no number of the row's elements."""

def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
    """`input` where it is positive, `alpha * (exp(input) - 1)` elsewhere."""

def embedding(input: Tensor, weight: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The rows of `weight` that `input` names. A number that is no row's is an error of the stream."""

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

def gelu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` times the normal distribution function of `input`, in F32 off by 1e-6 at most."""

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

def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean", *, out: Tensor | None = None
) -> Tensor:
    """`input` where `target` is 1, `max(0, margin - input)` where it is -1."""

def huber_loss(
    input: Tensor, target: Tensor, delta: float = 1.0, reduction: str = "mean", *, out: Tensor | None = None
) -> Tensor:
    """Half the square of `input - target` where that is at most `delta`, beyond it `delta * (abs(input - target) - delta / 2)`."""

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

def log_softmax(input: Tensor, dim: int = -1, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `Softmax`, computed without leaving the type's range."""

def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `sigmoid(input)`."""

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

def mish(input: Tensor, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
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

def prelu(input: Tensor, weight: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input` where it is positive, `weight * input` elsewhere; the weight may be broadcast."""

def quick_gelu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Gelu, approximated by `input * sigmoid(1.702 * input)`."""

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

def selu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Scaled exponential linear unit."""

def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 / (1 + exp(-input))`."""

def silu(input: Tensor, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
    """`input * sigmoid(input)`."""

def silu_and_mul(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`silu` of the first half of `input`'s last dimension, times the second half."""

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
