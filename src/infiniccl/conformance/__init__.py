"""What collectives bring to the conformance kit: cases for any device type that has them. `infinirt conformance` loads this by name."""

from __future__ import annotations

from . import cases

__all__ = ["cases"]
