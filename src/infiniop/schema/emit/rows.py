"""What operators on rows are made of: loops of the CPU, the same expressions as CUDA C++, and the order of the steps."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .. import OPERATORS
from ..model import Each, Operator, Reduce, Rows
from .maps import COMPUTED, calls_light_functions, typed

ROWS = tuple(operator for operator in OPERATORS if operator.kind == "rows")
MOST_STEPS, MOST_VALUES, MOST_SCALARS = 4, 4, 6  # as csrc/op/rows.h


@dataclass(frozen=True)
class Loop:
    """One expression of a row operator, over elements that lie side by side."""

    name: str
    operator: Operator
    expression: str
    is_truth: bool = False
    is_only_result: bool = False
    """What it computes is an output's element, and there can be a call that asks for no other one's."""
    is_summed: bool = False

    @property
    def has_sum(self) -> bool:
        """Whether there is one that adds up what it computes, instead of writing it down: its expression is arithmetic that vectors have."""
        expression, _ = hoisted(self.expression, values(self.operator))
        is_arithmetic = re.fullmatch(r"[\w\s.+\-*/()]+", expression) and not re.search(r"\w\(", expression)
        return self.is_summed and bool(is_arithmetic) and "float" in self.operator.computed_types

    @property
    def has_bfloat(self) -> bool:
        """Whether there is one that also rounds to BF16."""
        return self.is_only_result and not self.is_truth and "float" in self.operator.computed_types


def rows_of(operator: Operator) -> Rows:
    assert operator.rows is not None
    return operator.rows


def values(operator: Operator) -> list[str]:
    """What there is one of for each element: the inputs, then steps."""
    steps = rows_of(operator).steps
    return [*operator.operands, *(step.name for step in steps if isinstance(step, Each))]


def scalars(operator: Operator) -> list[str]:
    """What there is one of for each row."""
    reductions = [step.name for step in rows_of(operator).steps if isinstance(step, Reduce)]
    return [*(attribute.name for attribute in operator.attributes), "n", *reductions]


def is_used(name: str, expression: str) -> bool:
    return re.search(rf"(?<![\w.]){name}(?!\w|\()", expression) is not None


def loops(operator: Operator) -> list[Loop]:
    rows = rows_of(operator)
    made = [
        Loop(
            f"{operator.name}_{step.name}",
            operator,
            step.expression,
            is_summed=isinstance(step, Reduce) and step.how == "sum",
        )
        for step in rows.steps
        if step.expression not in values(operator)
    ]
    for name, expression in rows.results:
        truth = operator.dtype_rule == "truth"
        elements = [tensor for tensor in operator.outputs if tensor.place == "element"]
        only = any(tensor.name == name for tensor in elements) and all(
            tensor.optional for tensor in elements if tensor.name != name
        )
        made.append(Loop(f"{operator.name}_{name}", operator, expression, truth, is_only_result=only))
    return made


LOOPS = tuple(loop for operator in ROWS for loop in loops(operator))
_NUMBERS = {loop.name: number for number, loop in enumerate(LOOPS)}


def hoisted(expression: str, of_elements: list[str]) -> tuple[str, dict[str, str]]:
    """The expression with names for the calls in it that are the same for all elements of a row, and what these stand for."""
    once: dict[str, str] = {}
    at = 0
    while (call := re.compile(r"\b[a-z]\w*\(").search(expression, at)) is not None:
        depth, end = 1, call.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(expression[end], 0)
            end += 1
        text = expression[call.start() : end]
        at = call.end()
        if any(is_used(name, text) for name in of_elements):
            continue
        name = f"once_{len(once)}"
        once[name] = text
        expression = expression[: call.start()] + name + expression[end:]
        at = call.start() + len(name)
    return expression, once


def used_values(loop: Loop) -> dict[str, int]:
    """The values in its expression, and which of all they are."""
    return {name: i for i, name in enumerate(values(loop.operator)) if is_used(name, loop.expression)}


def numbers_text(loop: Loop) -> list[str]:
    """What there is one of for each row, under its name."""
    used = [(i, name) for i, name in enumerate(scalars(loop.operator)) if is_used(name, loop.expression)]
    return [f"  const T {name} = row_number<T>(scalars[{i}]);" for i, name in used] or ["  (void)scalars;"]


def loop_text(loop: Loop, *, bfloat: bool = False) -> list[str]:
    """With `bfloat` one in float whose results are BF16."""
    result = "uint16_t" if bfloat else "uint8_t" if loop.is_truth else "T"
    convert = "to_bfloat16" if bfloat else f"static_cast<{result}>"
    expression, once = hoisted(loop.expression, values(loop.operator))
    used = used_values(loop)
    return [
        *([] if bfloat else ["template <class T>"]),
        f"void row_{loop.name}{'_bfloat' if bfloat else ''}(size_t count, void* out, const void* const* in, const double* scalars) {{",
        *(["  using T = float;"] if bfloat else []),
        f"  auto* to = static_cast<{result}*>(out);",
        *(f"  const auto* from_{name} = static_cast<const T*>(in[{place}]);" for name, place in used.items()),
        *([] if used else ["  (void)in;"]),
        *numbers_text(loop),
        *(f"  const T {name} = static_cast<T>({typed(text)});" for name, text in once.items()),
        "#pragma GCC ivdep",
        "  for (size_t i = 0; i < count; ++i) {",
        *(f"    const T {name} = from_{name}[i];" for name in used),
        f"    to[i] = {convert}({typed(expression)});",
        "  }",
        "}",
    ]


def sum_text(loop: Loop) -> list[str]:
    """The sum of its expression, in float."""
    expression, once = hoisted(loop.expression, values(loop.operator))
    used = used_values(loop)
    elements = ", ".join(f"static_cast<const T*>(in[{place}])" for place in used.values())
    return [
        f"double row_{loop.name}_sum(size_t count, const void* const* in, const double* scalars) {{",
        "  using T = float;",
        *numbers_text(loop),
        *(f"  const T {name} = static_cast<T>({typed(text)});" for name, text in once.items()),
        f"  const auto term = [&]({', '.join(f'const auto& {name}' for name in used)}) {{ return {typed(expression)}; }};",
        f"  return sum_terms<T>(count, term, {elements});",
        "}",
    ]


def table_row(loop: Loop) -> str:
    known = loop.operator.computed_types
    return "{" + ", ".join(f"row_{loop.name}<{t}>" if t in known else "nullptr" for t in COMPUTED) + "}"


def render() -> str:
    """rows.inc: the loops of the CPU, and the table of them."""
    lines = ["// Generated from src/infiniop/schema."]
    for loop in LOOPS:
        lines += loop_text(loop)
        if loop.has_bfloat:
            lines += loop_text(loop, bfloat=True)
        if loop.has_sum:
            lines += sum_text(loop)
    table = ", \\\n".join(f"  {table_row(loop)}" for loop in LOOPS)
    bfloat = ", ".join(f"row_{loop.name}_bfloat" if loop.has_bfloat else "nullptr" for loop in LOOPS)
    sums = ", ".join(f"row_{loop.name}_sum" if loop.has_sum else "nullptr" for loop in LOOPS)
    return "\n".join(
        [
            *lines,
            "#define INFINIOP_ROW_LOOPS \\",
            table,
            f"#define INFINIOP_ROW_TO_BFLOAT_LOOPS {bfloat}",
            f"#define INFINIOP_ROW_SUMS {sums}",
            "",
        ]
    )


def has_short_rows(operator: Operator) -> bool:
    """Whether rows of few elements are computed at once, by one function: what calls of its loops cost is more than they do then."""
    places = [tensor.place for tensor in operator.ordered]
    return places == ["element", "element"] and "float" in operator.computed_types


ROWS_AT_ONCE = 16


def short_rows_text(operator: Operator) -> list[str]:
    """The steps of rows of floats one after the other in memory, each step for several rows before the next: what a step of one row ends with and the next one
    begins with would wait for each other. Functions of what rows were reduced to, such as the logarithm of a sum, are computed for all of them as a vector."""
    rows = rows_of(operator)
    own = [step.name for step in rows.steps if isinstance(step, Each)]
    reductions = [step.name for step in rows.steps if isinstance(step, Reduce)]
    result, of_rows = hoisted(rows.results[0][1], values(operator))
    has_terms = any(isinstance(s, Reduce) and s.expression not in values(operator) for s in rows.steps)
    buffers = [*(["terms"] if has_terms else []), *(f"{name}_of_rows" for name in own)]
    known: list[str] = []  # what each row was reduced to by the steps so far
    # In the first loop over elements: later ones are shorter, and end in what is asked for here.
    asks = ["      if (row < next) ask_for_row(from + (row + kAtOnce) * length, to + row * length, length);"]

    def of_each_row(lines: list[str], count: str = "count") -> list[str]:
        return [f"    for (size_t row = 0; row < {count}; ++row) {{", *lines, "    }"]

    def place(name: str) -> str:
        return f"{'from' if name in operator.operands else f'{name}_of_rows'} + row * length"

    def loop(target: str, expression: str, once: dict[str, str]) -> list[str]:
        """Of all elements of a row."""
        used = [name for name in values(operator) if is_used(name, expression)]
        asking, asks[:] = asks[:], []
        return [
            *known,
            *asking,
            *(f"      const T* {name}_of = {place(name)};" for name in used),
            f"      T* result = {target} + row * length;",
            *(f"      const T {name} = {typed(text)};" for name, text in once.items()),
            "#pragma GCC ivdep",
            "      for (size_t i = 0; i < length; ++i) {",
            *(f"        const T {name} = {name}_of[i];" for name in used),
            f"        result[i] = {typed(expression)};",
            "      }",
        ]

    lines = [
        f"void short_rows_{operator.name}(size_t rows, size_t length, float* to, const float* from, const double* scalars) {{",
        "  using T = float;",
        f"  constexpr size_t kAtOnce = {ROWS_AT_ONCE};",
        *(f"  T {name}[kAtOnce * kShortRow];" for name in buffers),
        f"  T {', '.join(f'{name}_of_rows[kAtOnce] = {{}}' for name in (*reductions, *of_rows))};",
        *(
            f"  [[maybe_unused]] const T {name} = row_number<T>(scalars[{i}]);"
            for i, name in enumerate(scalars(operator)[: len(operator.attributes) + 1])
        ),
        "  for (size_t first = 0; first < rows; first += kAtOnce, from += kAtOnce * length, to += kAtOnce * length) {",
        "    const size_t count = rows - first < kAtOnce ? rows - first : kAtOnce;",
        "    const size_t left = rows - first - count, next = left < kAtOnce ? left : kAtOnce;",
    ]
    for step in rows.steps:
        rest, once = hoisted(step.expression, values(operator))
        if isinstance(step, Each):
            lines += of_each_row(loop(f"{step.name}_of_rows", rest, once))
            continue
        terms = "terms + row * length"
        if step.expression in values(operator):
            terms = place(step.expression)
        else:
            lines += of_each_row(loop("terms", rest, once))
        reduced = f"reduce_short<T, {step.how.capitalize()}Of>(length, {terms})"
        lines += of_each_row([f"      {step.name}_of_rows[row] = {reduced};"])
        known.append(f"      [[maybe_unused]] const T {step.name} = {step.name}_of_rows[row];")
    if of_rows:
        computed = [f"      {name}_of_rows[row] = {typed(text)};" for name, text in of_rows.items()]
        lines += of_each_row([*known, *computed], "kAtOnce")
        known += [f"      const T {name} = {name}_of_rows[row];" for name in of_rows]
    return [*lines, *of_each_row(loop("to", result, {})), "  }", "}"]


def render_short_rows() -> str:
    """short_rows.inc: functions for rows of few floats, and the table of them, in the order of the operators on rows."""
    lines = ["// Generated from src/infiniop/schema."]
    table = []
    for operator in ROWS:
        if has_short_rows(operator):
            lines += short_rows_text(operator)
        table.append(f"  {f'short_rows_{operator.name}' if has_short_rows(operator) else 'nullptr'}")
    return "\n".join([*lines, "#define INFINIOP_SHORT_ROWS \\", ", \\\n".join(table), ""])


def render_numbers() -> str:
    """rows.h: how many loops there are."""
    return "\n".join(
        [
            "// Generated from src/infiniop/schema.",
            "#pragma once",
            "namespace infiniop {",
            f"enum : int {{ kRowLoops = {len(LOOPS)}, kRowOperators = {len(ROWS)} }};",
            "}  // namespace infiniop",
            "",
        ]
    )


def reads(operator: Operator, expression: str) -> int:
    """The numbers of the values that an expression has in it, as bits."""
    return sum(1 << i for i, name in enumerate(values(operator)) if is_used(name, expression))


def step_text(operator: Operator, step: Each | Reduce) -> str:
    kind = "Each" if isinstance(step, Each) else step.how.capitalize()
    number = _NUMBERS.get(f"{operator.name}_{step.name}", -1)
    is_light = str(calls_light_functions(step.expression)).lower()
    return f"{{RowStepKind::{kind}, {number}, {reads(operator, step.expression)}u, {is_light}}}"


def info(operator: Operator) -> list[str]:
    """RowsInfo of one operator, for glue.py."""
    rows = rows_of(operator)
    if (
        len(rows.steps) > MOST_STEPS
        or len(values(operator)) > MOST_VALUES
        or len(scalars(operator)) > MOST_SCALARS
    ):
        raise ValueError(f"{operator.name}: csrc/op/rows.h has no room for it")
    if rows.along != "last" and rows.reach:
        raise ValueError(f"{operator.name}: what rows reach is known of last dimensions only")
    results = [
        f"{{{_NUMBERS[f'{operator.name}_{name}']}, {reads(operator, expression)}u}}"
        for name, expression in rows.results
    ]
    places = [f"RowPlace::{tensor.place.capitalize()}" for tensor in operator.ordered]
    may_be_null = [str(t.optional or t.default is not None).lower() for t in operator.ordered]
    defaults = [repr(float(tensor.default or 0)) for tensor in operator.ordered]
    reach = "nullptr"
    lines = []
    if rows.reach:
        reach = f"reach_of_{operator.name}"
        lines.append(f"int64_t {reach}(int64_t n, int64_t row, int64_t rows) {{ return {rows.reach}; }}")
    return [
        *lines,
        f"constexpr RowsInfo kRowsOf{operator.name} = {{{ROWS.index(operator)}, RowsAlong::{rows.along.capitalize()}, "
        f'"{rows.axis}", {len(operator.operands)}, {len(operator.attributes)}, {len(rows.steps)}, '
        f"{{{', '.join(step_text(operator, step) for step in rows.steps)}}}, {{{', '.join(results)}}}, "
        f"{{{', '.join(places)}}}, {{{', '.join(may_be_null)}}}, {{{', '.join(defaults)}}}, "
        f"{str(rows.needs_elements).lower()}, {reach}}};",
    ]


# ---- CUDA C++


def cuda_text(operator: Operator) -> str:
    """`Steps<T>`: the numbers of a row under their names, and the expressions of each step and result."""
    rows = rows_of(operator)
    reductions = [step for step in rows.steps if isinstance(step, Reduce)]
    each = [step for step in rows.steps if isinstance(step, Each)]
    names = scalars(operator)
    given = [f"{a.name}(number_as<T>(attributes[{i}]))" for i, a in enumerate(operator.attributes)]
    inputs = ", ".join(f"T {name}" for name in operator.operands)
    lines = [
        "template <class T>",
        "struct Steps {",
        f"  static constexpr int kReductions = {len(reductions)}, kEach = {len(each)};",
        f"  T {', '.join(f'{name}{{}}' for name in names)};",
        f"  Steps(const double* attributes, double count) : {', '.join([*given, 'n(number_as<T>(count))'])} {{}}",
    ]
    number = 0
    # A value per element is computed in the pass of the first reduction behind it.
    fresh: list[Each] = []
    for step in rows.steps:
        if isinstance(step, Each):
            fresh.append(step)
            continue
        made = "".join(f" {e.name} = {typed(e.expression)};" for e in fresh)
        parameters = ", ".join([inputs, *(f"T& {e.name}" for e in each)])
        lines.append(
            f"  T term(Number<{number}>, {parameters}) const {{{made} return {typed(step.expression)}; }}"
        )
        lines.append(
            f"  static constexpr Reduction how(Number<{number}>) {{ return Reduction::{step.how.capitalize()}; }}"
        )
        lines.append(f"  void set(Number<{number}>, T value) {{ {step.name} = value; }}")
        fresh = []
        number += 1
    if fresh:
        raise ValueError(f"{operator.name}: no reduction behind {fresh[0].name}")
    # What is not kept in registers is computed again, and there all of them are known.
    again = "".join(f" {e.name} = {typed(e.expression)};" for e in each)
    parameters = ", ".join([inputs, *(f"T& {e.name}" for e in each)])
    lines.append(f"  void again({parameters}) const {{{again} }}")
    result_type = "uint8_t" if operator.dtype_rule == "truth" else "T"
    for i, (_, expression) in enumerate(rows.results):
        tensor = operator.outputs[i]
        parameters = (
            "" if tensor.place == "row" else ", " + ", ".join([inputs, *(f"T {e.name}" for e in each)])
        )
        lines.append(
            f"  {result_type} result(Number<{i}>{parameters}) const {{ return static_cast<{result_type}>({typed(expression)}); }}"
        )
    reach = rows.reach or "n"
    lines += [
        f"  static long long reach(long long n, long long row, long long rows) {{ return {reach}; }}",
        "};",
        "",
    ]
    return "\n".join(lines)


def render_cuda() -> str:
    """cuda_rows.inc: the text of each operator on rows, in the order of their numbers."""
    lines = ["// Generated from src/infiniop/schema."]
    return "\n".join([*lines, *(f'R"CUDA({cuda_text(operator)})CUDA",' for operator in ROWS), ""])
