"""Written operators: how their tensors belong together, and the names under which kernels find sizes, tensors and attributes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from .. import COMPILED_ONCE, OPERATORS
from ..model import Operator, Tensor, Written

WRITTEN = tuple(operator for operator in OPERATORS if operator.kind == "written")
# Those that device types have kernels for; the others are made of these.
WITH_KERNELS = tuple(operator for operator in WRITTEN if operator.written and not operator.written.composed)
MOST_DIMS, MOST_SIZES = 8, 16  # as csrc/op/nvidia/written_arguments.h
GROUPS = {"...": "Rest", "...?": "MaybeRest", "<": "Before", ">": "After", "*": "Any"}


@dataclass(frozen=True)
class Dim:
    """One dimension of a pattern, or one group of them."""

    kind: Literal[
        "Named", "Number", "Rest", "MaybeRest", "Before", "After", "MaybeNumber", "Any", "Kept", "MaybeNamed"
    ]
    name: str = ""
    times: int = 1
    over: int = 1


def written_of(operator: Operator) -> Written:
    assert operator.written is not None
    return operator.written


def dims(pattern: str) -> list[Dim]:
    return [dim(word) for word in pattern.split()]


def dim(word: str) -> Dim:
    if word in GROUPS:
        return Dim(GROUPS[word])  # type: ignore[arg-type]
    if word.isdigit():
        return Dim("Number", times=int(word))
    if word[:-1].isdigit() and word[-1] == "?":
        return Dim("MaybeNumber", times=int(word[:-1]))
    if word == "keepdim?":
        return Dim("Kept", "keepdim")
    if re.fullmatch(r"[a-z]\w*\?", word):
        return Dim("MaybeNamed", word[:-1])
    match = re.fullmatch(r"(?:(\d+)\*)?([A-Za-z]\w*)(?:/(\d+))?", word)
    if match is None:
        raise ValueError(f"'{word}' is no dimension of a shape")
    return Dim("Named", match[2], int(match[1] or 1), int(match[3] or 1))


def sizes(operator: Operator) -> list[str]:
    """The names of sizes, in the order in which inputs and then outputs have them."""
    shapes = written_of(operator).shapes
    order = [*operator.inputs, *operator.outputs]
    names = [d.name for tensor in order for d in dims(shapes[tensor.name]) if d.name]
    return list(dict.fromkeys(names))


def attribute_of_size(operator: Operator, size: str) -> int:
    names = [attribute.name for attribute in operator.attributes]
    return names.index(size) if size in names else -1


def reducing_attribute(operator: Operator, tensor: Tensor) -> int:
    names = [attribute.name for attribute in operator.attributes]
    return names.index(tensor.reduced_by) if tensor.reduced_by else -1


def dim_attribute(operator: Operator) -> int:
    names = [attribute.name for attribute in operator.attributes]
    return names.index("dim") if "dim" in names else -1


def dim_rules(operator: Operator, pattern: str) -> str:
    """As C++ initialises them; the same for the library and for what Python calls."""
    names, attributes = sizes(operator), [attribute.name for attribute in operator.attributes]

    def number(d: Dim) -> int:
        return attributes.index(d.name) if d.kind == "Kept" else names.index(d.name) if d.name else -1

    return ", ".join(f"{{DimKind::{d.kind}, {number(d)}, {d.times}, {d.over}}}" for d in dims(pattern))


def tensor_rule(operator: Operator, tensor: Tensor) -> str:
    pattern = written_of(operator).shapes[tensor.name]
    own = " | ".join(f"1u << INFINI_DTYPE_{name}" for name in tensor.dtypes) or "0"
    return (
        f'{{"{pattern}", {own}, {str(tensor.optional).lower()}, {str(tensor.described).lower()}, '
        f"{len(dims(pattern))}, {{{dim_rules(operator, pattern)}}}, {reducing_attribute(operator, tensor)}}}"
    )


def rules(operator: Operator) -> list[str]:
    """The function that says which rule does not hold."""
    if not written_of(operator).rules:
        return []
    names = sizes(operator)
    lines = [
        f"const char* broken_rule_of_{operator.name}(const int64_t* sizes, const double* attributes, const WrittenPlan& plan) {{",
        f"  using namespace infiniop::{operator.stem};",
    ]
    lines += [f"  [[maybe_unused]] const int64_t {name} = sizes[{i}];" for i, name in enumerate(names)]
    lines += [
        f"  [[maybe_unused]] const {'int64_t' if a.is_whole else 'double'} {a.name} = "
        f"{'int64_t' if a.is_whole else 'double'}(attributes[{i}]);"
        for i, a in enumerate(operator.attributes)
        if a.name not in names
    ]
    lines += ["  (void)sizes, (void)attributes, (void)plan;"]
    lines += [f'  if (!({condition})) return "{text}";' for condition, text in written_of(operator).rules]
    return [*lines, "  return nullptr;", "}"]


def info(operator: Operator) -> list[str]:
    names = sizes(operator)
    if len(names) > MOST_SIZES or any(
        len(dims(shape)) > MOST_DIMS for shape in written_of(operator).shapes.values()
    ):
        raise ValueError(f"{operator.name}: csrc/op/nvidia/written_arguments.h has no room for it")
    listed = ", ".join(f'"{name}"' for name in names)
    attributes = ", ".join(str(attribute_of_size(operator, name)) for name in names)
    tensors = ",\n    ".join(tensor_rule(operator, tensor) for tensor in operator.ordered)
    function = f"broken_rule_of_{operator.name}" if written_of(operator).rules else "nullptr"
    composed = written_of(operator).composed
    number = -1 if composed else WITH_KERNELS.index(operator)
    return [
        *rules(operator),
        f"constexpr WrittenInfo kWritten{operator.name} = {{{number}, {dim_attribute(operator)}, {len(names)},",
        f"    {{{listed}}}, {{{attributes}}},",
        f"    {{{tensors}}}, {function}, {f'infiniop::composed::{operator.stem}' if composed else 'nullptr'}}};",
    ]


def constants(operator: Operator) -> list[str]:
    """Where a kernel finds what: numbers of sizes, tensors and attributes."""
    lines = [f"namespace {operator.stem} {{"]
    for what, names in (
        ("size", sizes(operator)),
        ("tensor", [tensor.name for tensor in operator.ordered]),
        ("attribute", [attribute.name for attribute in operator.attributes]),
    ):
        lines += [
            f"namespace {what} {{",
            *(f"inline constexpr int {n} = {i};" for i, n in enumerate(names)),
            "}",
        ]
    return [*lines, "}"]


def render_names() -> str:
    return "\n".join(
        [
            "// Generated from src/infiniop/schema.",
            "#pragma once",
            "namespace infiniop {",
            f"inline constexpr int kWrittenOperators = {len(WITH_KERNELS)};",
            *(line for operator in WRITTEN for line in constants(operator)),
            "}  // namespace infiniop",
            "",
        ]
    )


def render_list() -> str:
    """For the kernels' tables, in the order of their numbers."""
    lines = [
        f"INFINIOP_WRITTEN{'_ONCE' if operator in COMPILED_ONCE else ''}({operator.stem})"
        for operator in WITH_KERNELS
    ]
    return "\n".join(lines) + "\n"


def declarations() -> list[str]:
    """The functions that operators are composed by."""
    names = [operator.stem for operator in WRITTEN if written_of(operator).composed]
    return [
        "namespace infiniop::composed {",
        *(f"void {name}(Composer& composer);" for name in names),
        "}  // namespace infiniop::composed",
    ]
