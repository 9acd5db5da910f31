"""Pages of the API reference, made from the sources while the site is built: a hook of mkdocs (see mkdocs.yml).

C: functions of `infinirt.h` from the specification that the header itself is generated from; other headers as they are,
comment by comment. Python: what each package exports, for mkdocstrings to read out of the sources. Nothing is committed, so
nothing can be out of date.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "reference"


@dataclass(frozen=True)
class PythonPage:
    name: str
    title: str
    about: str
    members: tuple[str, ...]


def python_pages() -> list[PythonPage]:
    """A page for each package, and one for infinirt's larger nouns each."""
    names = exported("infinirt")
    nouns = ("Device", "Stream", "Event", "Buffer", "Graph")
    groups = {noun: tuple(name for name in names if belongs(name, noun)) for noun in nouns}
    errors = tuple(name for name in names if name.endswith("Error"))
    memory = tuple(
        name
        for name in names
        if re.search(r"Pool|Resource|Cache|Caching", name) and name not in errors and name[0].isupper()
    )
    taken = {name for group in groups.values() for name in group} | set(errors) | set(memory)
    rest = tuple(name for name in names if name not in taken)
    pages = [
        PythonPage(
            f"python-{noun.lower()}",
            f"infinirt.{noun}",
            "",
            tuple(f"infinirt.{name}" for name in groups[noun]),
        )
        for noun in nouns
    ]
    pages += [
        PythonPage("python-memory", "Memory resources", "", tuple(f"infinirt.{name}" for name in memory)),
        PythonPage("python-errors", "Exceptions", "", tuple(f"infinirt.{name}" for name in errors)),
        PythonPage(
            "python-other", "infinirt: everything else", "", tuple(f"infinirt.{name}" for name in rest)
        ),
        PythonPage(
            "python-infiniccl", "infiniccl", "", tuple(f"infiniccl.{n}" for n in exported("infiniccl"))
        ),
    ]
    objects = [
        name for name in exported("infinicore") if name[0].isupper() or "graph" in name or "device" in name
    ]
    pages.append(
        PythonPage("python-infinicore", "infinicore", "", tuple(f"infinicore.{name}" for name in objects))
    )
    pages.append(PythonPage("python-operators", "Operators", "", ("infinicore.operators",)))
    return pages


def belongs(name: str, noun: str) -> bool:
    also = {
        "Device": ("devices", "device_types", "current_device", "synchronize"),
        "Graph": ("Capture", "capture"),
    }
    return (
        name in also.get(noun, ())
        or bool(re.match(rf"{noun}(?![a-z])", name))
        or (noun == "Stream" and name.endswith("_DEFAULT_STREAM"))
    ) and not name.endswith("Error")


def exported(package: str) -> list[str]:
    """`__all__` of a package, read and not imported."""
    tree = ast.parse((ROOT / "src" / package / "__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        ):
            return [name for name in ast.literal_eval(node.value) if not name.startswith("__")]
    raise ValueError(f"src/{package}/__init__.py has no __all__")


def python_text(page: PythonPage) -> str:
    lines = [f"# {page.title}", "", page.about]
    lines += [f"::: {member}\n    options:\n      heading_level: 2" for member in page.members]
    return "\n\n".join(lines) + "\n"


def specification() -> tuple[Any, ...]:
    """The functions of the C API, from the specification; `infinirt` itself is not imported."""
    name, folder = "infinirt_spec", ROOT / "src" / "infinirt" / "_spec"
    if name not in sys.modules:
        found = importlib.util.spec_from_file_location(
            name, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert found is not None
        assert found.loader is not None
        module = importlib.util.module_from_spec(found)
        sys.modules[name] = module
        found.loader.exec_module(module)
    functions: tuple[Any, ...] = importlib.import_module(f"{name}.functions").FUNCTIONS
    return functions


def runtime_text() -> str:
    lines = [
        "# infinirt.h\n\nThe CUDA Runtime API with `cuda` renamed to `infinirt`. What each device type does natively stands in "
        "[the table of capabilities](../capabilities.md), what differs from CUDA in [the table of alignment](../alignment.md). "
        "Structs and enums are in the header (`python -m infinirt --include-dir`)."
    ]
    group = None
    for function in specification():
        if function.group != group:
            group = function.group
            lines.append(f"## {group}")
        lines.append(f"### {function.name}")
        lines.append(f"```c\n{function.returns} {function.name}({function.parameter_list});\n```")
        lines.append(marked_up(function.doc))
        if function.cuda13 is not None:
            lines.append(f"*CUDA 13:* {marked_up(function.cuda13.note)}")
    return "\n\n".join(lines) + "\n"


HEADERS = {
    "infinirt-ext-h": ("infinirt_ext.h", ""),
    "infinirt-observe-h": ("infinirt_observe.h", ""),
    "infiniccl-h": (
        "infiniccl.h",
        "Collective operations among devices. The guide: [Collectives](../collectives.md).",
    ),
    "infiniop-handle-h": (
        "infiniop/handle.h",
        "The functions of each operator follow one pattern, told in [Operators](../operators.md).",
    ),
    "infiniop-tensor-h": ("infiniop/tensor_descriptor.h", "Descriptions of tensors."),
    "infiniop-chain-h": ("infiniop/chain.h", "Several operators in one pass."),
    "infinirt-plugin-h": (
        "infinirt_plugin.h",
        "For plugins that bring a device type. The guide: [Plugins](../plugins.md).",
    ),
}
_GUARD = re.compile(
    r"^#(ifndef|ifdef|endif|define \w+_H$|include)\b.*$|^extern \"C\" \{$|^\}$|^#if .*$|^#else.*$", re.M
)


def header_text(path: str, about: str) -> str:
    """A header, section by section: what a comment at the start of a line says, and the declarations below it."""
    source = (ROOT / "include" / path).read_text(encoding="utf-8")
    lines = [f"# {path}", about]
    code: list[str] = []

    def flush() -> None:
        text = _GUARD.sub("", "".join(code)).strip("\n")
        text = re.sub(r"\n{3,}", "\n\n", text).strip()
        code.clear()
        if text:
            lines.append(f"```c\n{text}\n```")

    at, first = 0, True
    # A comment that begins a line belongs to what follows it; others belong to their line.
    for match in re.finditer(r"^/\*(.*?)\*/[ \t]*$", source, re.M | re.S):
        code.append(source[at : match.start()])
        flush()
        at = match.end()
        words = plain(match[1])
        title = re.match(r"-+ (.*?) -+(.*)", words, re.S)
        if title:
            lines.append(f"## {title[1].strip().replace('_', chr(92) + '_')}")
            words = title[2].strip()
        elif first:
            words = re.sub(rf"^{re.escape(Path(path).name)}: ", "", words)
        first = False
        if words:
            lines.append(marked_up(words))
    code.append(source[at:])
    flush()
    return "\n\n".join(lines) + "\n"


def plain(comment: str) -> str:
    """A comment without its stars; paragraphs stay apart."""
    return "\n".join(re.sub(r"^[ \t]*\*[ ]?", "", line).rstrip() for line in comment.split("\n")).strip()


def marked_up(words: str) -> str:
    """Names of the API as code; what Markdown would take for markup stays what it is."""
    parts = re.split(r"(`[^`]*`)", words)
    for index in range(0, len(parts), 2):
        text = re.sub(r"([*_<>|])", r"\\\1", parts[index])
        parts[index] = re.sub(
            r"\b(infini(?:rt|op|ccl)\w*|INFINI\w+)(\\_\w+)*",
            lambda match: "`" + match[0].replace("\\", "") + "`",
            text,
        )
    return "".join(parts)


def flat_text() -> str:
    """The flat Python API: what each function takes and returns, from its stubs; what it does is told with the C function."""
    source = (ROOT / "src" / "infinirt" / "runtime.pyi").read_text(encoding="utf-8")
    stubs = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    lines = [
        "# infinirt.runtime\n\nOne Python function for each C function, with the names, parameters and results of `cuda.bindings.runtime` 13, `cuda` "
        "renamed to `infinirt`. What a function does stands with [the C function](infinirt-h.md); extensions are in "
        "[infinirt_ext.h](infinirt-ext-h.md). [How to use it](../from-cuda-python.md)."
    ]
    groups: dict[str, list[str]] = {}
    for function in specification():
        if function.name in stubs:
            groups.setdefault(function.group, []).append(function.name)
    known = {name for names in groups.values() for name in names}
    groups["extensions"] = sorted(name for name in stubs if name.startswith("infinirt") and name not in known)
    for group, names in groups.items():
        shown = "\n".join(signature(stubs[name]) for name in names)
        lines.append(f"## {group}\n\n```python\n{shown}\n```")
    return "\n\n".join(lines) + "\n"


def signature(stub: ast.FunctionDef) -> str:
    returned = f" -> {ast.unparse(stub.returns)}" if stub.returns is not None else ""
    return f"{stub.name}({ast.unparse(stub.args)}){returned}"


def pages() -> dict[str, str]:
    """Every generated page: its path below docs/, and its text."""
    made = {f"{FOLDER}/infinirt-h.md": runtime_text(), f"{FOLDER}/python-runtime.md": flat_text()}
    made |= {f"{FOLDER}/{name}.md": header_text(*what) for name, what in HEADERS.items()}
    made |= {f"{FOLDER}/{page.name}.md": python_text(page) for page in python_pages()}
    return made


def decisions() -> list[dict[str, str]]:
    """The records in docs/decisions, in order, by what their headings say."""
    found = []
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        with path.open(encoding="utf-8") as file:
            title = re.sub(r"^#\s*(\d+[.:]?\s*)?", "", file.readline()).strip()
        found.append({title[0].upper() + title[1:]: f"decisions/{path.name}"})
    return found


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    assert config.nav is not None
    config.nav.append({"Decisions": decisions()})
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to files outside docs/ lead somewhere in a checkout; the site has only their names."""
    return re.sub(
        r"\[([^\]]*)\]\(\.\./((?:examples|include|src|tests|csrc|benchmarks|tools)/[^)#]*)\)",
        outside,
        markdown,
    )


def outside(link: re.Match[str]) -> str:
    return link[1] if link[2].rstrip("/") in link[1] else f"{link[1]} (`{link[2]}`)"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files
