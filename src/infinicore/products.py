"""Products of matrices and vectors as PyTorch has them, and distances."""

from __future__ import annotations

import struct

from . import _core, _views
from ._arguments import as_said_of
from .dtype import bfloat16, float16, float32, float64
from .functions import matmul
from .tensor import Tensor

__all__ = [
    "addbmm",
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
    "bilinear",
    "bmm",
    "bmm_strided",
    "cdist",
    "dist",
    "fused_ffn",
    "ger",
    "inner",
    "kron",
    "matrix_power",
    "mm",
    "mv",
    "outer",
    "vdot",
]

_blocks = _core.building_blocks


def _shaped(function: str, dims: dict[str, tuple[Tensor, int]]) -> None:
    """Whether each tensor, by its name, has so many dimensions, and all have one type."""
    (first, (model, _)), *_ = dims.items()
    for name, (tensor, ndim) in dims.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{function}(): {name} must be a Tensor, not {type(tensor).__name__}")
        if tensor.ndim != ndim:
            wanted = {
                1: "a vector",
                2: "a matrix",
                3: "three dimensions, of which the first counts matrices,",
            }[ndim]
            raise ValueError(f"{function}(): {name} has shape {tensor.shape}; {wanted} was expected")
        if tensor.dtype is not model.dtype:
            raise TypeError(
                f"{function}(): {name} is {tensor.dtype.name}, but {first} is {model.dtype.name}; they must be the same, and .to() "
                "converts"
            )


def _takes(tensor: Tensor, number: float) -> bool:
    """Whether a product of such tensors takes the factor as it is: it does so in 32 bits."""
    if tensor.dtype is not float64:
        return True
    try:
        return struct.unpack("f", struct.pack("f", number))[0] == number or number != number
    except OverflowError:
        return False


def _destination(function: str, like: Tensor, shape: list[int], out: Tensor | None) -> Tensor:
    if out is None:
        return _core.empty(like._place, like.dtype, shape)
    if out.shape != shape:
        raise ValueError(f"{function}(): out has shape {out.shape}, not {shape}")
    if out.dtype is not like.dtype:
        raise TypeError(f"{function}(): out is {out.dtype.name}, but the result is {like.dtype.name}")
    return out


def _added(
    function: str,
    input: Tensor,
    factors: tuple[Tensor, Tensor],
    names: tuple[str, str],
    shape: list[int],
    numbers: tuple[float, float],
    out: Tensor | None,
) -> Tensor:
    """`beta * input + alpha` times the product of the factors, which are matrices, or as many as the result has."""
    left, right = factors
    if left.size(-1) != right.size(-2):
        raise ValueError(
            f"{function}(): {names[0]} has shape {left.shape} and {names[1]} {right.shape}: {left.size(-1)} columns and {right.size(-2)} "
            "rows; they must be as many"
        )
    beta, alpha = (float(number) for number in numbers)
    if input.dtype is not left.dtype:
        raise TypeError(
            f"{function}(): input is {input.dtype.name}, but the factors are {left.dtype.name}; they must be the same, and .to() converts"
        )
    if input.ndim > len(shape) or any(
        size not in (1, wanted) for size, wanted in zip(reversed(input.shape), reversed(shape), strict=False)
    ):
        raise ValueError(
            f"{function}(): input has shape {input.shape}, which cannot be broadcast to {shape}, the result's"
        )
    result = _destination(function, left, shape, out)
    if out is not None and any(out._storage == each._storage for each in factors):
        # A factor could be written over while it is read.
        return out.copy_(_added(function, input, factors, names, shape, numbers, None))
    if not _takes(left, alpha):
        left, alpha = left * alpha, 1.0
    if beta:
        if not _takes(input, beta):
            input, beta = input * beta, 1.0
        if input is not out:
            shares = out is not None and input._storage == out._storage
            result.copy_((input.clone() if shares else input).broadcast_to(shape))
    try:
        _blocks["gemm"](left, right, alpha, beta, out=result)
    except (TypeError, ValueError) as error:
        raise as_said_of(function, error, input=names[0], other=names[1]) from None
    return result


def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices."""
    _shaped("mm", {"input": (input, 2), "mat2": (mat2, 2)})
    return _multiplied("mm", input, mat2, "mat2", out)


def _multiplied(function: str, input: Tensor, other: Tensor, name: str, out: Tensor | None) -> Tensor:
    try:
        return matmul(input, other, out=out)
    except (TypeError, ValueError) as error:
        raise as_said_of(function, error, other=name) from None


def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of as many matrices as the first dimension of both says.

    >>> import infinicore
    >>> infinicore.bmm(infinicore.ones([2, 1, 3]), infinicore.ones([2, 3, 1])).tolist()
    [[[3.0]], [[3.0]]]
    """
    _shaped("bmm", {"input": (input, 3), "mat2": (mat2, 3)})
    if input.size(0) != mat2.size(0):
        raise ValueError(
            f"bmm(): input has {input.size(0)} matrices and mat2 {mat2.size(0)}; they must be as many. matmul() takes one for all"
        )
    return _multiplied("bmm", input, mat2, "mat2", out)


def bmm_strided(input: Tensor, mat2: Tensor, *, out: Tensor) -> Tensor:
    """`bmm` into `out`, whatever the strides of all three."""
    return bmm(input, mat2, out=out)


def _fitting(function: str, name: str, matrix: Tensor, vec: Tensor) -> None:
    if matrix.size(1) != vec.size(0):
        raise ValueError(
            f"{function}(): {name} has shape {matrix.shape} and vec {vec.shape}; "
            "a matrix has as many columns as its vector has elements"
        )


def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector."""
    _shaped("mv", {"input": (input, 2), "vec": (vec, 1)})
    _fitting("mv", "input", input, vec)
    to = None if out is None else out.unsqueeze(-1)
    made = _multiplied("mv", input, vec.unsqueeze(1), "vec", to)
    return made.squeeze(1) if out is None else out


def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of each element of one vector with each of the other.

    >>> import infinicore
    >>> infinicore.outer(infinicore.arange(1, 3), infinicore.arange(3)).tolist()
    [[0, 1, 2], [0, 2, 4]]
    """
    _shaped("outer", {"input": (input, 1), "vec2": (vec2, 1)})
    return _core.operators["mul"](input.unsqueeze(1), vec2.unsqueeze(0), out=out)


ger = outer


def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the products of two vectors' elements; without dimensions."""
    _shaped("vdot", {"input": (input, 1), "other": (other, 1)})
    return inner(input, other, out=out)


def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha * mat1 * mat2`, rounded once. `input` is broadcast; with `beta` 0 it is not read. `out` may be `input`."""
    _shaped("addmm", {"mat1": (mat1, 2), "mat2": (mat2, 2)})
    shape = [mat1.size(0), mat2.size(1)]
    return _added("addmm", input, (mat1, mat2), ("mat1", "mat2"), shape, (beta, alpha), out)


def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha * batch1 * batch2` for each matrix of the batches; as `addmm` otherwise.

    >>> import infinicore
    >>> x, y = infinicore.ones([2, 1, 3]), infinicore.ones([2, 3, 1])
    >>> infinicore.baddbmm(infinicore.ones([1]), x, y, beta=10).tolist()
    [[[13.0]], [[13.0]]]
    """
    _shaped("baddbmm", {"batch1": (batch1, 3), "batch2": (batch2, 3)})
    if batch1.size(0) != batch2.size(0):
        raise ValueError(
            f"baddbmm(): batch1 has {batch1.size(0)} matrices and batch2 {batch2.size(0)}; they must be as many"
        )
    shape = [batch1.size(0), batch1.size(1), batch2.size(2)]
    return _added("baddbmm", input, (batch1, batch2), ("batch1", "batch2"), shape, (beta, alpha), out)


def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha * mat * vec`; as `addmm` otherwise."""
    _shaped("addmv", {"mat": (mat, 2), "vec": (vec, 1)})
    _fitting("addmv", "mat", mat, vec)
    if input.ndim > 1:
        raise ValueError(f"addmv(): input has shape {input.shape}; a vector was expected")
    column = input.unsqueeze(-1) if input.ndim else input
    to = None if out is None else column if out is input else out.unsqueeze(-1)
    factors, shape = (mat, vec.unsqueeze(1)), [mat.size(0), 1]
    made = _added("addmv", column, factors, ("mat", "vec"), shape, (beta, alpha), to)
    return made.squeeze(1) if out is None else out


def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha *` the sum of the products of the batches' matrices, rounded once. With `beta` 0 `input` is not read.

    >>> import infinicore
    >>> x, y = infinicore.ones([2, 1, 3]), infinicore.ones([2, 3, 1])
    >>> infinicore.addbmm(infinicore.ones([1, 1]), x, y).tolist()
    [[7.0]]
    """
    if not (_takes(batch1, alpha) and _takes(input, beta)):
        batch1, input, alpha, beta = batch1 * alpha, input * beta if beta else input, 1, 1 if beta else 0
    return _blocks["addbmm"](input, batch1, batch2, alpha, beta, out=out)


def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, beta: float = 1, alpha: float = 1, *, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha *` the products of each element of `vec1` with each of `vec2`. With `beta` 0 `input` is not read.

    >>> import infinicore
    >>> infinicore.addr(infinicore.zeros([2, 2]), infinicore.ones([2]), infinicore.ones([2]), alpha=3).tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """
    if not (_takes(vec1, alpha) and _takes(input, beta)):
        vec1, input, alpha, beta = vec1 * alpha, input * beta if beta else input, 1, 1 if beta else 0
    return _blocks["addr"](input, vec1, vec2, beta, alpha, out=out)


def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of rows along the last dimension of both: of all other dimensions of `input`, then of those of `other`. Of a tensor without
    dimensions the product with each element.

    >>> import infinicore
    >>> infinicore.inner(infinicore.ones([2, 3]), infinicore.ones([3])).tolist()
    [3.0, 3.0]
    """
    if not input.ndim or not other.ndim:
        return _core.operators["mul"](input, other, out=out)
    if out is None:
        out = _core.empty(input._place, input.dtype, [*input.shape[:-1], *other.shape[:-1]])
    return _blocks["inner"](input, other, out=out)


def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element of `input` times the whole of `other`, in its place.

    >>> import infinicore
    >>> infinicore.kron(infinicore.arange(1, 3), infinicore.ones([2], dtype=infinicore.int64)).tolist()
    [1, 1, 2, 2]
    """
    if out is None:
        ndim = max(input.ndim, other.ndim)
        sizes = ([1] * (ndim - each.ndim) + each.shape for each in (input, other))
        out = _core.empty(input._place, input.dtype, [a * b for a, b in zip(*sizes, strict=True)])
    return _blocks["kron"](input, other, out=out)


def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """The product of `n` times a matrix, or of each of as many as there are; for 0 ones on the diagonal. There are no negative powers.

    >>> import infinicore
    >>> infinicore.matrix_power(infinicore.from_list([[1.0, 1.0], [0.0, 1.0]], dtype=infinicore.float32), 5).tolist()
    [[1.0, 5.0], [0.0, 1.0]]
    """
    if input.ndim < 2 or input.size(-1) != input.size(-2):
        raise ValueError(
            f"matrix_power(): input has shape {input.shape}; matrices with as many rows as columns were expected"
        )
    return _blocks["matrix_power"](input, n, out=out)


def bilinear(
    input1: Tensor,
    input2: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`input1 * weight[o] * input2 + bias[o]` for each row of both inputs and each feature `o` of the result; narrow types are computed as float."""
    if (
        weight.ndim != 3
        or not input1.ndim
        or input1.shape[:-1] != input2.shape[:-1]
        or [input1.size(-1), input2.size(-1)] != weight.shape[1:]
    ):
        raise ValueError(
            f"bilinear(): shapes {input1.shape}, {input2.shape} and weight {weight.shape}; rows (..., m) and (..., n) and weight "
            "(features, m, n) were expected"
        )
    features, m, n = weight.shape
    dtype = float32 if input1.dtype in (float16, bfloat16) else input1.dtype
    left, right, matrices = (each.to(dtype) for each in (input1, input2, weight))
    halfway = matmul(left.reshape(-1, m), matrices.permute(1, 0, 2).reshape(m, features * n))
    made = bmm(halfway.view(-1, features, n), right.reshape(-1, n, 1)).view(*input1.shape[:-1], features)
    if bias is not None:
        made = made + bias.to(dtype)
    made = made.to(input1.dtype)
    return made if out is None else _destination("bilinear", made, made.shape, out).copy_(made)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, *, out: Tensor | None = None) -> Tensor:
    """The distance of each row of `x1` to each of `x2`: the `p`-norm of their difference. Dimensions before the last two are broadcast.

    >>> import infinicore
    >>> infinicore.cdist(infinicore.zeros([1, 2]), infinicore.from_list([[3.0, 4.0]], dtype=infinicore.float32)).tolist()
    [[5.0]]
    """
    if x1.ndim < 2 or x2.ndim < 2:
        raise ValueError(
            f"cdist(): shapes {x1.shape} and {x2.shape}; rows of vectors, two dimensions or more, were expected"
        )
    before = _views.together(x1.shape[:-2], x2.shape[:-2])
    x1, x2 = (each.broadcast_to([*before, *each.shape[-2:]]) for each in (x1, x2))
    return _blocks["cdist"](x1, x2, p, out=out)


def dist(input: Tensor, other: Tensor, p: float = 2, *, out: Tensor | None = None) -> Tensor:
    """The `p`-norm of the difference of two tensors, which are broadcast; without dimensions.

    >>> import infinicore
    >>> infinicore.dist(infinicore.zeros([2]), infinicore.from_list([3.0, 4.0], dtype=infinicore.float32)).item()
    5.0
    """
    shape = _views.together(input.shape, other.shape)
    if out is None:
        out = _core.empty(input._place, input.dtype, [])
    return _blocks["dist"](input.broadcast_to(shape), other.broadcast_to(shape), p, out=out)


def fused_ffn(
    input: Tensor,
    residual: Tensor | None,
    norm_weight: Tensor,
    gate_up_weight: Tensor,
    down_weight: Tensor,
    epsilon: float = 1e-6,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The second half of a layer: `residual + (silu(g) * u) * down_weight^T`, where `g` and `u` are the halves of
    `rms_norm(input) * gate_up_weight^T`."""
    return _blocks["fused_ffn"](input, residual, norm_weight, gate_up_weight, down_weight, epsilon, out=out)
