"""The operators as Python calls them: a table of rows for `infinicore._core`, and the type stubs of its functions."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from .. import OPERATORS
from ..model import Attribute, Operator, Tensor
from . import written
from .header import declarations, in_create_order, signatures

# The kinds whose output has a shape that this table's reader can work out. Others need a rule in
# csrc/bindings/infinicore/operators.cpp first.
RULES = {
    "map": "Broadcast", "copy": "Broadcast", "cast": "Broadcast", "constant": "Given", "fill": "Given", "gemm": "Product",
    "rows": "Rows", "written": "Written",
}  # fmt: skip
CALLABLE = tuple(operator for operator in OPERATORS if operator.kind in RULES)
# What `infinicore` offers under the operators' own names; the rest is used by functions that are written out.
PUBLIC = tuple(
    operator
    for operator in CALLABLE
    if operator.kind in ("map", "cast", "rows", "written") and not operator.wrapped
)

# Inputs are named in Python as PyTorch and InfiniCore name them.
COMMON_NAMES = {"x": "input", "a": "input", "b": "other", "src": "input"}


def copies(operator: Operator) -> bool:
    """Whether it moves elements from one place to another, and no more."""
    return operator.kind == "copy" and not operator.attributes


def attributes_of(operator: Operator) -> tuple[Attribute, ...]:
    """Those that Python gives. A number in place of the last tensor is a tensor there, so that it needs no attribute for it."""
    return () if operator.scalar_expression else operator.attributes


def inputs_of(operator: Operator) -> tuple[Tensor, ...]:
    """The inputs, as Python orders them."""
    by_name = {tensor.name: tensor for tensor in operator.inputs}
    return tuple(by_name[name] for name in operator.python_order or by_name if name in by_name)


def arguments_of(operator: Operator) -> list[Tensor]:
    """Of written operators: the tensors that a call gives, in their order."""
    given = {tensor.name: tensor for tensor in operator.tensors if tensor.role in ("in", "inout")}
    return [given[name] for name in operator.python_order or given]


def written_input(operator: Operator) -> int:
    """Which of those is the output as well; -1: none, and the output is `out`."""
    roles = [tensor.role for tensor in inputs_of(operator) if not operator.written]
    return roles.index("inout") if "inout" in roles else -1


def parameter(operator: Operator, tensor: Tensor) -> str:
    """An input's name. Where one of them is written, the names of linear algebra are kept, as InfiniCore does."""
    if tensor.python:
        return tensor.python
    return tensor.name if written_input(operator) >= 0 else COMMON_NAMES.get(tensor.name, tensor.name)


def outputs_of(operator: Operator) -> tuple[Tensor, ...]:
    """Those that Python has: what may be left out is left out there."""
    return tuple(tensor for tensor in operator.outputs if operator.written or not tensor.optional)


def is_argument(operator: Operator, output: Tensor) -> bool:
    """Of written operators: whether an output is read as well, and given as inputs are."""
    return operator.written is not None and output.role == "inout"


def output_parameters(operator: Operator) -> list[str]:
    """The first one that is only written is `out`, whatever it is called in C."""
    if operator.written:
        names, first = [], True
        for tensor in operator.outputs:
            argument = is_argument(operator, tensor)
            names.append(tensor.python or (tensor.name if argument or not first else "out"))
            first = first and argument
        return names
    return ["out", *(tensor.python or tensor.name for tensor in outputs_of(operator)[1:])]


def attribute_name(attribute: Attribute) -> str:
    return attribute.python or attribute.name


def along(operator: Operator) -> str:
    return operator.rows.along if operator.rows else "none"


def shape_rule(operator: Operator) -> str:
    return "Half" if operator.halves else RULES[operator.kind]


def number(value: float | None) -> str:
    if value is not None and math.isinf(value):
        return "-__builtin_huge_val()" if value < 0 else "__builtin_huge_val()"
    return "0" if value is None else repr(float(value))


def row(operator: Operator) -> list[str]:
    """One row, and the four functions that lead from it to the operator's own."""
    name, attributes = operator.name, attributes_of(operator)
    early = [f"attributes[{i}]" for i, a in enumerate(attributes) if not a.at_compute]
    late = [f"attributes[{i}]" for i, a in enumerate(attributes) if a.at_compute]
    early_values = early or ["0"] * sum(not a.at_compute for a in operator.attributes)
    late_values = late or ["0"] * sum(a.at_compute for a in operator.attributes)
    unused_tensors = [
        tensor
        for tensor in operator.tensors
        if tensor.role == "unused" or (tensor.optional and not operator.written)
    ]
    outputs = outputs_of(operator)
    tensors = [*outputs, *inputs_of(operator), *unused_tensors]
    places = {tensor.name: str(i) for i, tensor in enumerate(tensors)}
    given = {tensor.name: f"tensors[{places[tensor.name]}]" for tensor in operator.tensors}
    addresses = [f"addresses[{places[tensor.name]}]" for tensor in operator.tensors]
    workspace = ["workspace", "workspace_size"] if operator.has_workspace else []
    element = ["element"] if operator.kind == "fill" else []
    typed = f"static_cast<infiniop{name}Descriptor_t>(descriptor)"
    size = (
        f"library.infiniopGet{name}WorkspaceSize({typed}, size)"
        if operator.has_workspace
        else "(void(descriptor), *size = 0, INFINI_STATUS_SUCCESS)"
    )
    names = [*(parameter(operator, t) for t in inputs_of(operator)), *map(attribute_name, attributes)]
    dimensions = {
        "axis": ["dimensions.axis"],
        "dims": ["const_cast<size_t*>(dimensions.dims)", "dimensions.count"],
    }.get(along(operator), [])
    keepdim = ["dimensions.keeps"] if along(operator) == "dims" else []
    # What the compute call takes once more, it does not look at.
    again = ["nullptr", "0", *("false" for _ in operator.attributes), "false"] if keepdim else []
    unused = "".join(f"(void){what}; " for what in ("attributes",) if not early)
    unused += "" if dimensions else "(void)dimensions; "
    unused_late = "".join(
        f"(void){what}; "
        for what, used in (
            ("workspace", workspace),
            ("workspace_size", workspace),
            ("attributes", late),
            ("element", element),
        )
        if not used
    )
    return [
        f'{{"{operator.python_name}", "{operator.symbol}", "{operator.output.name}",',
        f" {quoted(documentation(operator, functional=False))},",
        f" {quoted(documentation(operator, functional=True))},",
        f" ShapeRule::{shape_rule(operator)}, DtypeRule::{operator.dtype_rule.capitalize()}, "
        f"{len(outputs)}, {len(operator.inputs)}, {len(tensors)}, {len(attributes)}, {written_input(operator)}, "
        f"{str(bool(early)).lower()}, {str(operator in PUBLIC).lower()}, {str(operator.functional).lower()}, "
        f"{str(operator.inplace).lower()}, {str(operator.kind == 'fill').lower()}, {str(copies(operator)).lower()},",
        f" RowsAlong::{along(operator).capitalize()}, {{{', '.join(truth(t.place == 'row') for t in outputs)}}}, "
        f"{{{', '.join(truth(t.default is not None or t.optional) for t in inputs_of(operator))}}}, "
        f"{{{', '.join(truth(t.holds_truth) for t in inputs_of(operator))}}}, {quoted(operator.shape_parameter)}, "
        f"{{{', '.join(quoted(n) for n in output_parameters(operator))}}},",
        f" {{{', '.join(quoted(n) for n in names)}}},",
        f" {{{', '.join(number(a.default) for a in attributes)}}},",
        f" {{{', '.join(str(a.default is None).lower() for a in attributes)}}},",
        f" {{{', '.join(truth(a.is_whole) for a in attributes)}}},",
        f" {{{', '.join(quoted('|'.join(a.choices)) if a.choices else 'nullptr' for a in attributes)}}},",
        f" {f'&patterns_of_{name}' if operator.written else 'nullptr'}, "
        f"{truth(any(is_argument(operator, t) for t in outputs))},",
        " [](infiniopHandle_t handle, void** result, const infiniopTensorDescriptor_t* tensors, const double* attributes,",
        "    const Dimensions& dimensions) {",
        f"   {unused}return library.infiniopCreate{name}Descriptor("
        f"{', '.join(['handle', f'reinterpret_cast<infiniop{name}Descriptor_t*>(result)', *in_create_order(operator, given, [*dimensions, *casts(operator, early_values, False), *keepdim])])});",
        " },",
        f" [](void* descriptor, size_t* size) {{ return {size}; }},",
        " [](void* descriptor, void* workspace, size_t workspace_size, void* const* addresses, const double* attributes,",
        "    const void* element, void* stream) {",
        f"   {unused_late}return library.infiniop{name}("
        f"{', '.join([typed, *workspace, *addresses, *casts(operator, late_values, True), *again, *element, 'stream'])});",
        " },",
        f" [](void* descriptor) {{ return library.infiniopDestroy{name}Descriptor({typed}); }}}},",
    ]


def casts(operator: Operator, places: list[str], at_compute: bool) -> list[str]:
    given = iter(places)
    if not at_compute:
        values = {a.name: next(given) for a in operator.attributes if not a.at_compute}
        return [create_value(members, values) for _, members in declarations(operator)]
    return [
        f"static_cast<{a.plain_type}>({next(given) if a.at_compute else '0'})"
        for a in operator.attributes
        if a.at_compute or a.repeated
    ]


def create_value(members: list[Attribute], values: dict[str, str]) -> str:
    """What the call that creates takes for one of its parameters."""
    first = members[0]
    if first.in_list:
        elements = ", ".join(f"static_cast<{a.ctype}>({values[a.name]})" for a in members)
        length = (
            f"static_cast<size_t>({values[first.in_list.length]})" if first.in_list.length else len(members)
        )
        return f"Listed<{first.ctype}, {len(members)}>{{{{{elements}}}}}.last({length})"
    if first.names:
        return f"name_of({values[first.name]}, {{{', '.join(map(quoted, first.names))}}})"
    if first.ctype == "void*":
        return f"{values[first.name]} != 0 ? const_cast<double*>(attributes) : nullptr"
    return f"static_cast<{first.ctype}>({values[first.name]})"


LISTS = """// Attributes that C takes as a list: the last so many of them.
template <class T, size_t Count>
struct Listed {
  T at[Count];
  T* last(size_t length) { return at + (length < Count ? Count - length : 0); }
};
inline const char* name_of(double place, std::initializer_list<const char*> names) {
  return place >= 0 && place < static_cast<double>(names.size()) ? names.begin()[static_cast<size_t>(place)] : "";
}"""


def patterns(operator: Operator) -> list[str]:
    """What a written operator's shapes are."""
    if operator.written is None:
        return []
    names, tensors = written.sizes(operator), [*outputs_of(operator), *inputs_of(operator)]
    shapes = [operator.written.shapes[tensor.name] for tensor in tensors]
    sizes = ", ".join(str(written.attribute_of_size(operator, name)) for name in names)
    rules = ", ".join(
        f"{{{len(written.dims(shape))}, {{{written.dim_rules(operator, shape)}}}, {written.reducing_attribute(operator, tensor)}}}"
        for tensor, shape in zip(tensors, shapes, strict=True)
    )
    return [
        f"const Patterns patterns_of_{operator.name} = {{{len(names)}, {{{sizes}}}, {written.dim_attribute(operator)},",
        f"  {{{rules}}},",
        f"  {{{', '.join(made_as(operator, tensor) for tensor in outputs_of(operator))}}}, "
        f"{{{', '.join(truth(is_argument(operator, t)) for t in outputs_of(operator))}}}, "
        f"{{{', '.join(truth(t.optional) for t in outputs_of(operator))}}}, "
        f"{truth(operator.written.in_place)}, {len(arguments_of(operator))}, "
        f"{{{', '.join(str(tensors.index(tensor)) for tensor in arguments_of(operator))}}}}};",
    ]


def made_as(operator: Operator, output: Tensor) -> str:
    """The type of an output that a caller does not give, as Patterns has it."""
    tensors = [*outputs_of(operator), *inputs_of(operator)]
    names = [tensor.name for tensor in tensors]
    if output.made_as in names:
        return f"~{names.index(output.made_as)}"
    if output.dtypes:
        return f"INFINI_DTYPE_{output.made_as or output.dtypes[0]}"
    typed = [*inputs_of(operator), *(t for t in outputs_of(operator) if is_argument(operator, t))]
    common = next((tensor for tensor in typed if not tensor.dtypes and not tensor.optional), None)
    return f"~{names.index(common.name)}" if common else f"INFINI_DTYPE_{operator.dtypes[0]}"


def truth(value: bool) -> str:
    return str(value).lower()


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


@dataclass(frozen=True)
class Parameter:
    """One of a function, as help() and as type stubs write it."""

    plain: str
    typed: str


def parameters(operator: Operator) -> list[Parameter]:
    """Those that may be given by position, but for `inplace`."""
    found = []
    both = written_input(operator)
    for i, tensor in enumerate(arguments_of(operator) if operator.written else inputs_of(operator)):
        name = parameter(operator, tensor)
        if (operator.rows and tensor.default is not None) or (operator.written and tensor.optional):
            found.append(Parameter(f"{name}=None", f"{name}: Tensor | None = None"))
        else:
            number = "" if operator.rows or operator.written or i == max(both, 0) else " | float"
            found.append(Parameter(name, f"{name}: Tensor{number}"))
        if i == 0 and operator.shape_parameter:
            found.append(Parameter(operator.shape_parameter, f"{operator.shape_parameter}: Sequence[int]"))
    if along(operator) == "axis":
        found.append(Parameter("dim=-1", "dim: int = -1"))
    if along(operator) == "dims":
        found.append(Parameter("dim=None", "dim: int | Sequence[int] | None = None"))
    found += [attribute_parameter(a) for a in attributes_of(operator)]
    if along(operator) == "dims":
        found.append(Parameter("keepdim=False", "keepdim: bool = False"))
    return found


def attribute_parameter(attribute: Attribute) -> Parameter:
    name = attribute_name(attribute)
    if attribute.choices:
        word = attribute.choices[int(attribute.default or 0)]
        return Parameter(f"{name}='{word}'", f'{name}: str = "{word}"')
    if attribute.plain_type == "bool":
        return Parameter(f"{name}={bool(attribute.default)}", f"{name}: bool = {bool(attribute.default)}")
    if attribute.is_whole and attribute.default is None:
        return Parameter(name, f"{name}: int")
    if attribute.is_whole:
        return Parameter(f"{name}={attribute.default:g}", f"{name}: int = {attribute.default:g}")
    if attribute.default is None:
        return Parameter(name, f"{name}: float")
    if math.isinf(attribute.default):
        return Parameter(f"{name}=None", f"{name}: float | None = None")
    return Parameter(f"{name}={attribute.default:g}", f"{name}: float = {float(attribute.default)!r}")


def row_notes(operator: Operator) -> list[str]:
    """What Python takes beside what C does."""
    if operator.rows is None:
        return []
    notes = {
        "last": ["Rows lie along the last dimension."],
        "axis": ["dim: the dimension that rows lie along."],
        "dims": [
            "dim: the dimension, or those, that a row is made of; None: all of them.",
            "keepdim: whether they stay, with size 1.",
        ],
    }[operator.rows.along]
    if operator.shape_parameter:
        notes.append(f"{operator.shape_parameter}: the shape of the weights, a list of one size.")
    if len(outputs_of(operator)) > 1:
        notes.append(f"Gives a tuple: {', '.join(tensor.name for tensor in outputs_of(operator))}.")
    return notes


def written_notes(operator: Operator) -> list[str]:
    """Shapes, under the names that tensors have in Python, and types of their own."""
    if operator.written is None:
        return []
    named = list(zip(output_parameters(operator), outputs_of(operator), strict=True))
    named += [(parameter(operator, tensor), tensor) for tensor in inputs_of(operator)]
    notes = [f"{name}: shape ({operator.written.shapes[tensor.name]})." for name, tensor in named]
    notes += [f"{name}: {', '.join(tensor.dtypes)}." for name, tensor in named if tensor.dtypes]
    for name, tensor in named:
        words = [a.choices[0] for a in operator.attributes if a.name == tensor.reduced_by]
        notes += [f"{name}: one element unless {tensor.reduced_by} is {word}." for word in words]
    return notes


def python_parameters(operator: Operator, functional: bool = False) -> list[str]:
    given = [p.plain for p in parameters(operator)]
    if functional and operator.inplace:
        given.append("inplace=False")
    if written_input(operator) >= 0:
        return given
    if operator.dtype_rule == "cast":
        return [*given, "*", "out"]
    made = made_parameters(operator)
    return [*given, *(["*"] if made else []), *(f"{name}=None" for name in made)]


def made_parameters(operator: Operator) -> list[str]:
    """The outputs that a caller may give."""
    named = zip(output_parameters(operator), outputs_of(operator), strict=True)
    return [name for name, tensor in named if not is_argument(operator, tensor)]


def documentation(operator: Operator, functional: bool) -> str:
    """The text that help() shows, after the signature that CPython reads out of it."""
    given = ", ".join(python_parameters(operator, functional))
    text = [f"{operator.python_name}({given})\n--\n", sentence(operator)]
    text += [f"{attribute_name(a)}: {a.doc}." for a in attributes_of(operator)]
    text += row_notes(operator)
    text += written_notes(operator)
    text.append(f"Element types: {', '.join(operator.dtypes)}.")
    return "\n".join(text)


def sentence(operator: Operator) -> str:
    """What the operator computes, with its inputs under the names that they have in Python."""
    text = operator.doc
    made = dict(zip((t.name for t in outputs_of(operator)), output_parameters(operator), strict=True))
    for tensor in operator.tensors:
        name = parameter(operator, tensor)
        if tensor.role == "out":
            name = "the result" if made.get(tensor.name) == "out" else tensor.name
        if name != tensor.name:
            text = rename(text, tensor.name, name)
    return text


def rename(text: str, old: str, new: str) -> str:
    return re.sub(
        r"`[^`]*`", lambda code: re.sub(rf"(?<![\w.]){re.escape(old)}(?![\w(])", new, code[0]), text
    )


def render() -> str:
    """operators_table.inc: included by csrc/bindings/infinicore/operators.cpp alone."""
    functions = [name for operator in CALLABLE for name in signatures(operator)]
    return "\n".join(
        [
            "// Generated from src/infiniop/schema.",
            "struct OperatorLibrary {",
            *(f"  decltype(&::{name}) {name};" for name in functions),
            "};",
            "OperatorLibrary library;",
            "",
            "bool load_operators() {",
            "  bool found = true;",
            *(f'  found = found && find_function("{name}", &library.{name});' for name in functions),
            "  return found;",
            "}",
            "",
            *LISTS.splitlines(),
            f"constexpr int kOperators = {len(CALLABLE)};",
            *(line for operator in CALLABLE for line in patterns(operator)),
            "const OperatorRow rows[kOperators] = {",
            *(line for operator in CALLABLE for line in row(operator)),
            "};",
            "",
        ]
    )


LONGEST_LINE = 110
# What `infinicore.nn.functional` has beside operators: the names of files of infinicore/nn.
MODULES = {
    "layers": (
        "ACT_SILU", "ACT_SWIGLU", "RopeAlgo", "bilinear", "causal_conv1d", "chunk_gated_delta_rule", "flash_attention", "linear", "multi_margin_loss", "one_hot", "pad", "pixel_shuffle",
        "pixel_unshuffle", "recurrent_gated_delta_rule", "scaled_dot_product_attention", "unfold",
    ),
    "normalisation": ("batch_norm", "group_norm", "instance_norm"),
    "spatial": (
        "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
        "adaptive_max_pool3d", "affine_grid", "avg_pool1d", "avg_pool2d", "avg_pool3d", "conv1d", "conv2d", "conv3d", "interpolate",
        "max_pool1d", "max_pool2d", "max_pool3d", "upsample", "upsample_bilinear", "upsample_nearest",
    ),
}  # fmt: skip
LAYERS = tuple(name for names in MODULES.values() for name in names)
HEAD = '"""{0}. Generated from src/infiniop/schema: change the operator\'s entry there."""\n'


def stub(operator: Operator, functional: bool) -> list[str]:
    given = [p.typed for p in parameters(operator)]
    if functional and operator.inplace:
        given.append("inplace: bool = False")
    names = made_parameters(operator)
    if operator.dtype_rule == "cast":
        given += ["*", "out: Tensor"]
    elif len(names) > 1:
        pair = f"Tensor | {tuple_type(len(names))} | None"
        given += ["*", f"out: {pair} = None", *(f"{name}: Tensor | None = None" for name in names[1:])]
    elif names and written_input(operator) < 0:
        given += ["*", f"{names[0]}: Tensor | None = None"]
    made = [t for t in outputs_of(operator) if not is_argument(operator, t)]
    results = made if operator.written and names else outputs_of(operator)
    types = [f"Tensor{' | None' if operator.written and t.optional else ''}" for t in results]
    result = f"tuple[{', '.join(types)}]" if len(types) > 1 else types[0]
    return [*head(operator.python_name, given, result), f'    """{sentence(operator)}"""', ""]


def tuple_type(count: int) -> str:
    return f"tuple[{', '.join(['Tensor'] * count)}]"


def head(name: str, given: list[str], result: str) -> list[str]:
    """A function's first lines, cut as the formatter cuts them."""
    line = f"def {name}({', '.join(given)}) -> {result}:"
    if len(line) <= LONGEST_LINE:
        return [line]
    inner = f"    {', '.join(given)}"
    body = [inner] if len(inner) <= LONGEST_LINE else [f"    {parameter}," for parameter in given]
    return [f"def {name}(", *body, f") -> {result}:"]


def imported(module: str, names: tuple[str, ...]) -> list[str]:
    """One line, or one for each name, as the formatter has it."""
    line = f"from .{module} import {', '.join(names)}"
    if len(line) <= LONGEST_LINE:
        return [line]
    return [f"from .{module} import (", *(f"    {name}," for name in names), ")"]


def render_stubs(functional: bool) -> str:
    """Type stubs of the module that has the operators' functions."""
    chosen = [operator for operator in PUBLIC if operator.functional or not functional]
    what = "Functions of neural networks" if functional else "Operators as functions"
    lines = [HEAD.format(what), "from collections.abc import Sequence", ""]
    lines += [f"from {'..' if functional else '.'}tensor import Tensor"]
    if functional:
        lines += [line for module, names in MODULES.items() for line in imported(module, names)]
    lines += [""]
    # Numbers in names count as numbers: log1p, log10.
    names = sorted(
        [*(operator.python_name for operator in chosen), *(LAYERS if functional else ())],
        key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)],
    )
    lines += ["__all__ = [", *(f'    "{name}",' for name in names), "]", ""]
    for operator in sorted(chosen, key=lambda operator: operator.python_name):
        lines += stub(operator, functional)
    return "\n".join(lines)
