"""C++ tables of the module's classes."""

from __future__ import annotations

from ..emit.text import c_string
from .classes import (
    CONSTANTS,
    ENUM_CLASSES,
    HANDLE_CLASSES,
    MODULE,
    SECOND_NAMES,
    STRUCT_CLASSES,
    StructClass,
    enum_name,
)


def render_numbers() -> str:
    """Each class's place in its table."""

    def numbers(kind: str, names: list[str]) -> str:
        listed = "".join(f"  k{kind}_{name},\n" for name in names)
        return f"enum {kind}Number : int {{\n{listed}  k{kind}Count\n}};\n"

    return "\n".join(
        (
            numbers("Enum", [enum_name(e) for e in ENUM_CLASSES]),
            numbers("Handle", [h.name for h in HANDLE_CLASSES]),
            numbers("Struct", [s.name for s in STRUCT_CLASSES]),
        )
    )


def _struct(struct: StructClass) -> str:
    layout = f"Layout_{struct.name}"
    lines = [f"using {layout} = {struct.spelling};"]
    extra = 0
    rows = []
    for f in struct.fields:
        if f.path:
            offset = f"offsetof({layout}, {f.path})"
        else:
            offset = f"sizeof({layout}) + {extra} * sizeof(int)"
            extra += 1
        count = f"offsetof({layout}, {f.count_path})" if f.count_path else "0"
        flags = ("true" if f.read_only else "false", "true" if f.count_is_size else "false")
        rows.append(
            f"    {{{c_string(f.name)}, FieldKind::{f.kind}, {flags[0]}, {f.type_constant}, {offset}, {f.length}, "
            f"{count}, {flags[1]}}},\n"
        )
    if rows:
        lines.append(f"const Field fields_{struct.name}[] = {{\n{''.join(rows)}}};")
    return "\n".join(lines) + "\n"


def _describe_struct(struct: StructClass) -> str:
    size = f"sizeof(Layout_{struct.name})"
    if struct.extra_ints:
        size += f" + {struct.extra_ints} * sizeof(int)"
    fields = f"fields_{struct.name}" if struct.fields else "nullptr"
    name = c_string(f"{MODULE}.{struct.name}")
    construct = f"construct<Layout_{struct.name}>" if struct.is_constructed else "nullptr"
    return f"    {{{name}, {c_string(struct.doc)}, {size}, {fields}, {len(struct.fields)}, {construct}}},\n"


def render_types() -> str:
    out = ["namespace {\n\n"]
    for e in ENUM_CLASSES:
        rows = "".join(f"    {{{c_string(m.name)}, {m.value}}},\n" for m in e.enumerators)
        out.append(f"const EnumMember members_{enum_name(e)}[] = {{\n{rows}}};\n")
    out.append("\nconst EnumDescription enum_descriptions[kEnumCount] = {\n")
    for e in ENUM_CLASSES:
        name = enum_name(e)
        out.append(f"    {{{c_string(name)}, {c_string(e.doc)}, members_{name}, {len(e.enumerators)}}},\n")
    out.append("};\n\nconst HandleDescription handle_descriptions[kHandleCount] = {\n")
    for h in HANDLE_CLASSES:
        out.append(f"    {{{c_string(f'{MODULE}.{h.name}')}, {c_string(h.doc)}, HandleKind::{h.kind}}},\n")
    out.append("};\n\n")
    out += [_struct(s) for s in STRUCT_CLASSES]
    out.append(
        "\nstruct SecondName {\n  const char* name;\n  const char* of;\n};\nconst SecondName second_names[] = {\n"
    )
    out += [f"    {{{c_string(name)}, {c_string(of)}}},\n" for name, of in SECOND_NAMES.items()]
    out.append(
        "};\n\nstruct Constant {\n  const char* name;\n  long value;\n};\nconst Constant constants[] = {\n"
    )
    out += [f"    {{{c_string(name)}, {value}}},\n" for name, value in CONSTANTS.items()]
    out.append("};\n\n}  // namespace\n\nconst StructDescription struct_descriptions[kStructCount] = {\n")
    out += [_describe_struct(s) for s in STRUCT_CLASSES]
    out.append("};\n")
    return "".join(out)
