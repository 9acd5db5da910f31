"""Reading declarations out of C headers, as far as tests need it, and running the compiler."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

CC = os.environ.get("CC", "gcc")
CXX = os.environ.get("CXX", "g++")


def compiles(source: Path, *flags: str, includes: Iterable[Path] = ()) -> subprocess.CompletedProcess[str]:
    """Check a file without producing output; the language follows the suffix."""
    compiler = CXX if source.suffix == ".cpp" else CC
    command = [compiler, "-fsyntax-only", *flags, *(f"-I{path}" for path in includes), str(source)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def preprocessed(text: str, language: str, includes: Iterable[Path]) -> str:
    """`text` after preprocessing, without line markers and attributes, in single spaces."""
    compiler = CXX if language == "c++" else CC
    command = [compiler, "-E", "-P", "-x", language, *(f"-I{path}" for path in includes), "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return re.sub(r"\s+", " ", _without_attributes(done.stdout))


def _without_attributes(text: str) -> str:
    return re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", " ", text)


def normal(text: str) -> str:
    """Spacing made irrelevant."""
    return re.sub(r"\s*([^\w\s])\s*", r"\1", re.sub(r"\s+", " ", text.strip()))


def prototypes(text: str, prefix: str) -> dict[str, str]:
    """Each function's parameter list, default arguments included, of preprocessed text."""
    return {
        match["name"]: normal(match["params"])
        for match in re.finditer(rf"(?P<name>\b{prefix}[A-Z]\w*)\s*\((?P<params>[^()]*)\)\s*;", text)
    }


def bodies(text: str, keyword: str, prefix: str) -> dict[str, str]:
    """What stands between the braces of each `keyword tag { … }`, of preprocessed text."""
    found = {}
    for match in re.finditer(rf"\b{keyword} (?P<tag>{prefix}\w+)\s*\{{", text):
        depth, end = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        found[match["tag"]] = normal(text[match.end() : end - 1])
    return found
