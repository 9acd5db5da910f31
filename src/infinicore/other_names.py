"""Operators under the other names that PyTorch and InfiniCore have for them, and element-wise functions that are made of operators."""

from __future__ import annotations

import math

from . import operators
from .dtype import float64
from .operators import abs as absolute
from .operators import acos as arccos
from .operators import acosh as arccosh
from .operators import asin as arcsin
from .operators import asinh as arcsinh
from .operators import atan as arctan
from .operators import atan2 as arctan2
from .operators import atanh as arctanh
from .operators import div as divide
from .operators import equal as eq
from .operators import greater as gt
from .operators import greater_equal as ge
from .operators import less as lt
from .operators import less_equal as le
from .operators import log_add_exp2 as logaddexp2
from .operators import mul as multiply
from .operators import neg as negative
from .operators import not_equal as ne
from .operators import sub as subtract
from .operators import trunc as fix
from .tensor import Tensor

__all__ = [
    "absolute",
    "add_rms_norm_inplace",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "blas_copy",
    "divide",
    "eq",
    "fix",
    "ge",
    "gt",
    "isclose",
    "le",
    "logaddexp2",
    "logit",
    "lt",
    "multiply",
    "ne",
    "negative",
    "signbit",
    "sinc",
    "subtract",
    "true_divide",
]

true_divide = operators.div


def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the sign is negative, of -0.0 and not-a-number, too; BOOL.

    >>> import infinicore
    >>> infinicore.signbit(infinicore.from_list([1.0, -0.0], dtype=infinicore.float32)).tolist()
    [False, True]
    """
    if not input.dtype.is_floating_point:
        return operators.less(input, 0, out=out)
    return operators.less(operators.copysign(1.0, input), 0, out=out)  # type: ignore[arg-type]


def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sin(pi * x) / (pi * x)`, and 1 where `x` is 0.

    >>> import infinicore
    >>> infinicore.sinc(infinicore.zeros([1])).tolist()
    [1.0]
    """
    angle = input * math.pi
    return operators.where(operators.equal(input, 0), 1.0, operators.sin(angle) / angle, out=out)


def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """`log(x / (1 - x))`, of which `sigmoid` is the inverse; with `eps` of what is clamped to `eps` and `1 - eps`.

    >>> import infinicore
    >>> infinicore.logit(infinicore.from_list([0.5, 2.0], dtype=infinicore.float32), eps=0.5).tolist()
    [0.0, 0.0]
    """
    share = input if eps is None else operators.clamp(input, eps, 1 - eps)
    return operators.log(share / (1 - share), out=out)


def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether elements differ by at most `atol + rtol * abs(other)`, or are equal; with `equal_nan` not-a-number is equal to itself. BOOL.

    >>> import infinicore
    >>> infinicore.isclose(infinicore.ones([1]), infinicore.full([1], 1.000001)).tolist()
    [True]
    """
    same = operators.equal(input, other)
    if not input.dtype.is_floating_point:
        input, other = input.to(float64), other.to(float64)
    near = operators.less_equal(operators.abs(input - other), operators.abs(other) * rtol + atol)
    # What is infinite is close to its equal only.
    close = operators.logical_or(same, operators.logical_and(near, operators.isfinite(other)))
    if not equal_nan:
        return close
    return operators.logical_or(close, operators.logical_and(operators.isnan(input), operators.isnan(other)))


def blas_copy(x: Tensor, y: Tensor) -> Tensor:
    """`y` takes the elements of `x` over."""
    return y.copy_(x)


def add_rms_norm_inplace(
    input: Tensor, residual: Tensor, weight: Tensor, epsilon: float = 1e-5
) -> tuple[Tensor, Tensor]:
    """`residual` becomes `input + residual`, and `input` the norm of that."""
    operators.add_rms_norm(input, residual, weight, epsilon, out=(input, residual))
    return input, residual
