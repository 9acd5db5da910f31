"""The specification keeps its own rules, and the generator turns all of it into code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from api_spec import DEFINES, ENUMS, ERROR, FUNCTIONS, GENERATOR, ROOT, STRUCTS, model, symbols


def generated(what: str, folder: Path) -> str:
    out = folder / what
    command = [sys.executable, "-B", str(GENERATOR), "--what", what, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return out.read_text(encoding="utf-8")


def test_names_are_unique() -> None:
    names = [f.name for f in FUNCTIONS] + [s.tag for s in STRUCTS] + [e.tag for e in ENUMS]
    names += [entry.name for enum in ENUMS for entry in enum.enumerators]
    names += [define.name for group in DEFINES for define in group.defines]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.short)
def test_routes_name_parameters(function: model.Function) -> None:
    parameters = {p.name: p.ctype for p in function.params}
    structs = {s.spelling: s for s in STRUCTS}
    for step in function.route.steps:
        for path in step.args:
            base, *members = re.split(r"->|\.", path)
            assert base in parameters
            if members:
                ctype = re.sub(r"^const |\*$", "", parameters[base])
                assert ".".join(members) in set(_reachable(structs[ctype], structs))
            elif step.kind == "stream":
                assert parameters[base] == "infinirtStream_t"
            elif step.kind == "handle":
                assert parameters[base].endswith("_t")
            else:
                assert parameters[base] in ("void*", "const void*")


def _reachable(struct: model.Struct, structs: dict[str, model.Struct]) -> list[str]:
    paths = list(struct.leaf_paths())
    for field in struct.fields:
        if field.ctype in structs:
            paths += [f"{field.name}.{inner}" for inner in _reachable(structs[field.ctype], structs)]
    return paths


def test_functions_are_documented_in_sentences() -> None:
    assert [f.name for f in FUNCTIONS if not re.fullmatch(r"[A-Z].*\.", f.doc)] == []


def test_aliases_have_the_shape_of_what_they_stand_for() -> None:
    by_name = {f.name: f for f in FUNCTIONS}
    aliases = [f for f in FUNCTIONS if f.alias_of]
    assert aliases
    for alias in aliases:
        assert alias.params == by_name[alias.alias_of].params
        assert by_name[alias.alias_of].in_table


def test_every_reshaped_function_names_a_symbol_of_cuda_13() -> None:
    reshaped = {f.short for f in FUNCTIONS if f.cuda13 and f.cuda13.params is not None and not f.alias_of}
    assert reshaped >= {
        "MemAdvise",
        "MemPrefetchAsync",
        "GraphGetEdges",
        "GraphNodeGetDependencies",
        "GraphNodeGetDependentNodes",
        "GraphAddDependencies",
        "GraphRemoveDependencies",
        "GraphAddNode",
        "StreamUpdateCaptureDependencies",
        "StreamGetCaptureInfo",
    }
    for function in FUNCTIONS:
        if re.search(r"_v\d$", function.name):
            assert function.cuda13 is not None
            assert function.cuda13.symbol == re.sub(r"_v\d$", "", function.cuda_name)


def test_error_texts_are_distinct_phrases() -> None:
    texts = [entry.doc for entry in ERROR.enumerators]
    assert len(ERROR.enumerators) == 134
    assert len(set(texts)) == len(texts)
    assert all(re.fullmatch(r"[a-zA-Z].*[^.\s]", text) for text in texts)


def test_table_dispatch_and_list_cover_the_same_functions(tmp_path: Path) -> None:
    entries = [f.short for f in FUNCTIONS if f.in_table]
    table = generated("table", tmp_path)
    assert re.findall(r"\(\*(\w+)\)\(", table) == entries
    assert re.findall(r'^ +"infinirt(\w+)",$', table, re.M) == entries
    assert re.findall(r"INFINIRT_FN\((\w+)\)$", generated("fill", tmp_path), re.M) == entries
    assert re.findall(r"unsupported_call\(FunctionId::(\w+)\)", generated("unsupported", tmp_path)) == entries

    dispatch = generated("dispatch", tmp_path)
    defined = re.findall(
        r'^extern "C" INFINIRT_EXPORT(?: __attribute__\(\(.*?\)\)\)?)? \w+ (\w+)\(', dispatch, re.M
    )
    expected = {f.name for f in FUNCTIONS if not f.route.is_core}
    expected |= {f.name + f.per_thread_suffix for f in FUNCTIONS if f.per_thread_suffix}
    assert len(defined) == len(set(defined))
    assert set(defined) == expected


def test_version_script_exports_the_public_names_only(tmp_path: Path) -> None:
    script = generated("version_script", tmp_path)
    match = re.fullmatch(r"INFINIRT_1 \{\s*global:(?P<names>[^:]*)local:\s*\*;\s*\};\s*", script)
    assert match is not None
    exported = match["names"].replace(";", " ").split()
    assert len(exported) == len(set(exported))
    assert {f.name for f in FUNCTIONS} < set(exported)
    extensions = [name for name in exported if name.startswith("infinirtX")]
    headers = [
        ROOT / "include" / name for name in ("infinirt_ext.h", "infinirt_plugin_host.h", "infinirt_observe.h")
    ]
    assert extensions == symbols.extension_names("".join(h.read_text(encoding="utf-8") for h in headers))
    assert {"infinirtXSetDeviceType", "infinirtXTraceBegin"} <= set(extensions)


def test_extension_names_come_from_declarations_not_comments() -> None:
    text = "/* see infinirtXOld() */ // infinirtXOlder()\nint infinirtXNew (int);\ntypedef int (*infinirtXFn)(int);"
    assert symbols.extension_names(text) == ["infinirtXNew"]


def test_the_generator_needs_nothing_of_the_package() -> None:
    program = f"""
import runpy, sys
sys.argv = ["generate.py", "--what", "table", "--out", "/dev/null"]
try:
    runpy.run_path({str(GENERATOR)!r}, run_name="__main__")
except SystemExit as stop:
    assert not stop.code
assert "infinirt_spec" in sys.modules
assert "infinirt" not in sys.modules
"""
    command = [sys.executable, "-I", "-B", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_parameters_are_parsed() -> None:
    params = model.parse_params(
        "const infinirtGraphNode_t **nodes, enum infinirtLimit limit, unsigned int n = 0"
    )
    assert [(p.name, p.ctype, p.default) for p in params] == [
        ("nodes", "const infinirtGraphNode_t**", None),
        ("limit", "enum infinirtLimit", None),
        ("n", "unsigned int", "0"),
    ]
    assert model.parse_params("void") == ()
    with pytest.raises(ValueError, match="not a parameter"):
        model.parse_params("int")


def test_struct_bodies_are_parsed() -> None:
    struct = model.struct("S", "", "int a[3]; union { long b; struct { void *c; } d; }; union { int f; } e;")
    assert list(struct.leaf_paths()) == ["a", "b", "d", "d.c", "e", "e.f"]
    assert struct.fields[0].array == 3


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("int a", "missing ';'"),
        ("int a; }", "unbalanced"),
        ("struct { int a; ", "cannot read"),
        ("enum { int a; } b;", "cannot read"),
        ("int;", "not a field"),
    ],
)
def test_wrong_struct_bodies_are_refused(body: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        model.parse_fields(body)


@pytest.mark.parametrize(
    "text", ["somewhere", "stream", "core:x", "pointers:a", "handle:a|current", "stream:a|handle:b|current"]
)
def test_wrong_routes_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="route"):
        model.Route.parse(text)
