"""Functions of neural networks: operators, some with `inplace=`, which follow from `infiniop.schema`, and layers made of them."""

from __future__ import annotations

from .. import _core
from . import layers

globals().update(_core.functional)
globals().update({name: getattr(layers, name) for name in layers.__all__})
__all__ = sorted([*_core.functional, *layers.__all__])
