"""The C functions of each operator, which lead to the few that all operators share."""

from __future__ import annotations

from .. import OPERATORS
from ..model import EVERYTHING, Attribute, Operator
from . import rows, written
from .header import repeats_dimensions, signatures
from .maps import without_last

KINDS = {
    "map": "Map", "copy": "Copy", "cast": "Cast", "constant": "Constant", "fill": "Fill", "gemm": "Gemm", "rows": "Rows",
    "written": "Written",
}  # fmt: skip


def info(number: int, operator: Operator, called: str = "") -> str:
    names = ", ".join(f'"{tensor.name}"' for tensor in operator.ordered)
    dtypes = " | ".join(f"1u << INFINI_DTYPE_{name}" for name in operator.dtypes)
    constant = operator.reference(None) if operator.kind == "constant" else 0
    return (
        f'constexpr OperatorInfo k{operator.name} = {{"infiniop{called or operator.name}", {number}, '
        f"OperatorKind::{KINDS[operator.kind]}, DtypeRule::{operator.dtype_rule.capitalize()}, "
        f"{f'k{operator.name}Map' if operator.kind == 'map' else -1}, {len(operator.operands)}, {len(operator.ordered)}, "
        f"{{{names}}}, {dtypes}, {constant}, {'true' if operator.halves else 'false'}, "
        f"{f'&k{without_last(operator).name}' if operator.scalar_expression else 'nullptr'}, "
        f"{str(any(not attribute.at_compute for attribute in operator.attributes)).lower()}, {len(operator.outputs)}, "
        f"{f'&kRowsOf{operator.name}' if operator.rows else 'nullptr'}, "
        f"{f'&kWritten{operator.name}' if operator.written else 'nullptr'}, {truths(operator)}u}};"
    )


def truths(operator: Operator) -> int:
    """The tensors that hold truth whatever the others hold, as bits."""
    return sum(1 << i for i, tensor in enumerate(operator.ordered) if tensor.holds_truth)


def numbers(operator: Operator, at_compute: bool) -> str:
    """The attributes that one of the calls is given, in their places."""
    return ", ".join(
        number_of(operator, a) if a.at_compute == at_compute else "0" for a in operator.attributes
    )


def late_ones(operator: Operator) -> int:
    """The attributes that come with every call, as bits."""
    return sum(1 << i for i, attribute in enumerate(operator.attributes) if attribute.at_compute)


def number_of(operator: Operator, attribute: Attribute) -> str:
    """An attribute, from what C was given."""
    if attribute.in_list and attribute.in_list.bytes:
        place = [a for a in operator.attributes if a.in_list == attribute.in_list].index(attribute)
        return (
            f"element_within<{attribute.ctype}>({attribute.in_list.name}, {attribute.in_list.bytes}, {place})"
        )
    if attribute.in_list:
        members = [a for a in operator.attributes if a.in_list == attribute.in_list]
        length = attribute.in_list.length or str(len(members))
        return (
            f"element_of<{attribute.ctype}>({attribute.in_list.name}, {length}, {members.index(attribute)}, {len(members)}, "
            f"{attribute.default or 0})"
        )
    if attribute.names:
        return f"place_of({attribute.name}, {{{', '.join(f'{chr(34)}{name}{chr(34)}' for name in attribute.names)}}})"
    if attribute.ctype == "void*":
        return f"double({attribute.name} != nullptr)"
    return attribute.name if attribute.plain_type in ("float", "double") else f"double({attribute.name})"


LISTS = """// Element `place` of `places` from a list that has the last `length` of them.
template <class T>
double element_of(const void* list, size_t length, size_t place, size_t places, double otherwise) {
  if (!list || length > places || place < places - length) return otherwise;
  return double(static_cast<const T*>(list)[place - (places - length)]);
}
// Element `place` of a list of so many bytes; 0: it has fewer.
template <class T>
double element_within(const void* list, size_t bytes, size_t place) {
  return list && (place + 1) * sizeof(T) <= bytes ? double(static_cast<const T*>(list)[place]) : 0;
}
// Which of these names it is; -1: none of them.
double place_of(const char* name, std::initializer_list<const char*> names) {
  int place = 0;
  for (const char* each : names) {
    if (name && std::strcmp(name, each) == 0) return place;
    ++place;
  }
  return -1;
}"""


def list_checks(operator: Operator) -> list[str]:
    """A list that is null has no elements to look at; it may be, where elements have defaults."""
    lists = {
        a.in_list for a in operator.attributes if a.in_list and a.default is None and not a.in_list.length
    }
    return [
        f"  if (!{each.name}{f' && {each.bytes} > 0' if each.bytes else ''}) "
        f'return fail(__func__, INFINI_STATUS_NULL_POINTER, "{each.name} is null; it must point at numbers");'
        for each in sorted(lists, key=lambda each: each.name)
    ]


def dimensions(operator: Operator) -> str:
    """The argument of create_operator() that says where rows lie."""
    if operator.rows is None or operator.rows.along == "last":
        return ""
    if operator.rows.along == "axis":
        return f", {{{operator.rows.axis}, nullptr, 0, true}}"
    return ", {0, dim, dim_size, keepdim}"


def functions(operator: Operator) -> list[str]:
    name = operator.name
    given = {function: ", ".join(params) for function, params in signatures(operator).items()}
    create, compute, destroy = (
        f"infiniopCreate{name}Descriptor",
        f"infiniop{name}",
        f"infiniopDestroy{name}Descriptor",
    )
    early = any(not attribute.at_compute for attribute in operator.attributes)
    late = any(attribute.at_compute for attribute in operator.attributes)
    addresses = ", ".join(f"const_cast<void*>(static_cast<const void*>({t.name}))" for t in operator.ordered)
    lines = [
        f"infiniStatus_t {create}({given[create]}) {{",
        f"  const void* const tensors[] = {{{', '.join(f'{t.name}_desc' if t.described else 'nullptr' for t in operator.ordered)}}};",
    ]
    if early:
        lines += list_checks(operator)
        lines.append(f"  const double attributes[kMaxAttributes] = {{{numbers(operator, False)}}};")
    lines += [
        f"  return create_operator(__func__, k{name}, handle, reinterpret_cast<void**>(desc_ptr), tensors, "
        f"{'attributes' if early else 'nullptr'}{dimensions(operator)});",
        "}",
    ]
    if operator.has_workspace:
        size = f"infiniopGet{name}WorkspaceSize"
        lines.append(
            f"infiniStatus_t {size}({given[size]}) {{ return get_workspace_size(__func__, k{name}, desc, size); }}"
        )
    lines += [
        f"infiniStatus_t {compute}({given[compute]}) {{",
        f"  void* const addresses[] = {{{addresses}}};",
    ]
    if repeats_dimensions(operator):
        again = ["dim", "dim_size", *(attribute.name for attribute in operator.attributes), "keepdim"]
        lines.append("".join(f"  (void){name};" for name in again))
    lines += [f"  (void){a.name};" for a in operator.attributes if a.repeated]
    if late:
        lines.append(f"  const double attributes[kMaxAttributes] = {{{numbers(operator, True)}}};")
    values = ", ".join(
        [
            "attributes" if late else "nullptr",
            "value" if operator.kind == "fill" else "nullptr",
            "{workspace, workspace_size}" if operator.has_workspace else "{}",
            *([f"{late_ones(operator)}u"] if early and late else []),
        ]
    )
    lines += [
        f"  return compute(__func__, k{name}, desc, addresses, stream, {{{values}}});",
        "}",
        f"infiniStatus_t {destroy}({given[destroy]}) {{ return destroy_operator(__func__, k{name}, desc); }}",
        "",
    ]
    return lines


def render() -> str:
    for operator in OPERATORS:
        if (
            len(operator.ordered) > (12 if operator.written else 6 if operator.rows else 4)
            or len(operator.attributes) > (20 if operator.written else 2)
            or not set(operator.dtypes) <= set(EVERYTHING)
        ):
            raise ValueError(f"{operator.name}: csrc/op/operator.h has no room for it")
    return "\n".join(
        [
            "// Generated from src/infiniop/schema.",
            "#include <cstring>",
            "#include <initializer_list>",
            "",
            '#include "infiniop.h"',
            '#include "infiniop/generated/maps.h"',
            '#include "infiniop/generated/written.h"',
            '#include "op/operator.h"',
            '#include "op/runtime.h"',
            '#include "op/written_rules.h"',
            "",
            *written.declarations(),
            "",
            "using namespace infiniop;",
            "",
            "namespace {",
            *LISTS.splitlines(),
            *(line for operator in rows.ROWS for line in rows.info(operator)),
            *(line for operator in written.WRITTEN for line in written.info(operator)),
            *(
                info(number, without_last(operator), operator.name)
                for number, operator in enumerate(OPERATORS)
                if operator.scalar_expression
            ),
            *(info(number, operator) for number, operator in enumerate(OPERATORS)),
            "constexpr const OperatorInfo* kOperators[] = {",
            *(f"    &k{operator.name}," for operator in OPERATORS),
            "};",
            "}  // namespace",
            "",
            "const OperatorInfo& infiniop::info_of_operator(int number) { return *kOperators[number]; }",
            "",
            *(line for operator in OPERATORS for line in functions(operator)),
        ]
    )


def render_list() -> str:
    """The operators' names, for files that need one line for each."""
    return "\n".join(f"INFINIOP_OPERATOR({operator.name})" for operator in OPERATORS) + "\n"


def render_symbols(version: str) -> str:
    """The linker's version script: exactly the functions of infiniop.h, under the version of one of the library's generations."""
    names = [function for operator in OPERATORS for function in signatures(operator)]
    frame = [
        "infiniopCreateHandle", "infiniopDestroyHandle", "infiniopCreateTensorDescriptor",
        "infiniopDestroyTensorDescriptor", "infiniopGetDescriptorDeviceType", "infiniopGetDescriptorDeviceId",
    ]  # fmt: skip
    if version != "INFINIOP_0":  # extensions are not of the earlier generation
        frame += ["infiniopXCreateChainDescriptor", "infiniopXChain", "infiniopXDestroyChainDescriptor"]
    return "\n".join(
        [
            f"{version} {{",
            "  global:",
            *(f"    {name};" for name in [*frame, *names]),
            "  local:",
            "    *;",
            "};",
            "",
        ]
    )
