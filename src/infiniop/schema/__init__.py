"""The operators, each described once. Header, library, documentation and tests follow from these entries."""

from __future__ import annotations

from .activations import OPERATORS as ACTIVATIONS
from .arithmetic import OPERATORS as ARITHMETIC
from .attention import OPERATORS as ATTENTION
from .functions import OPERATORS as FUNCTIONS
from .indexing import OPERATORS as INDEXING
from .logic import OPERATORS as LOGIC
from .model import Attribute, Operator, Tensor
from .movement import OPERATORS as MOVEMENT
from .norms import OPERATORS as NORMS
from .products import OPERATORS as PRODUCTS
from .reductions import OPERATORS as REDUCTIONS
from .rounding import OPERATORS as ROUNDING
from .routing import OPERATORS as ROUTING
from .scans import OPERATORS as SCANS
from .selection import OPERATORS as SELECTION

# As a reader looks for them.
GROUPS: dict[str, tuple[Operator, ...]] = {
    "Arithmetic and comparisons": ARITHMETIC,
    "Bits, truth, choice": LOGIC,
    "Functions of one number": FUNCTIONS,
    "Signs and rounding": ROUNDING,
    "Activations": ACTIVATIONS,
    "Rows as a whole": NORMS,
    "One number from each row": REDUCTIONS,
    "Copies, conversions, constants": MOVEMENT,
    "Products of matrices": PRODUCTS,
    "Elements that indices name": INDEXING,
    "Positions and attention": ATTENTION,
    "Order and choice": SELECTION,
    "All up to an element": SCANS,
    "Experts of tokens": ROUTING,
}
OPERATORS: tuple[Operator, ...] = tuple(
    sorted((operator for group in GROUPS.values() for operator in group), key=lambda operator: operator.name)
)

__all__ = ["GROUPS", "OPERATORS", "Attribute", "Operator", "Tensor"]
