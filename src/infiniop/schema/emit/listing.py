"""The operators as a page for people: docs/operator-list.md, and what `python -m infiniop` prints."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from .. import GROUPS, OPERATORS
from ..model import COMPLEX, EVERYTHING, FLOATS, INTEGERS, Each, Operator
from .header import declarations
from .python_table import PUBLIC, python_parameters

INTRODUCTION = """# The {count} operators

Each operator has [functions of its own in C](operators.md), declared in the header beside its name: `infiniopAdd` computes,
`infiniopCreateAddDescriptor`, `infiniopGetAddWorkspaceSize` and `infiniopDestroyAddDescriptor` stand around it. In Python it is [one
call](infinicore.md): `infinicore.add`; those marked *nn* are in `infinicore.nn.functional`, too. Where there is no Python form, functions
that are written out do the same: `zeros`, `ones`, `full`, `Tensor.copy_`, `Tensor.broadcast_to`, `matmul`.

The formula gives an element of the result, and is what CPU and GPU kernels are made from; its names are C's. Operators on rows have
several: numbers of a row, `sum(x * x)` and so on, and then what is made of them; `n` is how many elements a row has. `F8` is e4m3fn; *floats*
are {floats}, *integers* {integers}, *complex* {complex}.

This page is written by `python -m infiniop > docs/operator-list.md`.
"""


def types(operator: Operator) -> str:
    """The element types, with names for the groups that are there as a whole."""
    groups = ((EVERYTHING, "all"), (INTEGERS, "integers"), (FLOATS, "floats"), (COMPLEX, "complex"))
    left = list(operator.dtypes)
    text: list[str] = []
    for group, name in groups:
        if set(group) <= set(left):
            text.append(name)
            left = [dtype for dtype in left if dtype not in group]
    return ", ".join([*left, *text])


def signature(operator: Operator) -> str:
    given = [
        members[0].in_list.name if members[0].in_list else members[0].name
        for _, members in declarations(operator)
    ]
    given += [attribute.name for attribute in operator.attributes if attribute.at_compute]
    inputs = [tensor.name for tensor in operator.tensors if tensor.role != "out"]
    along = operator.rows.along if operator.rows else "last"
    if operator.rows and along != "last":
        given = [operator.rows.axis, *given] if along == "axis" else ["dim", *given, "keepdim"]
    outputs = ", ".join(f"`{tensor.name}`" for tensor in operator.outputs)
    return f"{outputs} from {', '.join(f'`{n}`' for n in [*inputs, *given]) or 'nothing'}"


# Functions that are written out: of infinicore, and of its nn.functional.
_WRITTEN = Path(__file__).resolve().parents[3] / "infinicore"
_MODULES = {
    "": ("functions", "indexing", "moving", "products", "selection"),
    ", *nn*": ("nn/spatial", "nn/normalisation"),
}


@cache
def written_functions() -> dict[str, str]:
    """Name and how it is shown, of each function that is written out."""
    found: dict[str, str] = {}
    for mark, modules in _MODULES.items():
        for file in (_WRITTEN / f"{module}.py" for module in modules):
            if not file.is_file():  # the schema stands alone
                continue
            for node in ast.parse(file.read_text()).body:
                if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                    continue
                for argument in ast.walk(node.args):
                    if isinstance(argument, ast.arg):
                        argument.annotation = None
                found.setdefault(node.name, f"`{node.name}({ast.unparse(node.args)})`{mark}")
    return found


def python_form(operator: Operator) -> str:
    if operator not in PUBLIC:
        written = written_functions().get(operator.python_name, "")
        symbol = f"`{operator.symbol}`" if operator.symbol else ""
        return ", ".join(text for text in (written, symbol) if text)
    text = f"`{operator.python_name}({', '.join(python_parameters(operator))})`"
    if operator.functional:
        text += ", *nn*" + (" with `inplace`" if operator.inplace else "")
    symbol = {"neg": "-x", "abs": "abs(x)", "~": "~x"}.get(operator.symbol, operator.symbol.split(" ")[0])
    return text + (f", `{symbol}`" if symbol else "")


def readable(formula: str) -> str:
    """Which of several functions computes it is nothing for a reader."""
    for name, usual in (("exp_of_negative(", "exp("), ("log1p_of_part(", "log1p(")):
        formula = formula.replace(name, usual)
    return re.sub(r"log1p_exp\(([^()]*)\)", r"log1p(exp(\1))", formula)


def formula_of(operator: Operator) -> str:
    if operator.rows is None:
        return readable(f"`{operator.expression}`") if operator.expression else ""
    steps = [
        f"`{step.name} = {step.expression if isinstance(step, Each) else f'{step.how}({step.expression})'}`"
        for step in operator.rows.steps
    ]
    text = ", ".join([*steps, *(f"`{name} = {expression}`" for name, expression in operator.rows.results)])
    return readable(text)


def row(operator: Operator) -> str:
    formula = formula_of(operator)
    if operator.scalar_expression:
        formula += f" or `{operator.scalar_expression}`"
    cells = [
        f"{operator.name}{'' if operator.published else ' *'}",
        f"`infiniop{operator.name}`, `infiniop/ops/{operator.file}.h`",
        signature(operator),
        python_form(operator),
        operator.doc,
        formula,
        types(operator),
    ]
    # A bar would begin the next cell, in code as well.
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def render() -> str:
    """The page, in Markdown."""
    lines = [
        INTRODUCTION.format(
            count=len(OPERATORS),
            floats=", ".join(FLOATS),
            integers=", ".join(INTEGERS),
            complex=", ".join(COMPLEX),
        )
    ]
    for title, operators in GROUPS.items():
        lines += [
            f"## {title}",
            "",
            "| operator | in C | tensors and attributes | in Python | what it computes | formula | element types |",
            "| --- | --- | --- | --- | --- | --- | --- |",
            *(row(operator) for operator in sorted(operators, key=lambda operator: operator.name)),
            "",
        ]
    lines += ["\\* not in InfiniCore's headers; named by the same convention.", ""]
    return "\n".join(lines)
