"""The expressions as CUDA C++, for kernels that are compiled when a descriptor needs them."""

from __future__ import annotations

from ..model import Operator
from .maps import MAPS, operand_type, typed


def functor(operator: Operator, expression: str) -> str:
    """`Map<T>`: the attributes, and the expression of the inputs."""
    result = "uint8_t" if operator.dtype_rule == "truth" else "T"
    inputs = ", ".join(f"{operand_type(operator, name)} {name}" for name in operator.operands)
    fields = "".join(f"  T {attribute.name};\n" for attribute in operator.attributes)
    set_fields = ", ".join(
        f"{attribute.name}(number_as<T>(attributes[{i}]))" for i, attribute in enumerate(operator.attributes)
    )
    return (
        "template <class T>\nstruct Map {\n"
        f"{fields}  explicit Map(const double* attributes){' : ' + set_fields if set_fields else ''} {{}}\n"
        f"  {result} operator()({inputs}) const {{ return static_cast<{result}>({typed(expression)}); }}\n}};\n"
    )


def quoted(text: str) -> str:
    return f'R"CUDA({text})CUDA"'


def render() -> str:
    """cuda_maps.inc: for each map its text, and those for integers, F16 and BF16 where there are others."""
    lines = ["// Generated from src/infiniop/schema."]
    for operator in MAPS:
        expressions = (
            operator.expression,
            operator.integer_expression,
            operator.float16_expression,
            operator.bfloat16_expression,
        )
        texts = (quoted(functor(operator, each)) if each else "nullptr" for each in expressions)
        lines.append(f"{{{', '.join(texts)}}},")
    return "\n".join([*lines, ""])
