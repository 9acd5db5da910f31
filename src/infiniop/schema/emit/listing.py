"""The operators as a page for people."""

from __future__ import annotations

from .. import OPERATORS
from ..model import FLOATS, INTEGERS, Operator


def types(operator: Operator) -> str:
    text = ", ".join(operator.dtypes)
    for group, name in ((INTEGERS, "all integers"), (FLOATS, "all floats")):
        text = text.replace(", ".join(group), name)
    return text


def signature(operator: Operator) -> str:
    given = [attribute.name for attribute in operator.attributes]
    inputs = [tensor.name for tensor in operator.tensors if tensor.role != "out"]
    return f"`{operator.output.name}` from {', '.join(f'`{n}`' for n in [*inputs, *given]) or 'nothing'}"


def render() -> str:
    """A table in Markdown."""
    rows = [
        f"| {o.name}{'' if o.published else ' *'} | {signature(o)} | {o.doc} | {types(o)} | `infiniop/ops/{o.file}.h` |"
        for o in OPERATORS
    ]
    return "\n".join(
        [
            f"# The {len(OPERATORS)} operators",
            "",
            "| operator | tensors and attributes | what it computes | element types | header |",
            "| --- | --- | --- | --- | --- |",
            *rows,
            "",
            "\\* not in InfiniCore's headers; named by the same convention.",
            "",
        ]
    )
