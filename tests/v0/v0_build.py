"""Builds and runs the C programs of these tests against the installed v0 root, as a user of that generation does."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

from installed import directory, output_of, program

HERE = Path(__file__).resolve().parent
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror")


@cache
def v0_root() -> Path:
    return directory("--v0-root")


@cache
def library_dir() -> Path:
    return directory("--lib-dir")


def compiler() -> str:
    found = os.environ.get("CC") or program("cc", "gcc")
    assert found is not None, "no C compiler found; set CC"
    return found


def v0_flags() -> list[str]:
    return [f"-I{v0_root() / 'include'}", f"-L{v0_root() / 'lib'}", "-linfinirt"]


def core_flags() -> list[str]:
    return [f"-I{directory('--include-dir')}", f"-L{library_dir()}", "-linfinirt"]


def build(source: str, out: Path, *flags: str | Path) -> Path:
    """Compiles and links one file of this directory."""
    output_of(compiler(), *STRICT, HERE / source, "-o", out, *flags)
    return out


def declared_functions(*headers: Path | str) -> list[str]:
    """The functions of these headers of the v0 root; of infinirt.h when none is named."""
    text = "".join((v0_root() / "include" / header).read_text() for header in headers or ["infinirt.h"])
    return re.findall(r"^__INFINI_C __export infiniStatus_t (\w+)\(", text, re.MULTILINE)


def operator_headers() -> list[Path]:
    """The headers of the operators and of what all of them need."""
    return sorted((v0_root() / "include" / "infiniop").rglob("*.h"))


def build_neighbour(out: Path, *headers: Path | str) -> Path:
    """A library without symbol versions and without SONAME that defines every name of the old headers, as the original does. Each
    function answers 77."""
    source = "".join(f"int {name}() {{ return 77; }}\n" for name in declared_functions(*headers))
    done = subprocess.run(
        [compiler(), "-shared", "-fPIC", "-xc", "-", "-o", str(out)],
        input=source,
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    return out


def run(*command: str | Path, **environment: str) -> str:
    """What a program prints on the CPU, with the v0 root's libraries on the loader's path and nothing else there."""
    settings = {"INFINIRT_DEVICE": "cpu", "LD_LIBRARY_PATH": str(v0_root() / "lib"), "LD_PRELOAD": ""}
    return output_of(*command, **{**settings, **environment})


def readelf(path: Path) -> str:
    return output_of("readelf", "--dynamic", "--wide", path)
