"""Functions of `nn.functional` that normalise channels: over a batch, over groups of channels, over one channel of one batch."""

from __future__ import annotations

from .. import _core
from ..creation import empty, ones, zeros
from ..operators import mean
from ..tensor import Tensor

__all__ = ["batch_norm", "group_norm", "instance_norm"]


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`input` (batch, channels, ...) with a mean of 0 and a variance of 1 in each channel, times `weight` and plus `bias`.

    With `training` mean and variance are those of `input`, and `momentum` of them goes into `running_mean` and `running_var`, which may be
    None; otherwise these are mean and variance. All of them may be float32 where `input` is narrower.

    >>> import infinicore
    >>> x = infinicore.from_list([[1.0], [3.0]], dtype=infinicore.float32)
    >>> infinicore.nn.functional.batch_norm(x, None, None, training=True, eps=0.0).tolist()
    [[-1.0], [1.0]]
    """
    if input.ndim < 2:
        raise ValueError(f"batch_norm(): input has shape {input.shape}; batch and channels were expected")
    y = _result("batch_norm", input, out)
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("batch_norm(): without training running_mean and running_var must be given")
        _core.building_blocks["batch_norm"](input, running_mean, running_var, weight, bias, eps, out=y)
        return y
    count = input.size(0)
    for size in input.shape[2:]:
        count *= size
    if count <= 1:
        raise ValueError(
            f"batch_norm(): input has shape {input.shape}; training needs more than one element in each channel"
        )
    channels = [input.size(1)]
    if running_mean is None:
        running_mean = zeros(channels, dtype=input.dtype, device=input.device)
    if running_var is None:
        running_var = ones(channels, dtype=input.dtype, device=input.device)
    train = _core.building_blocks["batch_norm_training"]
    train(input, running_mean, running_var, weight, bias, momentum, eps, out=y)
    return y


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`input` (batch, channels, ...) with a mean of 0 and a variance of 1 in each group of channels, times `weight` and plus `bias` of the
    channel."""
    if input.ndim < 2:
        raise ValueError(f"group_norm(): input has shape {input.shape}; batch and channels were expected")
    y = _result("group_norm", input, out)
    _core.building_blocks["group_norm"](input, weight, bias, num_groups, eps, out=y)
    return y


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`input` (batch, channels, ...) with a mean of 0 and a variance of 1 in each channel of each batch, times `weight` and plus `bias`.

    Without `use_input_stats` mean and variance are `running_mean` and `running_var`. With it `momentum` of the batch's averages of means and
    variances goes into these, where they are given.
    """
    if input.ndim < 3:
        raise ValueError(
            f"instance_norm(): input has shape {input.shape}; batch, channels and space were expected"
        )
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps, out=out)
    if running_mean is not None and running_var is not None:
        return _instance_norm_training(input, running_mean, running_var, weight, bias, momentum, eps, out)
    return group_norm(input, max(input.size(1), 1), weight, bias, eps, out=out)


def _instance_norm_training(
    input: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    momentum: float,
    eps: float,
    out: Tensor | None,
) -> Tensor:
    """Channels of different batches as channels of one."""
    batches, channels = input.shape[:2]

    def of_all(numbers: Tensor) -> Tensor:
        return numbers.unsqueeze(0).broadcast_to(batches, channels).contiguous().view(batches * channels)

    means, variances = of_all(running_mean), of_all(running_var)
    made = batch_norm(
        input.reshape(1, batches * channels, *input.shape[2:]),
        means,
        variances,
        None if weight is None else of_all(weight),
        None if bias is None else of_all(bias),
        True,
        momentum,
        eps,
    ).view(*input.shape)
    running_mean.copy_(mean(means.view(batches, channels), 0))
    running_var.copy_(mean(variances.view(batches, channels), 0))
    return made if out is None else out.copy_(made)


def _result(function: str, input: Tensor, out: Tensor | None) -> Tensor:
    if out is None:
        return empty(input.shape, dtype=input.dtype, device=input.device)
    if out.shape != input.shape:
        raise ValueError(f"{function}(): out has shape {out.shape}, not {input.shape}")
    return out
