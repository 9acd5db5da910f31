"""The public headers: one for each operator, under the names that InfiniCore published, and one that includes all."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from .. import OPERATORS
from ..model import Attribute, Operator

NOTICE = "/* Generated from src/infiniop/schema: change the operator's entry there. */"
DECLARE = "__INFINI_C __export infiniStatus_t"


def create_params(operator: Operator) -> list[str]:
    tensors = {tensor.name: f"infiniopTensorDescriptor_t {tensor.name}_desc" for tensor in operator.tensors}
    given = row_params(operator, [text for text, _ in declarations(operator) if text])
    return [
        "infiniopHandle_t handle",
        f"infiniop{operator.name}Descriptor_t* desc_ptr",
        *in_create_order(operator, tensors, given),
    ]


def in_create_order(operator: Operator, tensors: Mapping[str, Any], given: Sequence[Any]) -> list[Any]:
    """What creating a descriptor takes beside the handle: tensors, and what stands for each of `declarations`."""
    described = [tensor for tensor in operator.tensors if tensor.described]
    places = [members[0].after for _, members in declarations(operator)]
    if not any(places):
        return [*(tensors[tensor.name] for tensor in described), *given]
    result = []
    for name in [*(tensor.name for tensor in described), ""]:
        result += [tensors[name]] if name else []
        result += [each for each, after in zip(given, places, strict=True) if after == name]
    return result


def row_params(operator: Operator, given: list[str]) -> list[str]:
    """The attributes, and what says along which dimensions rows lie."""
    along = operator.rows.along if operator.rows else "last"
    if operator.rows is None or along == "last":
        return given
    if along == "axis":
        return [f"int {operator.rows.axis}", *given]
    return ["size_t* dim", "size_t dim_size", *given, "bool keepdim"]


def compute_params(operator: Operator) -> list[str]:
    workspace = ["void* workspace", "size_t workspace_size"] if operator.has_workspace else []
    tensors = [("" if t.role in ("out", "inout") else "const ") + f"void* {t.name}" for t in operator.tensors]
    given = [declared(a) for a in operator.attributes if a.at_compute or a.repeated]
    if repeats_dimensions(operator):
        given = row_params(operator, [declared(attribute) for attribute in operator.attributes])
    if operator.kind == "fill":
        given.append("const void* value")
    return [f"infiniop{operator.name}Descriptor_t desc", *workspace, *tensors, *given, "void* stream"]


def repeats_dimensions(operator: Operator) -> bool:
    """Whether the published compute call names again what the descriptor was made for."""
    return operator.rows is not None and operator.rows.along == "dims"


def takes_truth(operator: Operator) -> bool:
    return repeats_dimensions(operator) or any(attribute.ctype == "bool" for attribute in operator.attributes)


def includes(operator: Operator) -> list[str]:
    """Headers of C that its declarations need."""
    found = ["#include <stdbool.h>"] if takes_truth(operator) else []
    if any(attribute.ctype.startswith(("int64_t", "uint8_t")) for attribute in operator.attributes):
        found.append("#include <stdint.h>")
    return [*found, ""] if found else []


def declarations(operator: Operator) -> list[tuple[str, list[Attribute]]]:
    """The parameters of the call that creates, each with the attributes that it is: several where they are elements of a list."""
    found: list[tuple[str, list[Attribute]]] = []
    for attribute in operator.attributes:
        if attribute.at_compute:
            continue
        if attribute.in_list is None:
            found.append((declared(attribute), [attribute]))
        elif found and found[-1][1][0].in_list == attribute.in_list:
            found[-1][1].append(attribute)
        else:
            found.append((f"{attribute.in_list.ctype} {attribute.in_list.name}", [attribute]))
    return found


def declared(attribute: Attribute) -> str:
    return f"{attribute.ctype} {attribute.name}"


def signatures(operator: Operator) -> dict[str, list[str]]:
    """The operator's functions and their parameters, in the order of use."""
    name = operator.name
    functions = {f"infiniopCreate{name}Descriptor": create_params(operator)}
    if operator.has_workspace:
        functions[f"infiniopGet{name}WorkspaceSize"] = [f"infiniop{name}Descriptor_t desc", "size_t* size"]
    functions[f"infiniop{name}"] = compute_params(operator)
    functions[f"infiniopDestroy{name}Descriptor"] = [f"infiniop{name}Descriptor_t desc"]
    return functions


def render(operator: Operator) -> str:
    guard = f"INFINIOP_OPS_{operator.file.upper().replace('/', '_')}_H"
    types = f"Element types: {', '.join(operator.dtypes)}."
    lines = [
        f"/* infiniop/ops/{operator.file}.h: {operator.name}. {operator.doc}",
        f" * {types}",
        *(f" * {line}" for line in attribute_notes(operator)),
        *(f" * {line}" for line in row_notes(operator)),
        *(f" * {line}" for line in written_notes(operator)),
        " */",
        NOTICE,
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        *includes(operator),
        '#include "infiniop/handle.h"',
        '#include "infiniop/operator_descriptor.h"',
        '#include "infiniop/tensor_descriptor.h"',
        "",
        f"typedef struct InfiniopDescriptor* infiniop{operator.name}Descriptor_t;",
        *(["", *operator.declares.splitlines()] if operator.declares else []),
        "",
    ]
    for function, params in signatures(operator).items():
        lines += [
            f"{DECLARE} {function}(",
            *(f"    {p}{',' if p != params[-1] else ');'}" for p in params),
            "",
        ]
    return "\n".join([*lines, f"#endif /* {guard} */", ""])


def attribute_notes(operator: Operator) -> list[str]:
    """What each attribute, or list of them, says."""
    notes = []
    for _, members in declarations(operator):
        first = members[0]
        if first.in_list is None:
            notes.append(f"{first.name}: {first.doc}.")
            continue
        length = first.in_list.length or len(members)
        notes.append(f"{first.in_list.name}: {first.doc}; {length} of type {first.ctype}, or null.")
    return [*notes, *(f"{a.name}: {a.doc}." for a in operator.attributes if a.at_compute)]


def written_notes(operator: Operator) -> list[str]:
    """The shapes, the types that are not the operator's, and which tensors may be null."""
    if operator.written is None:
        return []
    notes = [f"{name}: shape ({shape})." for name, shape in operator.written.shapes.items()]
    for tensor in operator.tensors:
        if tensor.dtypes:
            notes.append(f"{tensor.name}: {', '.join(tensor.dtypes)}.")
        if tensor.optional:
            notes.append(f"{tensor.name} may be null.")
        if tensor.reduced_by:
            notes.append(f"{tensor.name} has one element where {tensor.reduced_by} is not 0.")
        if not tensor.described:
            notes.append(f"{tensor.name} lies without gaps.")
    return [*notes, *(f"{sentence}." for _, sentence in operator.written.rules)]


def row_notes(operator: Operator) -> list[str]:
    """What rows are, and which tensors may be null."""
    if operator.rows is None:
        return []
    notes = {
        "last": ["Rows lie along the last dimension."],
        "axis": [
            f"{operator.rows.axis}: the dimension that rows lie along; negative ones count from the last."
        ],
        "dims": [
            "dim, dim_size: the dimensions that a row is made of; none: all of them.",
            "keepdim: whether they stand in the output's shape, with size 1.",
            "The compute call takes them once more, and does not look at them.",
        ],
    }[operator.rows.along]
    for tensor in operator.tensors:
        if tensor.optional:
            notes.append(f"{tensor.name} may be null, and is not written then.")
        elif tensor.default is not None:
            notes.append(f"{tensor.name} may be null, which is the same as elements of {tensor.default:g}.")
    columns = [tensor.name for tensor in operator.inputs if tensor.place == "column"]
    if columns:
        notes.append(
            f"{', '.join(columns)}: one element for each of a row; F32 where the others are narrower is possible."
        )
    return notes


ASYNCHRONOUS = "Compute is asynchronous, as a kernel launch is, and can be captured into a graph."
COMPLETE_ON_THE_CPU = (
    "On INFINI_DEVICE_CPU compute is complete when it returns, except while its stream is being captured, and takes memory of the "
    "program's own; elsewhere it is asynchronous."
)


def introduction(v0: bool) -> list[str]:
    """The comment that infiniop.h begins with."""
    title = "infiniop.h of the earlier generation (v0)" if v0 else "infiniop.h"
    message = "of the new generation" if v0 else "(infinirt_ext.h)"
    paragraphs = (
        f"{title}: the operators. A handle, tensor descriptors, an operator descriptor; the size of its workspace; compute on a stream, "
        "as often as wanted; destroy.",
        "Every function returns INFINI_STATUS_SUCCESS or says what went wrong; the sentence for people is in "
        f"infinirtXGetLastErrorMessage() {message}. What a descriptor is made from is checked then, and copied: tensor descriptors and "
        f"the handle may go before it. {COMPLETE_ON_THE_CPU if v0 else ASYNCHRONOUS} It allocates nothing on the device. Inputs are "
        "broadcast to the output's shape. The output may be one of the inputs, with the same strides; other overlaps give undefined "
        "elements. A descriptor may be used by several threads, and is destroyed when none uses it any more; work that was enqueued with "
        "it goes on.",
    )
    lines = [line for paragraph in paragraphs for line in ["", *textwrap.wrap(paragraph, 117)]][1:]
    return [f"/* {lines[0]}", *(f" * {line}".rstrip() for line in lines[1:]), " */"]


def render_all(v0: bool = False) -> str:
    """infiniop.h, of the earlier generation if `v0`."""
    return "\n".join(
        [
            *introduction(v0),
            NOTICE,
            "#ifndef INFINIOP_H",
            "#define INFINIOP_H",
            "",
            *([] if v0 else ['#include "infiniop/chain.h"']),
            '#include "infiniop/handle.h"',
            '#include "infiniop/operator_descriptor.h"',
            '#include "infiniop/tensor_descriptor.h"',
            *(f'#include "infiniop/ops/{file}.h"' for file in sorted(o.file for o in OPERATORS)),
            "",
            "#endif /* INFINIOP_H */",
            "",
        ]
    )
