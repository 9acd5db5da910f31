"""The Python shapes of functions, derived from their C prototypes.

A parameter that C writes through becomes a result, every other one an argument, in C's order. What does not fit is either
in `overrides` or written by hand.
"""

from __future__ import annotations

from ..functions import FUNCTIONS
from ..model import Function, Param
from . import extensions, overrides
from .by_hand import BY_HAND
from .classes import STRUCT_BY_SPELLING, enum_of, is_enum, is_handle
from .model import Gil, Input, Output, Shape

# C type -> C++ converter, C++ variable type, C++ maker of the Python object
_NUMBERS = {
    "int": ("to_int", "int", "PyLong_FromLong({var})"),
    "unsigned int": ("to_uint", "unsigned int", "PyLong_FromUnsignedLong({var})"),
    "size_t": ("to_size", "size_t", "PyLong_FromSize_t({var})"),
    "unsigned long long": ("to_u64", "unsigned long long", "PyLong_FromUnsignedLongLong({var})"),
}


def _number(name: str, ctype: str) -> Input:
    convert, cpp, _ = _NUMBERS[ctype]
    return Input(name, "_Int", f"{cpp} {{var}} = 0;", f"{convert}({{slot}}, {{what}}, &{{var}})", "{var}")


def _input(f: Function, p: Param, name: str) -> Input | None:
    """The argument for a C parameter, or None if C writes through it."""
    ctype = p.ctype
    plain = ctype.removeprefix("const ")
    if ctype in _NUMBERS:
        return _number(name, ctype)
    if is_enum(ctype):
        enum = enum_of(ctype)
        return Input(
            name, f"{enum} | _Int", f"{enum} {{var}}{{{{}}}};", "to_enum({slot}, {what}, &{var})", "{var}"
        )
    if is_handle(ctype):
        constant = f"kHandle_{ctype}"
        annotation = "_Stream" if ctype == "infinirtStream_t" else f"{ctype} | _Int | None"
        convert = f"to_handle({{slot}}, {constant}, {{what}}, &{{var}})"
        return Input(name, annotation, f"{ctype} {{var}} = nullptr;", convert, "{var}")
    if ctype == "const char*":
        return Input(
            name, "_Text", "const char* {var} = nullptr;", "to_text({slot}, {what}, &{var})", "{var}"
        )
    if (f.name, p.name) in overrides.OUTPUT_POINTERS:
        return None
    if ctype in ("void*", "const void*"):
        return Input(name, "_Pointer", "PointerArgument {var};", "{var}.take({slot}, {what})", "{var}.get()")
    if ctype in STRUCT_BY_SPELLING:
        struct = STRUCT_BY_SPELLING[ctype]
        convert = f"to_struct({{slot}}, kStruct_{struct}, {{what}}, &{{var}})"
        return Input(name, struct, f"{ctype} {{var}};", convert, "{var}")
    if not plain.endswith("*") or plain.endswith("**"):
        return None
    element = plain.removesuffix("*")
    reads = ctype.startswith("const ")
    if (reads or (f.name, p.name) in overrides.INPUT_ARRAYS) and is_handle(element):
        convert = f"to_handle_array({{slot}}, kHandle_{element}, {{what}}, &{{var}})"
        annotation = f"_Sequence[{element}]"
        return Input(name, annotation, f"Array<{element}> {{var}};", convert, "{var}.get()", _count(f, p))
    if element in STRUCT_BY_SPELLING and (reads or (f.name, p.name) in overrides.INPUT_STRUCTS):
        struct = STRUCT_BY_SPELLING[element]
        if (count := _count(f, p)) is not None:
            convert = f"to_struct_array({{slot}}, kStruct_{struct}, {{what}}, &{{var}})"
            annotation = f"_Sequence[{struct}]"
            optional = struct == "infinirtGraphEdgeData"
            return Input(
                name, annotation, f"Array<{element}> {{var}};", convert, "{var}.get()", count, optional
            )
        convert = f"to_struct_pointer({{slot}}, kStruct_{struct}, {{what}}, &{{var}})"
        return Input(name, f"{struct} | None", f"{element}* {{var}} = nullptr;", convert, "{var}")
    return None


def _count(f: Function, p: Param) -> str | None:
    """The parameter that says how long an array is: the first `size_t` after it that counts something."""
    if f.name in ("infinirtMemPoolSetAccess",) and p.name == "descList":
        return "count"
    after = f.params[f.params.index(p) + 1 :]
    return next((q.name for q in after if q.ctype == "size_t" and q.name.startswith("num")), None)


def _output(f: Function, p: Param) -> Output:
    """The result for a C parameter that C writes through."""
    if not p.ctype.endswith("*"):
        raise ValueError(f"{f.name}: cannot tell what {p.declaration} is in Python")
    is_address = (f.name, p.name) in overrides.OUTPUT_POINTERS
    ctype = p.ctype if is_address else p.ctype.removesuffix("*")
    name = p.name
    if ctype in _NUMBERS:
        _, cpp, make = _NUMBERS[ctype]
        return Output(name, "int", f"{cpp} {{var}} = 0;", "&{var}", make, ctype == "int")
    if ctype == "float":
        return Output(name, "float", "float {var} = 0;", "&{var}", "PyFloat_FromDouble({var})")
    if is_enum(ctype):
        enum = enum_of(ctype)
        make = f"enum_member(enum_types[kEnum_{enum}], static_cast<int>({{var}}))"
        return Output(name, enum, f"{enum} {{var}}{{{{}}}};", "&{var}", make)
    if is_handle(ctype):
        make = f"from_handle(kHandle_{ctype}, {{var}})"
        return Output(name, ctype, f"{ctype} {{var}} = nullptr;", "&{var}", make)
    if ctype == "void*":
        return Output(name, "int", "void* {var} = nullptr;", "&{var}", "from_pointer({var})", is_address=True)
    if ctype == "const char*":
        if f.group == "extension":
            return Output(name, "str", "const char* {var} = nullptr;", "&{var}", "from_text({var})")
        return Output(name, "bytes", "const char* {var} = nullptr;", "&{var}", "from_bytes({var})")
    if ctype in STRUCT_BY_SPELLING:
        struct = STRUCT_BY_SPELLING[ctype]
        return Output(
            name, struct, f"{ctype} {{var}}{{{{}}}};", "&{var}", f"from_struct(kStruct_{struct}, {{var}})"
        )
    raise ValueError(f"{f.name}: cannot tell what {p.declaration} is in Python")


def gil_of(f: Function) -> Gil:
    if f.name in overrides.CORE or f.group == "error":
        return "core"
    if f.name in overrides.COPIES:
        return "copy"
    if f.name in overrides.ALLOCATIONS:
        return "allocation"
    if f.name in overrides.RELEASE:
        return "release"
    if f.group in overrides.RELEASE_GROUPS and f.name not in overrides.KEEP:
        return "release"
    return "keep"


def _python_name(f: Function, p: Param) -> str:
    names = overrides.PARAMETER_NAMES
    return names.get((f.name, p.name)) or names.get(("*", p.name)) or p.name


def _shape(f: Function, name: str, doc: str, older: Shape | None = None) -> Shape:
    inputs: list[Input] = []
    outputs: list[Output] = []
    arguments: list[str] = []
    for p in f.params:
        made = _input(f, p, _python_name(f, p))
        if made is not None:
            inputs.append(made)
            arguments.append(made.passed.format(var=made.var))
        else:
            output = _output(f, p)
            outputs.append(output)
            arguments.append(output.passed.format(var=output.var))
    text: dict[str, str] = {"const char*": "str" if f.group == "extension" else "bytes"}
    return Shape(
        name=name,
        c_name=f.name,
        doc=doc,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        c_arguments=tuple(arguments),
        gil=gil_of(f),
        query=overrides.QUERIES.get(f.name),
        returns_text=text.get(f.returns, ""),  # type: ignore[arg-type]
        older=older,
    )


def _derive() -> tuple[Shape, ...]:
    functions = {f.name: f for f in (*FUNCTIONS, *extensions.FUNCTIONS)}
    by_hand = {b.name for b in BY_HAND}
    shapes = []
    for f in functions.values():
        if f.name in by_hand:
            continue
        called = functions[overrides.CALLS.get(f.name, f.name)]
        older = _shape(f, f.name + "__older", f.doc) if f.name in overrides.OLDER_SHAPES else None
        shapes.append(_shape(called, f.name, f.doc, older))
    return tuple(shapes)


SHAPES: tuple[Shape, ...] = _derive()

PER_THREAD_SUFFIX: dict[str, str] = {f.name: f.per_thread_suffix for f in FUNCTIONS}
