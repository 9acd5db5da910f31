"""Functions of neural networks: operators, some with `inplace=`, which follow from `infiniop.schema`, and layers made of them."""

from __future__ import annotations

from types import FunctionType

from .. import _core
from .._arguments import explained
from . import layers, normalisation, spatial

globals().update(_core.functional)
# What a network calls for every token looks at its arguments itself.
_QUICK = ("flash_attention", "linear", "scaled_dot_product_attention")
for _module in (layers, normalisation, spatial):
    for _name in _module.__all__:
        _given = getattr(_module, _name)
        _wraps = isinstance(_given, FunctionType) and _name not in _QUICK
        globals()[_name] = explained(_given, __name__) if _wraps else _given
__all__ = sorted([*_core.functional, *layers.__all__, *normalisation.__all__, *spatial.__all__])
