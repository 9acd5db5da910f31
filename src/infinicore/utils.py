"""Conversions of element types under the names that InfiniCore gives them."""

from __future__ import annotations

from .dtype import from_numpy_dtype as numpy_to_infinicore_dtype
from .dtype import from_torch_dtype as to_infinicore_dtype
from .dtype import to_numpy_dtype as infinicore_to_numpy_dtype
from .dtype import to_torch_dtype

__all__ = [
    "infinicore_to_numpy_dtype",
    "numpy_to_infinicore_dtype",
    "to_infinicore_dtype",
    "to_torch_dtype",
]
