"""C and C++ files include downwards only (the table in docs/decisions/0001-shape-of-the-core.md)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tree import ROOT, in_project

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<(?P<system>[^>]+)>|"(?P<quoted>[^"]+)")', re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
C11_NAMES = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbool
stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype
"""
C11_HEADERS = {f"{name}.h" for name in C11_NAMES.split()}
# Each layer of csrc, and the layers below it that it may include. `include` and generated code are open to all.
MAY_INCLUDE = {
    "core": {"core"},
    "allocator": {"core", "allocator"},
    "cache": {"core", "allocator", "cache"},
    "torch": {"torch"},
    "engine": {"core", "allocator", "engine"},
    "backends": {"core", "allocator", "engine"},  # and the backend's own folder
    "bindings": {"bindings"},
}
# Both sides of the plugin interface write or read the same tables; the file knows nothing of the runtime.
LAYOUTS = ("backends", "plugin", "layouts.h")
# The formats of narrow numbers, written once: collectives compute with them, too.
NARROW_TYPES = ("op", "narrow.h")
VENDOR_NAMES = re.compile(
    r"\b(nvidia|libcudart\w*|nvrtc|amd|rocm|hip|musa|metax|hygon|iluvatar|ascend|aclrt|cambricon|cnrt|kunlun|paddle\w*)\b",
    re.IGNORECASE,
)


def sources(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in {".h", ".cpp", ".c", ".inc"})


def includes(path: Path) -> list[tuple[str, bool]]:
    """Each included name, and whether it stood in angle brackets."""
    text = COMMENT.sub("", path.read_text(encoding="utf-8"))
    return [
        (match["system"] or match["quoted"], match["system"] is not None) for match in INCLUDE.finditer(text)
    ]


def violation(path: Path, name: str, csrc: Path) -> str | None:
    """Why this file under csrc may not include `name`, or None. System headers are no concern of the layers."""
    layer = path.relative_to(csrc).parts[0]
    generated = (
        "infinirt/generated/",
        "infiniop/generated/",
        "infinicore/generated/",
        "infiniop.h",
        "infiniop/ops/",
    )
    if name.startswith(generated) or (ROOT / "include" / name).is_file():
        return None
    beside = (path.parent / name).resolve()
    target = beside if beside.is_file() else (csrc / name).resolve()
    if not target.is_relative_to(csrc):
        return f"{name} lies outside csrc and include"
    parts = target.relative_to(csrc).parts
    if layer == "paddle" and parts == LAYOUTS:
        return None
    if layer == "ccl" and parts == NARROW_TYPES:
        return None
    if layer == "backends" and parts[0] == "backends":
        own = path.relative_to(csrc).parts[1]
        return None if parts[1] == own else f"backend {own} includes backend {parts[1]}"
    return None if parts[0] in MAY_INCLUDE.get(layer, {layer}) else f"{layer} includes {parts[0]}"


def test_public_headers_include_c_and_each_other_only() -> None:
    wrong = []
    for path in sources("include"):
        for name, system in includes(path):
            own = (path.parent / name).is_file() or (ROOT / "include" / name).is_file()
            standard = system and name in C11_HEADERS
            if not own and not standard:
                wrong.append(f"{in_project(path)}: {name}")
    assert wrong == []


def test_sources_include_downwards_only() -> None:
    csrc = ROOT / "csrc"
    found = [
        f"{in_project(path)}: {reason}"
        for path in sources("csrc")
        for name, system in includes(path)
        if not system and (reason := violation(path, name, csrc))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("core/a.cpp", "engine/stream.h"),
        ("core/a.cpp", "backends/cpu/cpu.h"),
        ("allocator/a.cpp", "engine/stream.h"),
        ("engine/a.cpp", "backends/cpu/cpu.h"),
        ("backends/cpu/a.cpp", "backends/other/b.h"),
        ("bindings/a.cpp", "core/error.h"),
        ("core/a.cpp", "../../tests/cpp/check.h"),
    ],
)
def test_the_check_sees_a_wrong_include(path: str, name: str) -> None:
    csrc = ROOT / "csrc"
    assert violation(csrc / path, name, csrc) is not None


def test_layers_below_the_backends_name_no_vendor() -> None:
    """A backend's name belongs in its folder, its tests and its page; comments may explain with it."""
    found = []
    for folder in ("core", "allocator", "cache", "engine"):
        for path in sources(f"csrc/{folder}"):
            code = COMMENT.sub("", path.read_text(encoding="utf-8"))
            found += [f"{in_project(path)}: {match[0]}" for match in VENDOR_NAMES.finditer(code)]
    assert found == []
