"""Functions of neural networks: operators, some with `inplace=`. They follow from `infiniop.schema`."""

from __future__ import annotations

from .. import _core

globals().update(_core.functional)
__all__ = sorted(_core.functional)
