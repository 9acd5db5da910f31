"""Neural networks."""

from __future__ import annotations

from . import functional, layers, normalisation, spatial

__all__ = ["functional", "layers", "normalisation", "spatial"]
