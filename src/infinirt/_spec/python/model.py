"""What a Python function of the flat API is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Gil = Literal["core", "keep", "copy", "allocation", "release"]
"""`core`: never released, the call enters no backend. `keep`: released only where the call may have to wait for a function
that needs the lock. `copy`: as `keep` for a copy within device memory, as `release` for others. `allocation`: as `keep` on the
interpreter's only thread. `release`: always released, the call can block."""


@dataclass(frozen=True)
class Input:
    """A Python parameter and the C++ that converts it.

    `declare` and `convert` are C++ with `{var}`, `{slot}` (the Python object) and `{what}` (the name for messages);
    `passed` is the expression that the C call gets. `count` names the parameter that says how many elements of this array
    the C function will read.
    """

    name: str
    annotation: str
    declare: str
    convert: str
    passed: str
    count: str | None = None
    may_be_absent: bool = False
    """The array may be empty although the count is not 0."""

    @property
    def var(self) -> str:
        return f"in_{self.name}"


@dataclass(frozen=True)
class Output:
    """A result and the C++ that makes it. `passed` is what the C call gets, `make` the new Python object."""

    name: str
    annotation: str
    declare: str
    passed: str
    make: str
    is_small_number: bool = False
    """It fits into a C `int`, and is often one of the first few."""
    is_address: bool = False
    """An address, one of few that come again and again."""

    @property
    def var(self) -> str:
        return f"out_{self.name}"


@dataclass(frozen=True)
class Shape:
    """One function of the module, as generated code: inputs in Python's order, C arguments in C's."""

    name: str
    c_name: str
    doc: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    c_arguments: tuple[str, ...]
    gil: Gil
    query: str | None = None
    """The C function that tells, for the same arguments, whether this one would wait."""
    returns_text: Literal["", "bytes", "str"] = ""
    """The C function returns text instead of an error code."""
    older: Shape | None = None
    """An earlier shape of the same function with another number of arguments, accepted too."""


@dataclass(frozen=True)
class ByHand:
    """One function of the module whose body is written by hand in csrc/bindings."""

    name: str
    doc: str
    parameters: tuple[tuple[str, str], ...]
    """(name, annotation); a default follows the annotation after `=`."""
    returns: tuple[str, ...]
    """Annotations of the outputs, after the error code."""
    uses: tuple[str, ...] = field(default=())
    """C functions that the body calls, this one's namesake not counted unless listed."""

    @property
    def required(self) -> int:
        return sum("=" not in annotation for _, annotation in self.parameters)
