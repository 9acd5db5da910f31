"""The operators, each described once. Header, library, documentation and tests follow from these entries."""

from __future__ import annotations

from .activations import OPERATORS as ACTIVATIONS
from .arithmetic import OPERATORS as ARITHMETIC
from .attention import OPERATORS as ATTENTION
from .channel_norms import OPERATORS as CHANNEL_NORMS
from .experts import OPERATORS as EXPERTS
from .functions import OPERATORS as FUNCTIONS
from .geometry import OPERATORS as GEOMETRY
from .indexing import OPERATORS as INDEXING
from .logic import OPERATORS as LOGIC
from .losses import OPERATORS as LOSSES
from .model import Attribute, Operator, Tensor
from .movement import OPERATORS as MOVEMENT
from .moving import OPERATORS as MOVING
from .mxfp4 import OPERATORS as MXFP4
from .norms import OPERATORS as NORMS
from .positions import OPERATORS as POSITIONS
from .products import OPERATORS as PRODUCTS
from .quantisation import OPERATORS as QUANTISATION
from .reductions import OPERATORS as REDUCTIONS
from .resizing import OPERATORS as RESIZING
from .rounding import OPERATORS as ROUNDING
from .routing import OPERATORS as ROUTING
from .scans import OPERATORS as SCANS
from .selection import OPERATORS as SELECTION
from .sequences import OPERATORS as SEQUENCES
from .spatial import OPERATORS as SPATIAL
from .vectors import OPERATORS as VECTORS

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
    "Distances and determinants": GEOMETRY,
    "Elements that indices name": INDEXING,
    "Elements at other places": MOVING,
    "Order and choice": SELECTION,
    "All up to an element": SCANS,
    "Pairs of vectors": VECTORS,
    "Positions and attention": (*ATTENTION, *POSITIONS),
    "Experts of tokens": (*ROUTING, *EXPERTS),
    "Sequences with a state": SEQUENCES,
    "Space: convolution and pooling": SPATIAL,
    "Space: other sizes": RESIZING,
    "Space: norms of channels": CHANNEL_NORMS,
    "Few bits with scales": (*QUANTISATION, *MXFP4),
    "Losses": LOSSES,
}
# Of written operators those that move and compare elements more than they compute: their kernels for the CPU, csrc/op/cpu/written_once, are
# compiled once for every processor, not for each instruction set, which would take longer than all others together.
# All of these groups, but for what has more to compute.
_COMPUTING = ("Conv", "RandomSample")
COMPILED_ONCE: tuple[Operator, ...] = tuple(
    operator
    for operator in (*INDEXING, *MOVING, *SELECTION, *VECTORS, *SCANS, *RESIZING, *LOSSES, *SPATIAL)
    if operator.name not in _COMPUTING
)
OPERATORS: tuple[Operator, ...] = tuple(
    sorted((operator for group in GROUPS.values() for operator in group), key=lambda operator: operator.name)
)

__all__ = ["COMPILED_ONCE", "GROUPS", "OPERATORS", "Attribute", "Operator", "Tensor"]
