"""The operators, each described once. Header, library, documentation and tests follow from these entries."""

from __future__ import annotations

from .activations import OPERATORS as ACTIVATIONS
from .arithmetic import OPERATORS as ARITHMETIC
from .attention import OPERATORS as ATTENTION
from .channel_norms import OPERATORS as CHANNEL_NORMS
from .functions import OPERATORS as FUNCTIONS
from .indexing import OPERATORS as INDEXING
from .logic import OPERATORS as LOGIC
from .model import Attribute, Operator, Tensor
from .movement import OPERATORS as MOVEMENT
from .norms import OPERATORS as NORMS
from .products import OPERATORS as PRODUCTS
from .reductions import OPERATORS as REDUCTIONS
from .resizing import OPERATORS as RESIZING
from .rounding import OPERATORS as ROUNDING
from .spatial import OPERATORS as SPATIAL

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
    "Space: convolution and pooling": SPATIAL,
    "Space: other sizes": RESIZING,
    "Space: norms of channels": CHANNEL_NORMS,
}
OPERATORS: tuple[Operator, ...] = tuple(
    sorted((operator for group in GROUPS.values() for operator in group), key=lambda operator: operator.name)
)

__all__ = ["GROUPS", "OPERATORS", "Attribute", "Operator", "Tensor"]
