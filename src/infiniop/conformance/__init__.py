"""What the operators bring to the conformance kit: cases made from the schema, for any device type that has operators.

`infinirt conformance` loads this by name. `cases.py` registers; `trials.py` says what is called with what and what has to come of it, on pieces of
memory that `operands.py` makes and judges, both with NumPy; `calls.py` leads to the C functions.
"""

from __future__ import annotations

from . import cases

__all__ = ["cases"]
