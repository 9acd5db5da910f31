"""What the documentation shows is true: Python blocks run, C blocks compile, commands exist, links lead somewhere, and what is
generated is up to date."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType

import pytest

from installed import directory, program

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


@pytest.mark.parametrize(
    "name", [name for name, page in zip(NAMES, PAGES, strict=True) if blocks(page, "python")]
)
def test_python_blocks_run(name: str) -> None:
    code = "\n".join(blocks(ROOT / name, "python"))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "INFINIRT_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    for expected in re.findall(r"print\(.*\)\s+# (.*)", code):
        assert expected in done.stdout


@pytest.mark.parametrize("name", [name for name, page in zip(NAMES, PAGES, strict=True) if blocks(page, "c")])
def test_c_blocks_compile(name: str, tmp_path: Path) -> None:
    compiler = os.environ.get("CC") or program("cc", "gcc")
    assert compiler is not None
    for number, block in enumerate(blocks(ROOT / name, "c")):
        lines = block.splitlines()
        outside = [line for line in lines if line.startswith("#")]
        body = [line for line in lines if not line.startswith("#")]
        # Functions stay at file scope; everything after the last of them is inside one.
        split = max((i + 1 for i, line in enumerate(body) if line == "}"), default=0)
        source = tmp_path / f"block{number}.c"
        source.write_text(
            "\n".join(
                [
                    "#include <stdio.h>",
                    "#include <infinirt_ext.h>",
                    *outside,
                    *body[:split],
                    "void shown(infinirtStream_t stream, void **args) {",
                    "(void)stream; (void)args;",
                    *(line for line in body[split:] if not line.startswith("infinirtStream_t stream;")),
                    "}",
                ]
            )
        )
        done = subprocess.run(
            [compiler, "-std=c11", "-fsyntax-only", f"-I{directory('--include-dir')}", str(source)],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{name}, block {number}:\n{done.stderr}"


def test_every_block_says_what_it_is() -> None:
    """Python runs, C compiles, shell and the others are read by their own parsers; a block without a language is text."""
    known = {"python", "py", "c", "sh", "toml", "cmake", ""}
    for name, page in zip(NAMES, PAGES, strict=True):
        opened = re.findall(r"^```(.*)$", page.read_text(), re.M)[::2]
        assert set(opened) <= known, name


@pytest.mark.parametrize(
    "name", [name for name, page in zip(NAMES, PAGES, strict=True) if blocks(page, "sh")]
)
def test_shell_blocks_are_shell(name: str) -> None:
    for block in blocks(ROOT / name, "sh"):
        done = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name", [name for name, page in zip(NAMES, PAGES, strict=True) if blocks(page, "py")]
)
def test_blocks_that_need_a_gpu_are_python(name: str) -> None:
    for block in blocks(ROOT / name, "py"):
        compile(block, name, "exec")


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    # In code, `launch[grid](y)` is none.
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name} links to {target}"


def anchor_of(heading: str) -> str:
    """As GitHub and the site make it of a heading's text, but for repeated headings."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading).strip().lower()
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", text))


def anchors(page: Path) -> set[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    return {anchor_of(heading) for heading in re.findall(r"^#+ (.*)$", text, re.M)}


@pytest.mark.parametrize("name", NAMES)
def test_links_to_headings_lead_somewhere(name: str) -> None:
    page = ROOT / name
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
    for target, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", text):
        assert anchor in anchors(page.parent / target if target else page), f"{name}: {target}#{anchor}"


def tool(name: str) -> ModuleType:
    found = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module  # where dataclasses look for it
    found.loader.exec_module(module)
    return module


def in_navigation() -> list[str]:
    text = (ROOT / "tools" / "mkdocs.yml").read_text()
    return re.findall(r"([\w./-]+\.md)$", text[text.index("\nnav:") :], re.M)


def test_every_page_is_in_the_navigation_once() -> None:
    """The decisions are there by themselves, the reference is made of the sources when the site is built."""
    listed = sorted(in_navigation())
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("*.md")]
    expected = sorted([*pages, *tool("reference_pages").pages()])
    assert set(expected) - set(listed) == set(), "give these pages a place in the nav of tools/mkdocs.yml"
    assert listed == expected


def test_the_index_leads_to_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    missing = [page for page in pages if f"({page}" not in index and page != "index.md"]
    assert missing == [], "name these pages in docs/index.md"


def test_the_reference_has_every_function_and_every_name() -> None:
    made = tool("reference_pages").pages()
    text = "".join(made.values())
    for header in ("infinirt.h", "infinirt_ext.h", "infiniccl.h"):
        code = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / header).read_text(), flags=re.S)
        declared = re.findall(r"\b(infini(?:rt|ccl)\w+)\(", code)
        functions = {re.sub(r"_pt[ds]s?z?$", "", name) for name in declared}  # a form for per-thread streams
        assert len(functions) > 10
        assert sorted(name for name in functions if f"{name}(" not in text) == [], header
    for package in ("infinirt", "infiniccl"):
        tree = ast.parse((ROOT / "src" / package / "__init__.py").read_text())
        names = next(
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        )
        missing = [n for n in names if f"::: {package}.{n}\n" not in text and not n.startswith("__")]
        assert missing == [], package


@pytest.mark.parametrize("script", ["alignment.py", "draw_pictures.py"])
def test_generated_files_are_what_their_script_makes(script: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / script), "--check"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "picture", sorted((ROOT / "docs" / "pictures").glob("*.svg")), ids=lambda path: path.stem
)
def test_pictures_can_be_read_by_everybody(picture: Path) -> None:
    """Well-formed, told in words, and drawn for light and dark."""
    root = ElementTree.parse(picture).getroot()
    svg = "{http://www.w3.org/2000/svg}"
    assert root.findtext(f"{svg}title")
    assert root.findtext(f"{svg}desc")
    assert "prefers-color-scheme: dark" in (root.findtext(f"{svg}style") or "")
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    for text in root.iter(f"{svg}text"):
        # Letters are about half as wide as they are high; a line that is wider than the picture would be cut.
        size = 12 if text.get("class") == "small" else 14
        reach = len(text.text or "") * size * 0.52
        start = float(text.attrib["x"]) - (reach / 2 if text.get("text-anchor") == "middle" else 0)
        assert start >= 0, text.text
        assert start + reach <= width, text.text
        assert 0 < float(text.attrib["y"]) < height, text.text


def commands(page: Path) -> list[list[str]]:
    """Every call of our command line in shell blocks, as words."""
    found = []
    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            called = re.match(r"(?:[A-Z_]+=\S+ )*(?:python -m )?infinirt (.+)", line)
            if called:
                found.append(shlex.split(called[1], comments=True))
    return found


@pytest.mark.parametrize("name", [name for name, page in zip(NAMES, PAGES, strict=True) if commands(page)])
def test_commands_of_shell_blocks_exist(name: str) -> None:
    import typer.main

    from infinirt.tools.cli import app

    known = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for words in commands(ROOT / name):
        if words[0].startswith("--"):
            continue  # the flags of `python -m infinirt` that print folders
        assert words[0] in known, f"{name}: infinirt {' '.join(words)}"
        options = {option for parameter in known[words[0]].params for option in parameter.opts}
        for word in words[1:]:
            if words[0] in ("run", "trace", "sanitize") and (
                word.endswith(".py") or word in ("infinirt", "-m")
            ):
                break  # what follows are the program's own
            if word.startswith("-"):
                assert word.split("=")[0] in options, f"{name}: infinirt {' '.join(words)}"


@pytest.mark.peer("mkdocs-material", "mkdocstrings-python")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "--quiet",
            "--config-file",
            str(ROOT / "tools" / "mkdocs.yml"),
            "--site-dir",
            str(tmp_path),
        ],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "infinirtMemcpyAsync" in (tmp_path / "reference" / "infinirt-h" / "index.html").read_text()
    # Words of C++'s docstrings, and an example as code.
    buffer = (tmp_path / "reference" / "python-buffer" / "index.html").read_text()
    assert "Fills the memory, in stream order" in buffer
    assert '<span class="gp">&gt;&gt;&gt; </span>' in buffer
    pages = "".join(page.read_text() for page in tmp_path.glob("*/index.html"))
    for picture in (ROOT / "docs" / "pictures").iterdir():
        assert (tmp_path / "pictures" / picture.name).is_file()
        assert f"pictures/{picture.name}" in pages, "every picture is shown"
    # Nothing is loaded from elsewhere.
    start = (tmp_path / "index.html").read_text()
    assert re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"?https?:", start) == []


def test_the_list_of_operators_is_what_the_schema_says() -> None:
    done = subprocess.run([sys.executable, "-m", "infiniop"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (ROOT / "docs" / "operator-list.md").read_text() == done.stdout, (
        "docs/operator-list.md is out of date: python -m infiniop > docs/operator-list.md"
    )


def test_the_capability_table_is_what_the_runtime_says() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "capabilities.py"), "--check"],
        env={**os.environ, "INFINIRT_CPU_MIN": "1", "INFINIRT_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
