"""Neural networks."""

from __future__ import annotations

from . import functional, layers

__all__ = ["functional", "layers"]
