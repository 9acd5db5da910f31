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
    return calls_light_functions(operator.expression + operator.integer_expression)


def calls_light_functions(expression: str) -> bool:
    return set(re.findall(r"(\w+)\(", expression)) <= LIGHT_FUNCTIONS


def operand_type(operator: Operator, name: str) -> str:
    return "uint8_t" if name in operator.truths else "T"


def signature(operator: Operator, suffix: str) -> str:
    return f"void map_{operator.name}{suffix}(size_t count, void* out, const void* const* in, const double* attributes) {{"


def attributes_of(operator: Operator, convert: str) -> list[str]:
    """Their declarations in a loop's function."""
    return [
        *(
            f"  [[maybe_unused]] const T {attribute.name} = {convert}(attributes[{i}]);"
            for i, attribute in enumerate(operator.attributes)
        ),
        *([] if operator.attributes else ["  (void)attributes;"]),
    ]


def loop(operator: Operator, suffix: str, expression: str) -> list[str]:
    """One loop for each type that is computed in."""
    result = "uint8_t" if operator.dtype_rule == "truth" else "T"
    names = operator.operands
    types = {name: operand_type(operator, name) for name in names}
    return [
        "template <class T>",
        signature(operator, suffix),
        f"  auto* to = static_cast<{result}*>(out);",
        *(
            f"  const auto* from_{name} = static_cast<const {types[name]}*>(in[{i}]);"
            for i, name in enumerate(names)
        ),
        *attributes_of(operator, "number_as<T>"),
        "#pragma GCC ivdep",
        "  for (size_t i = 0; i < count; ++i) {",
        *(f"    const {types[name]} {name} = from_{name}[i];" for name in names),
        f"    to[i] = static_cast<{result}>({typed(expression)});",
        "  }",
        "}",
    ]


def bfloat_loop(operator: Operator, expression: str) -> list[str]:
    """One loop in float, straight from BF16 to BF16, on two neighbours at a time: a shift or a mask makes a float of each, where single ones would have to be
    moved to other places of a vector first."""
    names = operator.operands
    # What is not a number and only let through has not been through the arithmetic that makes it a quiet one.
    lets_through = expression.startswith(("clip(", "relu("))
    first, second = (
        ", ".join(f"{half}_bfloat16({name}_pair[i])" for name in names) for half in ("first", "second")
    )
    last = ", ".join(
        f"from_bfloat16(*reinterpret_cast<const uint16_t*>({name}_pair + count / 2))" for name in names
    )
    return [
        signature(operator, "_bfloat"),
        "  using T = float;",
        # Not `auto`: the type's alignment would not go with it.
        "  BfloatPair* to = static_cast<BfloatPair*>(out);",
        *(
            f"  const BfloatPair* {name}_pair = static_cast<const BfloatPair*>(in[{i}]);"
            for i, name in enumerate(names)
        ),
        *attributes_of(operator, "quiet_number"),
        *(["  const float zero = hidden_zero();"] if lets_through else []),
        f"  const auto compute = [=]({', '.join(f'T {name}' for name in names)}) __attribute__((always_inline)) {{",
        f"    return {typed(expression)}{' - zero' if lets_through else ''};",
        "  };",
        "#pragma GCC ivdep",
        f"  for (size_t i = 0; i < count / 2; ++i) to[i] = bfloat_pair(compute({first}), compute({second}));",
        f"  if (count % 2) *reinterpret_cast<uint16_t*>(to + count / 2) = bfloats_to_bfloat16(compute({last}));",
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
        if operator.float16_expression:
            lines += loop(operator, "_float16", operator.float16_expression)
        if operator.bfloat16_expression:
            lines += loop(operator, "_bfloat16", operator.bfloat16_expression)
        if operator.bfloat_loop:
            expression = operator.bfloat16_expression or operator.expression
            lines += bfloat_loop(operator, expression)
    rows = ", \\\n".join(f"  {row(operator)}" for operator in MAPS)
    float16 = (
        f"map_{operator.name}_float16<float>" if operator.float16_expression else "nullptr"
        for operator in MAPS
    )
    bfloat16 = (
        f"map_{operator.name}_bfloat16<float>" if operator.bfloat16_expression else "nullptr"
        for operator in MAPS
    )
    bfloat = (f"map_{operator.name}_bfloat" if operator.bfloat_loop else "nullptr" for operator in MAPS)
    return "\n".join(
        [
            *lines,
            "#define INFINIOP_MAP_ROWS \\",
            rows,
            f"#define INFINIOP_FLOAT16_ROW {', '.join(float16)}",
            f"#define INFINIOP_BFLOAT16_ROW {', '.join(bfloat16)}",
            f"#define INFINIOP_BFLOAT_PAIRS_ROW {', '.join(bfloat)}",
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
