"""What the documentation shows is true: Python blocks run, C blocks compile, links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    # In code, `launch[grid](y)` is none.
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name} links to {target}"


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
