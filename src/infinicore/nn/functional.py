"""Functions of neural networks: operators, some with `inplace=`, which follow from `infiniop.schema`, and layers made of them."""

from __future__ import annotations

from .. import _core
from . import layers, normalisation, spatial

globals().update(_core.functional)
for _module in (layers, normalisation, spatial):
    globals().update({name: getattr(_module, name) for name in _module.__all__})
__all__ = sorted([*_core.functional, *layers.__all__, *normalisation.__all__, *spatial.__all__])
