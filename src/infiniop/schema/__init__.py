"""The operators, each described once. Header, library, documentation and tests follow from these entries."""

from __future__ import annotations

from .activations import OPERATORS as ACTIVATIONS
from .arithmetic import OPERATORS as ARITHMETIC
from .functions import OPERATORS as FUNCTIONS
from .model import Attribute, Operator, Tensor
from .movement import OPERATORS as MOVEMENT
from .products import OPERATORS as PRODUCTS

# As a reader looks for them.
GROUPS: dict[str, tuple[Operator, ...]] = {
    "Arithmetic and comparisons": ARITHMETIC,
    "Functions of one number": FUNCTIONS,
    "Activations": ACTIVATIONS,
    "Copies, conversions, constants": MOVEMENT,
    "Products of matrices": PRODUCTS,
}
OPERATORS: tuple[Operator, ...] = tuple(
    sorted((operator for group in GROUPS.values() for operator in group), key=lambda operator: operator.name)
)

__all__ = ["GROUPS", "OPERATORS", "Attribute", "Operator", "Tensor"]
