"""Enums, handles and structs as Python classes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ..defines import DEFINES
from ..enums import ENUMS
from ..model import Enum, Enumerator, Field, Struct
from ..structs import STRUCTS
from ..typedefs import HANDLES, TYPEDEFS
from .extensions import SUPPORT
from .members13 import DEVICE_PROPERTIES, MEMBERS

MODULE = "infinirt.runtime"


@dataclass(frozen=True)
class HandleClass:
    name: str
    doc: str
    kind: str = "Plain"


@dataclass(frozen=True)
class FieldClass:
    """An attribute of a struct. `path` is what `offsetof` takes, empty for one that lies behind the C struct."""

    name: str
    kind: str
    annotation: str
    path: str
    type_constant: str = "0"
    length: int = 0
    count_path: str = ""
    count_is_size: bool = False
    read_only: bool = False


@dataclass(frozen=True)
class StructClass:
    """`spelling` is the C type (an expression for `decltype` where it has no name)."""

    name: str
    doc: str
    spelling: str
    fields: tuple[FieldClass, ...]
    extra_ints: int = 0

    @property
    def is_constructed(self) -> bool:
        """A new object is not all zero: its dimensions are 1, as in C++. (cuda.bindings has it so for the same structs.)"""
        return self.name in ("dim3", "infinirtKernelNodeParams", "infinirtLaunchConfig_t")


def enum_name(enum: Enum) -> str:
    return enum.typedef or enum.tag


def _with_13(enum: Enum) -> Enum:
    extra = MEMBERS.get(enum_name(enum), {})
    kept = [e for e in enum.enumerators if e.name not in extra]
    return replace(enum, enumerators=(*kept, *(Enumerator(n, v) for n, v in extra.items())))


ENUM_CLASSES: tuple[Enum, ...] = tuple(_with_13(e) for e in (*ENUMS, SUPPORT))
_ENUM_BY_SPELLING = {s: enum_name(e) for e in ENUM_CLASSES for s in (e.tag, f"enum {e.tag}", e.typedef) if s}
_RENAMES = {d.name: d.text for g in DEFINES for d in g.defines if d.value is None}
_ENUM_BY_SPELLING |= {n: _ENUM_BY_SPELLING[t] for n, t in _RENAMES.items() if t in _ENUM_BY_SPELLING}

_NUMBERS = {"infinirtGraphConditionalHandle"}
HANDLE_CLASSES: tuple[HandleClass, ...] = (
    *(HandleClass(h.name, h.doc, "Stream" if h.name == "infinirtStream_t" else "Plain") for h in HANDLES),
    *(HandleClass(t.name, t.doc, "Number" if t.name in _NUMBERS else "Plain") for t in TYPEDEFS),
    HandleClass("infinirtXCache_t", "A cache of memory, such as `CachingPool.handle`."),
    HandleClass("cuuint64_t", "An unsigned 64-bit value with an address.", "Number"),
)
_HANDLES = {h.name for h in HANDLE_CLASSES}

DIM3 = Struct(
    "dim3",
    "Size of a grid or block.",
    tuple(Field(n, "unsigned int") for n in "xyz"),
    typedef="dim3",
)
_STRUCTS: tuple[Struct, ...] = (DIM3, *STRUCTS)


def struct_name(struct: Struct) -> str:
    return struct.typedef or struct.tag


STRUCT_BY_SPELLING = {
    s: struct_name(x) for x in _STRUCTS for s in (x.tag, f"{x.kind} {x.tag}", x.typedef) if s
}
STRUCT_BY_SPELLING |= {n: STRUCT_BY_SPELLING[t] for n, t in _RENAMES.items() if t in STRUCT_BY_SPELLING}

_NUMBER_KINDS = {
    "unsigned char": "UInt8",
    "unsigned short": "UInt16",
    "int": "Int32",
    "unsigned int": "UInt32",
    "long long": "Int64",
    "unsigned long long": "UInt64",
    "size_t": "UInt64",
}

# Pointers to arrays, and the field that says how long they are. Arrays that the runtime writes are read-only.
_LISTS = {
    "accessDescs": "accessDescCount",
    "extSemArray": "numExtSems",
    "paramsArray": "numExtSems",
    "attrs": "numAttrs",
    "phGraph_out": "size",
}

# cuda.bindings hides what the C structs keep in reserve; so do we, the padding of an attribute included.
_HIDDEN = re.compile(r"reserved\d*$")


def _is_hidden(owner: str, field: Field) -> bool:
    return bool(_HIDDEN.match(field.name)) or (owner == "infinirtLaunchAttribute" and field.name == "pad")


def is_enum(ctype: str) -> bool:
    return ctype in _ENUM_BY_SPELLING


def enum_of(ctype: str) -> str:
    return _ENUM_BY_SPELLING[ctype]


def is_handle(ctype: str) -> bool:
    return ctype in _HANDLES


def _field(owner: Struct, field: Field, path: str, siblings: tuple[Field, ...]) -> FieldClass:
    ctype = field.ctype
    if field.array is not None:
        if ctype == "char" and field.name == "name":
            return FieldClass(field.name, "Text", "bytes", path, length=field.array)
        if ctype in ("char", "unsigned char"):
            read_only = owner.tag == "infinirtUUID_st"
            return FieldClass(field.name, "Bytes", "bytes", path, length=field.array, read_only=read_only)
        kind = {"int": "Int32Array", "unsigned int": "UInt32Array"}[ctype]
        return FieldClass(field.name, kind, "list[int]", path, length=field.array)
    if field.name in _LISTS and ctype.endswith("*"):
        element = ctype.removeprefix("const ").removesuffix("*")
        count = next(f for f in siblings if f.name == _LISTS[field.name])
        count_path = path[: len(path) - len(field.name)] + count.name
        read_only = field.name.endswith("_out")
        if is_handle(element):
            kind, constant, annotation = "HandleList", f"kHandle_{element}", f"list[{element}]"
        else:
            name = STRUCT_BY_SPELLING[element]
            kind, constant, annotation = "StructList", f"kStruct_{name}", f"list[{name}]"
        is_size = count.ctype == "size_t"
        return FieldClass(field.name, kind, annotation, path, constant, 0, count_path, is_size, read_only)
    if ctype in _NUMBER_KINDS:
        return FieldClass(field.name, _NUMBER_KINDS[ctype], "int", path)
    if ctype == "float":
        return FieldClass(field.name, "Float", "float", path)
    if is_enum(ctype):
        return FieldClass(field.name, "Enum", enum_of(ctype), path, f"kEnum_{enum_of(ctype)}")
    if ctype == "infinirtHostFn_t":
        return FieldClass(field.name, "HostFunction", ctype, path, f"kHandle_{ctype}")
    if is_handle(ctype):
        return FieldClass(field.name, "Handle", ctype, path, f"kHandle_{ctype}")
    if ctype == "void**":
        kind = "KernelParams" if field.name == "kernelParams" else "Address"
        return FieldClass(field.name, kind, "int", path)
    if ctype in ("void*", "const void*"):
        return FieldClass(field.name, "Pointer", "int", path)
    name = STRUCT_BY_SPELLING[ctype]
    return FieldClass(field.name, "Struct", name, path, f"kStruct_{name}")


def _fields(
    owner: Struct, name: str, fields: tuple[Field, ...], before: str, made: list[StructClass]
) -> tuple[FieldClass, ...]:
    """The attributes of a struct. Nested structs without a name of their own get classes, appended to `made`."""
    found: list[FieldClass] = []
    for field in fields:
        if field.members and not field.name:
            found += _fields(owner, name, field.members, before, made)
        elif field.members:
            nested = f"_{name.lstrip('_')}_{field.name}"
            path = before + field.name
            spelling = f"std::remove_reference_t<decltype(std::declval<{owner.spelling}&>().{path})>"
            inner = _fields(owner, nested, field.members, path + ".", made)
            made.append(StructClass(nested, f"Part of {name.lstrip('_')}.", spelling, _relative(inner, path)))
            found.append(FieldClass(field.name, "Struct", nested, path, f"kStruct_{nested}"))
        elif not _is_hidden(name, field):
            found.append(_field(owner, field, before + field.name, fields))
    return tuple(found)


def _relative(fields: tuple[FieldClass, ...], path: str) -> tuple[FieldClass, ...]:
    """Paths of a nested struct's fields begin at the nested struct."""

    def cut(text: str) -> str:
        return text.removeprefix(path + ".")

    return tuple(replace(f, path=cut(f.path), count_path=cut(f.count_path)) for f in fields)


def _struct_classes() -> tuple[StructClass, ...]:
    made: list[StructClass] = []
    for struct in _STRUCTS:
        name = struct_name(struct)
        fields = _fields(struct, name, struct.fields, "", made)
        extra = 0
        if name == "infinirtDeviceProp":
            fields += tuple(FieldClass(n, "Int32", "int", "") for n in DEVICE_PROPERTIES)
            extra = len(DEVICE_PROPERTIES)
        made.append(StructClass(name, struct.doc, struct.spelling, fields, extra))
    return tuple(made)


STRUCT_CLASSES = _struct_classes()

SECOND_NAMES: dict[str, str] = {
    **{e.tag: e.typedef for e in ENUM_CLASSES if e.typedef and e.tag != e.typedef},
    **{s.tag: s.typedef for s in _STRUCTS if s.typedef and s.tag != s.typedef},
    **{n: _ENUM_BY_SPELLING[n] for n in _RENAMES if n in _ENUM_BY_SPELLING},
    **{n: STRUCT_BY_SPELLING[n] for n in _RENAMES if n in STRUCT_BY_SPELLING},
}
"""Other names of classes: tags of types that have a typedef, and the header's renames."""

_MEMBER_VALUES = {m.name: m.value for e in ENUM_CLASSES for m in e.enumerators}

CONSTANTS: dict[str, int] = {
    **{d.name: d.value for g in DEFINES for d in g.defines if d.value is not None},
    **{n: _MEMBER_VALUES[t] for n, t in _RENAMES.items() if t in _MEMBER_VALUES},
    "infinirtKernelNodeAttributeNvlinkUtilCentricScheduling": 16,
}
"""Constants of the header; the last one is 13's."""
