"""Tensors, operators, recorded graphs, and the runtime that carries them, after InfiniCore's Python package.

>>> import infinicore
>>> x = infinicore.from_list([1.0, -2.0], dtype=infinicore.float32)
>>> infinicore.nn.functional.relu(x).tolist()
[1.0, 0.0]
"""

from __future__ import annotations

import infinirt as _infinirt  # noqa: F401  # the objects that _core is built on

from . import creation, functions, nn, operators
from ._tensor_str import get_printoptions, printoptions, set_printoptions
from .creation import *  # noqa: F403
from .dtype import (
    bfloat16,
    bool,
    byte,
    cdouble,
    cfloat,
    chalf,
    complex16,
    complex32,
    complex64,
    complex128,
    double,
    dtype,
    float,
    float8,
    float16,
    float32,
    float64,
    from_numpy_dtype,
    from_torch_dtype,
    half,
    int,
    int8,
    int16,
    int32,
    int64,
    long,
    short,
    to_numpy_dtype,
    to_torch_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .functions import *  # noqa: F403
from .operators import *  # noqa: F403
from .recording import Graph, record
from .tensor import Tensor

__all__ = [
    "Graph",
    "Tensor",
    "bfloat16",
    "bool",
    "byte",
    "cdouble",
    "cfloat",
    "chalf",
    "complex16",
    "complex32",
    "complex64",
    "complex128",
    "double",
    "dtype",
    "float",
    "float8",
    "float16",
    "float32",
    "float64",
    "from_numpy_dtype",
    "from_torch_dtype",
    "get_printoptions",
    "half",
    "int",
    "int8",
    "int16",
    "int32",
    "int64",
    "long",
    "nn",
    "printoptions",
    "record",
    "set_printoptions",
    "short",
    "to_numpy_dtype",
    "to_torch_dtype",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
__all__ += creation.__all__
__all__ += functions.__all__
__all__ += operators.__all__
