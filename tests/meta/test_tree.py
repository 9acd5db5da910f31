"""Rules about files: how long they are, what they must not mention, and that copies of one fact agree."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tree import ROOT, in_project, is_generated, project_files, text_of

CODE = {".py", ".pyi", ".h", ".c", ".cpp", ".inc", ".cmake", ".sh"}
LONGEST_FILE = 800

# Places that exist on one machine only. Put together here, so that this file does not contain what it forbids.
MACHINE_PLACES = [
    "/work" + "/",
    "/root" + "/",
    "/home" + "/",
    "/tmp" + "/x/",
    "/opt" + "/pypi",
    "/opt" + "/wheels",
]
INDEX_HOSTS = ["pypi" + ".org", "pythonhosted" + ".org", "index" + "-url", "find" + "-links"]


def value_in(path: str, pattern: str) -> str:
    found = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None, f"{path} has no {pattern}"
    return found[1]


def test_no_file_is_too_long() -> None:
    lengths = {
        in_project(path): (text_of(path) or "").count("\n")
        for path in project_files()
        if path.suffix in CODE and not is_generated(path)
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


@pytest.mark.parametrize("literal", MACHINE_PLACES + INDEX_HOSTS)
def test_no_file_depends_on_one_machine(literal: str) -> None:
    files = [in_project(path) for path in project_files() if literal in (text_of(path) or "")]
    assert files == []


def test_text_files_end_with_a_newline_and_hold_no_carriage_returns() -> None:
    wrong = []
    for path in project_files():
        text = text_of(path)
        if text and (not text.endswith("\n") or "\r\n" in text):
            wrong.append(in_project(path))
    assert wrong == []


def test_committed_header_is_what_the_specification_says() -> None:
    generator = ROOT / "src" / "infinirt" / "_spec" / "generate.py"
    done = subprocess.run(
        [sys.executable, str(generator), "--what", "header", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_changelog_has_a_place_for_the_next_change() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "\n## " in text
    assert "\n### ABI" in text


def headings(path: Path) -> list[int]:
    """The level of each heading, in order; code blocks are no headings."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [len(marks) for marks in re.findall(r"^(#+) ", text, re.MULTILINE)]


@pytest.mark.skipif(not (ROOT / "README.zh-CN.md").exists(), reason="there is no Chinese README")
def test_both_readmes_have_the_same_sections() -> None:
    assert headings(ROOT / "README.zh-CN.md") == headings(ROOT / "README.md")


def test_pre_commit_and_make_use_the_same_tools() -> None:
    pin = re.compile(r"([a-z-]+==[0-9.]+)")
    made = set(pin.findall((ROOT / "tools" / "lint-requirements.txt").read_text(encoding="utf-8")))
    committed = set(pin.findall((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")))
    assert made == committed != set()


def test_make_builds_with_what_the_build_back_end_asks_for() -> None:
    asked = re.findall(r'"([^"]+)"', value_in("pyproject.toml", r"^requires = \[(.*)\]"))
    installed = (ROOT / "tools" / "build-requirements.txt").read_text(encoding="utf-8").split("\n")
    assert [requirement for requirement in asked if requirement not in installed] == []


def test_every_package_is_in_the_wheel() -> None:
    listed = re.findall(r'"([^"]+)"', value_in("pyproject.toml", r"^wheel.packages = \[(.*)\]"))
    present = sorted(f"src/{path.name}" for path in (ROOT / "src").iterdir() if any(path.glob("*.py")))
    assert sorted(listed) == present
