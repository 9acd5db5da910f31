"""The innermost loops of the operators that are an expression."""

from __future__ import annotations

import re
from dataclasses import replace

from .. import OPERATORS
from ..model import COMPUTED_AS, INTEGERS, Operator


def without_last(operator: Operator) -> Operator:
    """The operator as it is when its last input is not given."""
    return replace(
        operator,
        name=f"{operator.name}Scalar",
        tensors=tuple(tensor for tensor in operator.tensors if tensor != operator.inputs[-1]),
        expression=operator.scalar_expression,
        scalar_expression="",
    )


_PLAIN = tuple(operator for operator in OPERATORS if operator.kind == "map")
MAPS = (*_PLAIN, *(without_last(operator) for operator in _PLAIN if operator.scalar_expression))
LIGHT_FUNCTIONS = {
    "ceil",
    "clip",
    "fabs",
    "floor",
    "fmax",
    "fmin",
    "maximum",
    "minimum",
    "relu",
    "rint",
    "trunc",
}
COMPUTED = tuple(dict.fromkeys(COMPUTED_AS.values()))
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?![\w.])")


def typed(expression: str) -> str:
    """Every number gets the type that is computed in: `0.5 * x` would be a double otherwise."""
    return NUMBER.sub(lambda match: f"T({match[0]})", expression)


def is_light(operator: Operator) -> bool:
    """Whether a loop waits for memory rather than for the arithmetic."""
    called = re.findall(r"(\w+)\(", operator.expression + operator.integer_expression)
    return set(called) <= LIGHT_FUNCTIONS


def operand_type(operator: Operator, name: str) -> str:
    return "uint8_t" if name in operator.truths else "T"


def loop(operator: Operator, suffix: str, expression: str, *, bfloat: bool = False) -> list[str]:
    """One loop for each type that is computed in; with `bfloat` one in float, straight from BF16 to BF16."""
    result = "uint8_t" if operator.dtype_rule == "truth" else "T"
    names = operator.operands
    types = {name: operand_type(operator, name) for name in names}
    value = f"static_cast<{result}>({typed(expression)})"
    number = "quiet_number" if bfloat else "number_as<T>"
    # What is not a number and only let through has not been through the arithmetic that makes it a quiet one.
    lets_through = bfloat and expression.startswith(("clip(", "relu("))
    if bfloat:
        value = f"bfloats_to_bfloat16({typed(expression)}{' - zero' if lets_through else ''})"
    return [
        *([] if bfloat else ["template <class T>"]),
        f"void map_{operator.name}{suffix}(size_t count, void* out, const void* const* in, const double* attributes) {{",
        *(["  using T = float;"] if bfloat else []),
        f"  auto* to = static_cast<{'uint16_t' if bfloat else result}*>(out);",
        *(
            f"  const auto* from_{name} = static_cast<const {'uint16_t' if bfloat else types[name]}*>(in[{i}]);"
            for i, name in enumerate(names)
        ),
        *(
            f"  [[maybe_unused]] const T {attribute.name} = {number}(attributes[{i}]);"
            for i, attribute in enumerate(operator.attributes)
        ),
        *([] if operator.attributes else ["  (void)attributes;"]),
        *(["  const float zero = hidden_zero();"] if lets_through else []),
        "#pragma GCC ivdep",
        "  for (size_t i = 0; i < count; ++i) {",
        *(
            f"    const {types[name]} {name} = {f'from_bfloat16(from_{name}[i])' if bfloat else f'from_{name}[i]'};"
            for name in names
        ),
        f"    to[i] = {value};",
        "  }",
        "}",
    ]


def row(operator: Operator) -> str:
    """The loops of one operator, one for each type in the order of `COMPUTED`."""
    integers = {COMPUTED_AS[name] for name in INTEGERS}
    entries = []
    for ctype in COMPUTED:
        suffix = "_integer" if ctype in integers and operator.integer_expression else ""
        known = ctype in operator.computed_types
        entries.append(f"map_{operator.name}{suffix}<{ctype}>" if known else "nullptr")
    return "{" + ", ".join(entries) + "}"


def render() -> str:
    """maps.inc: the loops, and the table of them."""
    lines = ["// Generated from src/infiniop/schema."]
    for operator in MAPS:
        lines += loop(operator, "", operator.expression)
        if operator.integer_expression:
            lines += loop(operator, "_integer", operator.integer_expression)
        if operator.narrow_expression:
            lines += loop(operator, "_narrow", operator.narrow_expression)
        if operator.bfloat_loop:
            expression = operator.narrow_expression or operator.expression
            lines += loop(operator, "_bfloat", expression, bfloat=True)
    rows = ", \\\n".join(f"  {row(operator)}" for operator in MAPS)
    narrow = (
        f"map_{operator.name}_narrow<float>" if operator.narrow_expression else "nullptr" for operator in MAPS
    )
    bfloat = (f"map_{operator.name}_bfloat" if operator.bfloat_loop else "nullptr" for operator in MAPS)
    return "\n".join(
        [
            *lines,
            "#define INFINIOP_MAP_ROWS \\",
            rows,
            f"#define INFINIOP_NARROW_ROW {', '.join(narrow)}",
            f"#define INFINIOP_BFLOAT_ROW {', '.join(bfloat)}",
            "",
        ]
    )


def render_numbers() -> str:
    """maps.h: which loop and which operator has which number."""
    return "\n".join(
        [
            "// Generated from src/infiniop/schema.",
            "#pragma once",
            "namespace infiniop {",
            "enum : int { " + ", ".join([*(f"k{operator.name}Map" for operator in MAPS), "kMaps"]) + " };",
            "inline constexpr bool kIsLightMap[kMaps] = {"
            + ", ".join("true" if is_light(operator) else "false" for operator in MAPS)
            + "};",
            "enum : int { " + ", ".join(f"k{operator.name}Number" for operator in OPERATORS) + " };",
            "}  // namespace infiniop",
            "",
        ]
    )
