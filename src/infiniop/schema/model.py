"""What the schema of an operator is made of. Plain data, with the standard library only: the generator runs before
anything has been built."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

# Element types by the last part of their name in infinicore.h, in groups that operators declare.
FLOATS = ("F8", "F16", "BF16", "F32", "F64")
SIGNED = ("I8", "I16", "I32", "I64")
INTEGERS = (*SIGNED, "U8", "U16", "U32", "U64")
NUMBERS = (*FLOATS, *INTEGERS)
COMPLEX = ("C16", "C32", "C64", "C128")
WHOLE = ("BOOL", *INTEGERS)
REALS = ("BOOL", *NUMBERS)
EVERYTHING = ("BYTE", *REALS, *COMPLEX)

# The C type in which an element is computed; the narrow floating-point types are computed as float and rounded once.
COMPUTED_AS = {
    "F8": "float", "F16": "float", "BF16": "float", "F32": "float", "F64": "double",
    "I8": "int8_t", "I16": "int16_t", "I32": "int32_t", "I64": "int64_t",
    "U8": "uint8_t", "U16": "uint16_t", "U32": "uint32_t", "U64": "uint64_t",
    "BOOL": "uint8_t",
}  # fmt: skip

# What attributes may be in C.
CTYPES = ("float", "double", "int", "bool", "size_t", "int64_t", "char", "uint8_t", "void*", "const char*")
INDICES = ("I32", "I64")

Role = Literal["out", "inout", "in", "unused"]
DtypeRule = Literal["same", "truth", "cast", "wide"]
Kind = Literal["map", "copy", "cast", "constant", "fill", "gemm", "rows", "written", "shaped"]
Place = Literal["element", "column", "row"]


@dataclass(frozen=True)
class Tensor:
    """A tensor of an operator. `inout` ones are the output and an input. `unused` ones stand in the published signature, are checked,
    and never read."""

    name: str
    role: Role = "in"
    place: Place = "element"
    """Of row operators: whether there is an element for each element of the rows, for each column, or for each row."""

    default: float | None = None
    """Of row operators: what all elements of an input are that is null."""

    optional: bool = False
    """Of row operators: whether an output may be null; Python does not ask for such an output. Of written ones: whether it may be null,
    which is None in Python; such an output is written where the caller gives it."""

    dtypes: tuple[str, ...] = ()
    """Of written operators: which types it may have, where that is not the one type of the operator."""

    made_as: str = ""
    """Of such an output: the type that Python makes it with, or the name of the tensor whose type that is."""

    described: bool = True
    """Of written operators: False where the published functions take no descriptor of it; it lies without gaps then."""

    reduced_by: str = ""
    """Of written operators: the attribute that makes one element of it where it is not 0."""

    python: str = ""
    """Its name in Python, where it is not the one that such inputs have in all operators."""

    holds_truth: bool = False
    """Of inputs of element-wise operators: the elements are BOOL, U8 or I8, whatever type the others have. In expressions it is a
    `uint8_t`, of which only whether it is 0 counts."""


@dataclass(frozen=True)
class Each:
    """A value for each element of a row, which later steps know under its name."""

    name: str
    expression: str


@dataclass(frozen=True)
class Reduce:
    """One number for a row, from an expression of each of its elements."""

    name: str
    how: Literal["sum", "max", "min", "prod"]
    expression: str


@dataclass(frozen=True)
class Rows:
    """How an operator on rows computes: steps one after the other, then the results.

    Expressions are those of element-wise operators. They know the inputs and the attributes, `n`, which is how many elements a row
    has, and the names of earlier steps.
    """

    steps: tuple[Each | Reduce, ...]
    results: tuple[tuple[str, str], ...]
    """For each output its name and an expression; those of a row's only element know no inputs."""

    along: Literal["last", "axis", "dims"] = "last"
    """What a row is: the last dimension; the one that a parameter names; or any, of which the parameters are a list and `keepdim`."""

    axis: str = "dim"
    """The name of that parameter in C. In Python it is `dim`."""

    reach: str = ""
    """How many elements of a row take part, from the first on, in terms of `n`, of `row`, the number of the row in the
    dimension before the last, and of `rows`, the size of that dimension. The results of other elements are 0."""

    needs_elements: bool = False
    """Whether rows without elements are refused."""


@dataclass(frozen=True)
class Written:
    """What an operator is whose computation is written out for each device type: `csrc/op/<device type>/written/<file>`.

    Everything else follows from the shapes. A shape is the names of its sizes, with a space between them: the same name is the same size
    in all tensors, and the name of an attribute is its value. Also numbers, `2*d`, `d/2`, `...` for any number of dimensions that
    are the same in all tensors that have them, `...?` for these or none, `<` and `>` for those before and after the one that the attribute `dim` names,
    `3?` for a dimension of that size or none, `d?` for one that may be missing (the first of these are, as many in all tensors, and have size 1
    then), `keepdim?` for one of size 1 where the attribute of that name is true and none otherwise, and `*` for any dimensions, whatever
    other tensors have.
    """

    shapes: dict[str, str]
    trials: Callable[[Any, Any], Any]
    """From NumPy and one of its random generators: dicts of arrays for the inputs and for what is written in place, and of attributes.
    Numbers are float64, and converted; the first dict stands for an ordinary call. An output that may be null is left out where the dict
    has None for it; the reference is told whether it is there, and gives None for it. An array for another output is for the reference
    alone, as is what is neither tensor nor attribute: shapes of outputs that the caller decides."""

    rules: tuple[tuple[str, str], ...] = ()
    """Conditions of the sizes and attributes, in C, each with a sentence that says what has to hold. Where shapes are `*`, functions of
    `csrc/op/written_rules.h` take `plan` and the tensors' numbers, `tensor::input`."""

    in_place: bool = False
    """Whether an output may be an input of the same shape."""

    composed: bool = False
    """Whether it is made of other operators, the same for every device type: the function of its name in `csrc/op/composed`."""


@dataclass(frozen=True)
class InList:
    """Where attributes that follow one another are elements of one list in C."""

    name: str
    ctype: str = "void*"
    """What C takes the list as; null: every element has its default."""

    length: str = ""
    """The attribute that says how many elements there are, of the last attributes of the list; the first ones have their defaults then."""

    bytes: str = ""
    """The attribute that says how many bytes the list has, where that may be fewer than all elements; the last ones are 0 then."""


@dataclass(frozen=True)
class Attribute:
    """A number beside the tensors, given when the descriptor is created or, `at_compute`, with every call."""

    name: str
    ctype: str
    """One of CTYPES, with `const` before it where it was published so, or an enumeration that the operator declares. `void*` is 1 where it is
    not null, and what it points to is not read; `const char*` is one of `names`."""
    doc: str
    at_compute: bool = False
    default: float | None = None
    """What a call from Python may leave out; C functions take every attribute. Infinite ones are written `None` in Python."""

    python: str = ""
    """Its name in Python, where that is another one."""

    repeated: bool = False
    """Whether the published compute call takes it once more; it does not look at it."""

    choices: tuple[str, ...] = ()
    """The words that Python has for 0, 1, ..., where it is not a number there."""

    after: str = ""
    """Of written operators: the tensor behind which C takes it; behind all of them unless said otherwise."""

    in_list: InList | None = None
    """The list that C takes it in."""

    names: tuple[str, ...] = ()
    """Of those that are text in C: the number is the place among these; -1: C was given none of them."""

    @property
    def plain_type(self) -> str:
        return self.ctype if self.ctype.endswith("*") else self.ctype.removeprefix("const ")

    @property
    def is_whole(self) -> bool:
        return self.plain_type not in ("float", "double", "bool")


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
    float16_expression: str = ""
    bfloat16_expression: str = ""
    """What is computed of F16 and BF16 instead: the same with the bits that these types have."""

    bfloat_loop: bool = False
    """On the CPU BF16 is computed with where it lies: for expressions so short that tiles of floats would cost more than they do."""

    scalar_expression: str = ""
    """What is computed when the last input, which may then be null, is not given; its place is taken by an attribute."""

    halves: tuple[str, str] | None = None
    """The two names under which the expression has the halves of the only input, split along its last dimension."""

    kind: Kind = "map"
    rows: Rows | None = None
    """Of kind `rows`, and of no other."""

    written: Written | None = None
    """Of kind `written`, and of no other."""

    declares: str = ""
    """C declarations that its header begins with: enumerations that attributes have."""

    attributes: tuple[Attribute, ...] = ()
    header: str = ""
    """The file below infiniop/ops/, without .h; the name in small letters unless said otherwise."""

    dtype_rule: DtypeRule = "same"
    """`same`: all tensors have one type; `truth`: the output holds 0 and 1; `cast`: the output has any of `dtypes`; `wide`, of rows: as
    `same`, but of integers and BOOL the output is I64."""

    has_workspace: bool = True
    """False where the published functions have no workspace in them."""

    python: str = ""
    """The function's name in Python; the name in snake case unless said otherwise."""

    python_order: tuple[str, ...] = ()
    """The inputs in the order in which Python takes them, where it is not that of `tensors`."""

    symbol: str = ""
    """What calls it between two tensors in Python: "+", "<", ...; "* number" where the second operand is a number; "neg", "abs" and
    "~" before one, and "~ bool" before one of type BOOL."""

    functional: bool = False
    """Whether `infinicore.nn.functional` has it, too."""

    wrapped: bool = False
    """Whether Python's function of that name is written by hand, and calls this one."""

    inplace: bool = False
    """Whether it takes `inplace=` there."""

    shape_parameter: str = ""
    """A parameter that Python takes behind the first input, for callers who are used to it: the shape of the second input."""

    in_python: bool = False
    """Whether its kernels are Python functions, which `infinicore.operator()` was given: kinds `map` and `rows` have no expressions then."""

    shape: Callable[..., Any] | None = None
    """Of kind `shaped`, which only operators in Python have: from the inputs' shapes that of the output, or of each output."""

    examples: tuple[Mapping[str, tuple[int, ...]], ...] = ()
    """Of kind `shaped`: shapes of the inputs, by their names, that tests take."""

    published: bool = True
    """False for operators that InfiniCore's header does not have."""

    domain: tuple[float, float] = (-4.0, 4.0)
    """Where tests take their ordinary inputs from; special values come on top."""

    extremes: bool = True
    """Whether tests take the largest and smallest numbers, too: False where they leave the type's range on the way."""

    narrow_ulps: float = 0.0
    """Of written operators whose narrow inputs are multiplied as they are: the same in units of the narrow type's largest result."""

    typed_reference: bool = False
    """Whether the reference takes floats in their own type, too: where that decides what the result is."""

    ulps: float = 4.0
    """How far a result may be from the rounded reference, in units of the last place."""

    distance: float = 0.0
    """Of element-wise operators: how far a result of F32 may be in any case, where it is a small difference of larger numbers."""

    def tolerance(self, units: Any, dtype: str) -> Any:
        """How far each result of an element-wise operator may be from the exact one; `units` are those of its last place, where it is."""
        # Narrow types are computed as float: there is nothing but their own rounding to see.
        ulps = self.ulps if dtype in ("F32", "F64") else min(self.ulps, 0.1)
        least = self.distance if dtype == "F32" else 0.0
        return units * (ulps + 0.5) + least

    def __post_init__(self) -> None:
        outputs = [tensor.name for tensor in self.outputs]
        if (self.kind == "rows") != (self.rows is not None):
            raise ValueError(f"{self.name}: `rows` has steps, the other kinds have none")
        if (self.kind == "shaped") != (self.shape is not None and bool(self.examples)):
            raise ValueError(
                f"{self.name}: `shaped` has a rule for shapes and examples, the other kinds have none"
            )
        if self.in_python:
            self._check_python(outputs)
        elif self.kind == "shaped":
            raise ValueError(f"{self.name}: only operators in Python have a rule of their own for shapes")
        elif self.rows is not None:
            if [name for name, _ in self.rows.results] != outputs:
                raise ValueError(f"{self.name}: each of {outputs} has a result, in this order")
        elif self.written is not None:
            if [*self.written.shapes] != [tensor.name for tensor in self.tensors]:
                raise ValueError(f"{self.name}: each tensor has a shape, in their order")
        elif len(outputs) != 1:
            raise ValueError(f"{self.name}: an operator has one output, not {outputs}")
        if (self.kind == "written") != (self.written is not None):
            raise ValueError(f"{self.name}: `written` has shapes, the other kinds have none")
        if (self.kind == "map" and not self.in_python) != bool(self.expression):
            raise ValueError(f"{self.name}: `map` has an expression, the other kinds have none")
        if any(tensor.holds_truth for tensor in self.inputs) and (
            self.kind != "map" or all(tensor.holds_truth for tensor in self.inputs)
        ):
            raise ValueError(f"{self.name}: truth stands beside an input of another type, in an expression")
        if self.halves and len(self.inputs) != 1:
            raise ValueError(f"{self.name}: halves of one input, not of {len(self.inputs)}")
        arguments = [tensor.name for tensor in self.tensors if tensor.role in ("in", "inout")]
        if self.python_order and sorted(self.python_order) != sorted(arguments):
            raise ValueError(
                f"{self.name}: python_order has the names of the inputs, not {self.python_order}"
            )
        integers = [dtype for dtype in self.dtypes if dtype in INTEGERS]
        if self.inplace and not self.functional:
            raise ValueError(f"{self.name}: only functions of nn.functional take inplace=")
        if self.integer_expression and not integers:
            raise ValueError(f"{self.name}: an integer expression, but no integers")

    def _check_python(self, outputs: list[str]) -> None:
        if self.kind not in ("map", "rows", "shaped"):
            raise ValueError(
                f"{self.name}: operators in Python are `map`, `rows` or `shaped`, not `{self.kind}`"
            )
        if not outputs or (self.kind == "map" and len(outputs) > 1):
            raise ValueError(
                f"{self.name}: `{self.kind}` has one output{'' if self.kind == 'map' else ' or more'}, not {outputs}"
            )
        if any(tensor.role not in ("in", "out") for tensor in self.tensors) or not self.inputs:
            raise ValueError(f"{self.name}: there are outputs, and inputs, and nothing that is both")
        examples = [sorted(example) for example in self.examples]
        if any(names != sorted(tensor.name for tensor in self.inputs) for names in examples):
            raise ValueError(f"{self.name}: an example has the shape of each input, not of {examples}")

    @property
    def file(self) -> str:
        return self.header or self.name.lower()

    @property
    def stem(self) -> str:
        """The name of its files without their folder."""
        return self.file.rsplit("/", 1)[-1]

    @property
    def python_name(self) -> str:
        return self.python or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.name).lower()

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        return tuple(tensor for tensor in self.tensors if tensor.role in ("out", "inout"))

    @property
    def output(self) -> Tensor:
        """The first of them."""
        return self.outputs[0]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Of written operators without those that are outputs as well."""
        roles = ("in",) if self.written else ("in", "inout")
        return tuple(tensor for tensor in self.tensors if tensor.role in roles)

    @property
    def ordered(self) -> tuple[Tensor, ...]:
        """The tensors as the library keeps them: outputs, inputs, what is not used. One that is both, or
        halves, stands there twice."""
        unused = tuple(tensor for tensor in self.tensors if tensor.role == "unused")
        return (*self.outputs, *self.inputs, *(self.inputs if self.halves else ()), *unused)

    @property
    def operands(self) -> tuple[str, ...]:
        """What the expression calls its inputs."""
        return self.halves or tuple(tensor.name for tensor in self.inputs)

    @property
    def truths(self) -> tuple[str, ...]:
        """Those of them that hold truth, whatever type the others have."""
        return tuple(tensor.name for tensor in self.inputs if tensor.holds_truth)

    def expression_for(self, ctype: str) -> str:
        """The expression for elements computed as `ctype`."""
        integers = {COMPUTED_AS[name] for name in INTEGERS}
        return self.integer_expression if ctype in integers and self.integer_expression else self.expression

    def computed_as(self, dtype: str) -> str:
        """The C type that elements are computed in. Rows of integers are reduced in 64 bits, whose wrapping around does not depend on
        a sign; only where the result has the input's type, or is truth, the types that have no sign stay what they are."""
        if self.kind != "rows" or dtype not in WHOLE:
            return COMPUTED_AS[dtype]
        if self.dtype_rule != "wide" and dtype in ("BOOL", "U8", "U64"):
            return COMPUTED_AS[dtype]
        return "int64_t"

    @property
    def computed_types(self) -> tuple[str, ...]:
        """The C types that there are kernels for, each once."""
        computes = self.kind in ("map", "rows")
        return tuple(dict.fromkeys(self.computed_as(dtype) for dtype in self.dtypes)) if computes else ()

    def result_type(self, dtype: str) -> str:
        """The element type of an output that a caller does not choose, for inputs of type `dtype`."""
        if self.dtype_rule == "truth":
            return "BOOL"
        return "I64" if self.dtype_rule == "wide" and dtype in WHOLE else dtype
