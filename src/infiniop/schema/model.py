"""What the schema of an operator is made of. Plain data, with the standard library only: the generator runs before
anything has been built."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

# Element types by the last part of their name in infinicore.h, in groups that operators declare.
FLOATS = ("F8", "F16", "BF16", "F32", "F64")
SIGNED = ("I8", "I16", "I32", "I64")
INTEGERS = (*SIGNED, "U8", "U16", "U32", "U64")
NUMBERS = (*FLOATS, *INTEGERS)
COMPLEX = ("C16", "C32", "C64", "C128")
REALS = ("BOOL", *NUMBERS)
EVERYTHING = ("BYTE", *REALS, *COMPLEX)

# The C type in which an element is computed; the narrow floating-point types are computed as float and rounded once.
COMPUTED_AS = {
    "F8": "float", "F16": "float", "BF16": "float", "F32": "float", "F64": "double",
    "I8": "int8_t", "I16": "int16_t", "I32": "int32_t", "I64": "int64_t",
    "U8": "uint8_t", "U16": "uint16_t", "U32": "uint32_t", "U64": "uint64_t",
}  # fmt: skip

Role = Literal["out", "inout", "in", "unused"]
DtypeRule = Literal["same", "truth", "cast"]
Kind = Literal["map", "copy", "cast", "constant", "fill", "gemm"]


@dataclass(frozen=True)
class Tensor:
    """A tensor of an operator. `inout` ones are the output and an input. `unused` ones stand in the published signature, are checked,
    and never read."""

    name: str
    role: Role = "in"


@dataclass(frozen=True)
class Attribute:
    """A number beside the tensors, given when the descriptor is created or, `at_compute`, with every call."""

    name: str
    ctype: Literal["float", "double"]
    doc: str
    at_compute: bool = False
    default: float | None = None
    """What a call from Python may leave out; C functions take every attribute."""


@dataclass(frozen=True)
class Operator:
    """One operator; everything that is generated for it follows from this.

    `expression` gives an element of the result from elements of the inputs and from the attributes, all under their names,
    in what C++ and CUDA C++ have in common; the functions it may call stand in `csrc/op/expression.h`. All values have
    one type: that of the tensors, or float for the narrow floating-point types. `integer_expression` replaces it for integers.

    `reference` computes the same with NumPy (its first argument) in float64; integers get arrays of their own type.
    """

    name: str
    doc: str
    tensors: tuple[Tensor, ...]
    """In the order in which creating the descriptor takes them."""

    dtypes: tuple[str, ...]
    """Which element types the inputs may have, or the output where there is no input."""

    reference: Callable[..., Any]
    expression: str = ""
    integer_expression: str = ""
    scalar_expression: str = ""
    """What is computed when the last input, which may then be null, is not given; its place is taken by an attribute."""

    halves: tuple[str, str] | None = None
    """The two names under which the expression has the halves of the only input, split along its last dimension."""

    kind: Kind = "map"
    attributes: tuple[Attribute, ...] = ()
    header: str = ""
    """The file below infiniop/ops/, without .h; the name in small letters unless said otherwise."""

    dtype_rule: DtypeRule = "same"
    """`same`: all tensors have one type; `truth`: the output holds 0 and 1; `cast`: the output has any of `dtypes`."""

    has_workspace: bool = True
    """False where the published functions have no workspace in them."""

    python: str = ""
    """The function's name in Python; the name in snake case unless said otherwise."""

    python_order: tuple[str, ...] = ()
    """The inputs in the order in which Python takes them, where it is not that of `tensors`."""

    symbol: str = ""
    """What calls it between two tensors in Python: "+", "<", ...; "* number" where the second operand is a number."""

    functional: bool = False
    """Whether `infinicore.nn.functional` has it, too."""

    inplace: bool = False
    """Whether it takes `inplace=` there."""

    published: bool = True
    """False for operators that InfiniCore's header does not have."""

    domain: tuple[float, float] = (-4.0, 4.0)
    """Where tests take their ordinary inputs from; special values come on top."""

    extremes: bool = True
    """Whether tests take the largest and smallest numbers, too: False where they leave the type's range on the way."""

    ulps: float = 4.0
    """How far a result may be from the rounded reference, in units of the last place."""

    def __post_init__(self) -> None:
        outputs = [tensor.name for tensor in self.tensors if tensor.role in ("out", "inout")]
        if len(outputs) != 1:
            raise ValueError(f"{self.name}: an operator has one output, not {outputs}")
        if (self.kind == "map") != bool(self.expression):
            raise ValueError(f"{self.name}: `map` has an expression, the other kinds have none")
        if self.halves and len(self.inputs) != 1:
            raise ValueError(f"{self.name}: halves of one input, not of {len(self.inputs)}")
        if self.python_order and sorted(self.python_order) != sorted(tensor.name for tensor in self.inputs):
            raise ValueError(
                f"{self.name}: python_order has the names of the inputs, not {self.python_order}"
            )
        integers = [dtype for dtype in self.dtypes if dtype in INTEGERS]
        if self.inplace and not self.functional:
            raise ValueError(f"{self.name}: only functions of nn.functional take inplace=")
        if self.integer_expression and not integers:
            raise ValueError(f"{self.name}: an integer expression, but no integers")

    @property
    def file(self) -> str:
        return self.header or self.name.lower()

    @property
    def python_name(self) -> str:
        return self.python or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.name).lower()

    @property
    def output(self) -> Tensor:
        return next(tensor for tensor in self.tensors if tensor.role in ("out", "inout"))

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(tensor for tensor in self.tensors if tensor.role in ("in", "inout"))

    @property
    def ordered(self) -> tuple[Tensor, ...]:
        """The tensors as the library keeps them: the output, the inputs, what is not used. One that is both, or
        halves, stands there twice."""
        unused = tuple(tensor for tensor in self.tensors if tensor.role == "unused")
        return (self.output, *self.inputs, *(self.inputs if self.halves else ()), *unused)

    @property
    def operands(self) -> tuple[str, ...]:
        """What the expression calls its inputs."""
        return self.halves or tuple(tensor.name for tensor in self.inputs)

    def expression_for(self, ctype: str) -> str:
        """The expression for elements computed as `ctype`."""
        integers = {COMPUTED_AS[name] for name in INTEGERS}
        return self.integer_expression if ctype in integers and self.integer_expression else self.expression

    @property
    def computed_types(self) -> tuple[str, ...]:
        """The C types that there are kernels for, each once."""
        return tuple(dict.fromkeys(COMPUTED_AS[dtype] for dtype in self.dtypes)) if self.kind == "map" else ()
