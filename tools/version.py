"""The version, from pyproject.toml, the one place where it stands. `--check`: the changelog and the sources agree with that.

python tools/version.py [--check]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Where a version of ours might be repeated by mistake.
SOURCES = ("CMakeLists.txt", "cmake", "include", "src", "csrc")
TEXT = {".py", ".pyi", ".h", ".cpp", ".inc", ".txt", ".cmake", ".in"}


def version() -> str:
    found = re.search(
        r'^version = "([0-9]+\.[0-9]+\.[0-9]+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M
    )
    if found is None:
        sys.exit('pyproject.toml has no version = "MAJOR.MINOR.PATCH"')
    return found[1]


def problems() -> list[str]:
    found = []
    current = version()
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    if not headings or not any(
        re.match(r"(Unreleased|\[?" + re.escape(current) + r"\]?)", each) for each in headings
    ):
        found.append(f"CHANGELOG.md has neither a section for {current} nor one for what is unreleased")
    for name in SOURCES:
        top = ROOT / name
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.suffix in TEXT and path.is_file():
                text = path.read_text(encoding="utf-8")
                if re.search(r"__version__\s*=\s*[\"']\d|project\(InfiniRT VERSION \d", text):
                    found.append(f"{path.relative_to(ROOT)} has a version of its own")
    return found


if __name__ == "__main__":
    if "--check" in sys.argv and (wrong := problems()):
        sys.exit("\n".join(wrong))
    print(version())
