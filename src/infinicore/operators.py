"""Operators as functions. What there is, and which arguments each takes, follows from `infiniop.schema`."""

from __future__ import annotations

from . import _core

globals().update(_core.operators)
__all__ = sorted(_core.operators)
