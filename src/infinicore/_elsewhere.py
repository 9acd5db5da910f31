"""What PyTorch and NumPy have as attributes of tensors, and where it is here: said when such a name is tried.

As in `infinirt._other_names`, the names stand in the class as attributes that cannot be read. There is no metaclass: with one,
`isinstance(2.0, Tensor)` would take twice as long. So `dir(Tensor)` has these names, and `dir()` of a tensor does not.
"""

from __future__ import annotations

from infinirt._other_names import Elsewhere, real_names

__all__ = ["FUNCTIONS", "OTHER_NAMES", "add_other_names", "readable_names"]

# Functions of infinicore that are methods elsewhere.
FUNCTIONS = (
    *("sum", "mean", "prod", "var", "amax", "amin", "argmax", "argmin", "any", "all", "cumsum", "cumprod", "logsumexp"),
    *("sort", "argsort", "topk", "kthvalue", "softmax", "log_softmax", "relu", "gelu", "silu", "sigmoid", "tanh"),
    *("exp", "log", "log2", "log10", "sqrt", "rsqrt", "abs", "sin", "cos", "tan", "pow", "square", "reciprocal", "neg"),
    *("sign", "erf", "floor", "ceil", "round", "clamp", "clip", "isnan", "isinf", "isfinite", "isclose"),
    *("add", "sub", "mul", "div", "matmul", "mm", "bmm", "mv", "dot", "addmm", "maximum", "minimum"),
    *("eq", "ne", "lt", "le", "gt", "ge", "equal", "where", "gather", "scatter", "scatter_add", "index_select", "index_add"),
    *("index_copy", "masked_fill", "masked_select", "take", "tile", "chunk", "split", "flip", "roll", "tril", "triu"),
    *("repeat_interleave", "unfold"),
)  # fmt: skip

_NO_AUTOGRAD = "there is no autograd here, tensors have no gradients"

OTHER_NAMES: dict[str, str] = {
    **{name: f"it is a function here, infinicore.{name}(...)" for name in FUNCTIONS},
    **{
        f"{name}_": f"it is infinicore.{name}(tensor, other, out=tensor) here"
        for name in ("add", "sub", "mul", "div")
    },
    "max": "it is a function here, infinicore.amax(...); argmax says where",
    "min": "it is a function here, infinicore.amin(...); argmin says where",
    "std": "it is infinicore.sqrt(infinicore.var(...)) here",
    "repeat": "it is a function here, infinicore.tile(...)",
    "cpu": 'it is to("cpu") here',
    "cuda": 'it is to("cuda") here',
    "float": "it is to(infinicore.float32) here",
    "half": "it is to(infinicore.float16) here",
    "bfloat16": "it is to(infinicore.bfloat16) here",
    "double": "it is to(infinicore.float64) here",
    "int": "it is to(infinicore.int32) here",
    "long": "it is to(infinicore.int64) here",
    "bool": "it is to(infinicore.bool) here",
    "type": "it is to(dtype) here; dtype says which it has",
    "astype": "it is to(dtype) here",
    "dim": "it is called ndim here, without ()",
    "nbytes": "it is numel() * dtype.itemsize here",
    "itemsize": "it is dtype.itemsize here",
    "element_size": "it is dtype.itemsize here, without ()",
    "is_floating_point": "it is dtype.is_floating_point here, without ()",
    "is_cuda": "device.type says it here",
    "is_cpu": "device.type says it here",
    "get_device": "device.index says it here",
    "t": "it is called T here, without ()",
    "flatten": "it is reshape(-1) here",
    "ravel": "it is reshape(-1) here",
    "expand": "it is called broadcast_to(size) here",
    "copy": "it is called clone() here",
    "detach": _NO_AUTOGRAD,
    "backward": _NO_AUTOGRAD,
    "requires_grad": _NO_AUTOGRAD,
    "requires_grad_": _NO_AUTOGRAD,
    "grad": _NO_AUTOGRAD,
}


def add_other_names(tensor: type) -> None:
    """Puts them into the class of tensors."""
    for name, advice in OTHER_NAMES.items():
        setattr(tensor, name, Elsewhere(name, advice))


def readable_names(self: object) -> list[str]:
    """The `__dir__` of tensors: what they have."""
    return real_names(type(self), object.__dir__(self))
