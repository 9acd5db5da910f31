"""C++ of the module's functions."""

from __future__ import annotations

from ..emit.table import HOT
from ..emit.text import c_string
from . import overrides
from .by_hand import BY_HAND
from .model import ByHand, Shape
from .shapes import PER_THREAD_SUFFIX, SHAPES

# Called by the extension's own machinery.
_ALWAYS = (
    "infinirtXCallMayWait",
    "infinirtXGetDeviceType",
    "infinirtXDrain",
    "infinirtGetLastError",
    "infinirtXGetProcAddress",
)


def render_api() -> str:
    names: set[str] = set(_ALWAYS)
    for shape in SHAPES:
        names.add(shape.c_name)
        names |= {n for n in (shape.query, shape.older and shape.older.c_name) if n}
    for entry in BY_HAND:
        names |= set(entry.uses)
    lines = (f'INFINIRT_FLAT_API({n}, "{PER_THREAD_SUFFIX.get(n, "")}")\n' for n in sorted(names))
    return "".join(lines)


def _signature(name: str, parameters: list[str], required: int) -> str:
    listed = ", ".join(c_string(p) for p in parameters)
    return (
        f"inline constexpr const char* names_{name}[] = {{{listed or 'nullptr'}}};\n"
        f"inline constexpr Signature signature_{name}{{{c_string(name.removesuffix('__older'))}, names_{name}, "
        f"{len(parameters)}, {required}}};\n"
    )


def render_by_hand() -> str:
    return "".join(
        _signature(b.name, [n for n, _ in b.parameters], b.required) + f"INFINIRT_FLAT_BY_HAND(py_{b.name})\n"
        for b in BY_HAND
    )


def _call(shape: Shape) -> str:
    arguments = ", ".join(shape.c_arguments)
    call = f"[&] {{ return api.{shape.c_name}({arguments}); }}"
    if shape.gil == "core":
        return f"api.{shape.c_name}({arguments})"
    if shape.query is not None:
        return f"query_first([&] {{ return api.{shape.query}({arguments}); }}, {call})"
    if shape.gil == "copy":
        return f"copy_call(in_kind, {call})"
    if shape.gil == "allocation":
        return f"allocation_call({call})"
    return f"{'quick' if shape.gil == 'keep' else 'blocking'}_call({call})"


def _success(shape: Shape) -> str:
    first, *rest = shape.outputs
    if not rest and first.is_small_number:
        return f"success_number({first.var})"
    if not rest and first.is_address:
        return f"success_address({first.var})"
    return f"success({', '.join(r.make.format(var=r.var) for r in shape.outputs)})"


def _function(shape: Shape) -> str:
    out = []
    total = len(shape.inputs)
    hot = "[[gnu::hot, gnu::aligned(64)]] " if shape.c_name.removeprefix("infinirt") in HOT else ""
    if shape.older is not None:
        out.append(_function(shape.older))
    if total:
        out.append(_signature(shape.name, [i.name for i in shape.inputs], total))
        out.append(
            f"{hot}PyObject* py_{shape.name}(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {{\n"
        )
        if shape.older is not None:
            out.append(
                f"  if (argument_count(given, keyword_names) == {len(shape.older.inputs)}) "
                f"return py_{shape.older.name}(nullptr, args, given, keyword_names);\n"
            )
        out.append(f"  INFINIRT_BIND(signature_{shape.name}, {total})\n")
    else:
        out.append(f"{hot}PyObject* py_{shape.name}(PyObject*, PyObject*) {{\n")
    for i, arg in enumerate(shape.inputs):
        convert = arg.convert.format(var=arg.var, slot=f"args[{i}]", what=c_string(arg.name))
        out.append(f"  {arg.declare.format(var=arg.var)}\n  if (!{convert}) [[unlikely]] return nullptr;\n")
    for arg in shape.inputs:
        if arg.count is not None:
            given = f"{arg.var}.size() != 0 && " if arg.may_be_absent else ""
            check = f"!{arg.var}.has(in_{arg.count}, {c_string(arg.name)})"
            out.append(f"  if ({given}{check}) return nullptr;\n")
    for pointer, size, writes in overrides.EXTENTS.get(shape.c_name, ()):
        check = f'in_{pointer}.has(in_{size}, {str(writes).lower()}, "{pointer}")'
        out.append(f"  if (!{check}) [[unlikely]] return nullptr;\n")
    for result in shape.outputs:
        out.append(f"  {result.declare.format(var=result.var)}\n")
    if shape.returns_text:
        convert = {"bytes": "from_bytes", "str": "from_text"}[shape.returns_text]
        out.append(f"  return success({convert}({_call(shape)}));\n}}\n\n")
        return "".join(out)
    out.append(f"  const infinirtError_t error = {_call(shape)};\n")
    if shape.outputs:
        out.append(
            f"  if (error != infinirtSuccess) [[unlikely]] return failure(error, {len(shape.outputs)});\n"
        )
        out.append(f"  return {_success(shape)};\n}}\n\n")
    else:
        out.append("  return status(error);\n}\n\n")
    return "".join(out)


def _doc(name: str, parameters: str, doc: str) -> str:
    return c_string(f"{name}({parameters})\n--\n\n{doc}").replace("\n", "\\n")


def _method(name: str, flags: str, doc: str) -> str:
    function = f"reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_{name}))"
    return f"    {{{c_string(name)}, {function}, {flags}, {doc}}},\n"


def _by_hand_parameters(entry: ByHand) -> str:
    parts = []
    for name, annotation in entry.parameters:
        _, equals, default = annotation.partition("=")
        parts.append(f"{name}={default.strip()}" if equals else name)
    return ", ".join(parts)


def render_functions() -> str:
    out = [_function(s) for s in SHAPES]
    out.append("PyMethodDef methods[] = {\n")
    for shape in SHAPES:
        flags = "METH_FASTCALL | METH_KEYWORDS" if shape.inputs else "METH_NOARGS"
        parameters = ", ".join(i.name for i in shape.inputs)
        out.append(_method(shape.name, flags, _doc(shape.name, parameters, shape.doc)))
    for entry in BY_HAND:
        doc = _doc(entry.name, _by_hand_parameters(entry), entry.doc)
        out.append(_method(entry.name, "METH_FASTCALL | METH_KEYWORDS", doc))
    out.append("    {nullptr, nullptr, 0, nullptr},\n};\n")
    return "".join(out)
