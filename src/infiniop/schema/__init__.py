"""The operators, each described once. Header, library, documentation and tests follow from these entries."""

from __future__ import annotations

from .activations import OPERATORS as ACTIVATIONS
from .arithmetic import OPERATORS as ARITHMETIC
from .functions import OPERATORS as FUNCTIONS
from .model import Attribute, Operator, Tensor
from .movement import OPERATORS as MOVEMENT
from .products import OPERATORS as PRODUCTS

OPERATORS: tuple[Operator, ...] = tuple(
    sorted((*ARITHMETIC, *FUNCTIONS, *ACTIVATIONS, *MOVEMENT, *PRODUCTS), key=lambda operator: operator.name)
)

__all__ = ["OPERATORS", "Attribute", "Operator", "Tensor"]
