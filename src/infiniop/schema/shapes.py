"""The signatures that many operators share."""

from __future__ import annotations

from typing import Any

from .model import Operator, Tensor


def unary(name: str, expression: str, reference: Any, doc: str, **more: Any) -> Operator:
    """`y` from `x`, element by element."""
    return Operator(
        name, doc, (Tensor("y", "out"), Tensor("x")), more.pop("dtypes"), reference, expression, **more
    )


def binary(name: str, expression: str, reference: Any, doc: str, **more: Any) -> Operator:
    """`c` from `a` and `b`, element by element."""
    tensors = (Tensor("c", "out"), Tensor("a"), Tensor("b"))
    return Operator(name, doc, tensors, more.pop("dtypes"), reference, expression, **more)
