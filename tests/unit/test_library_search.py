"""Vendors' libraries are never looked for in the current folder: whoever can write a file there would choose what runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Prints the folders in which packages of vendors are looked for.
PROGRAM = """
import ctypes, pathlib, infinirt
library = ctypes.CDLL(str(pathlib.Path(infinirt._core.__file__).parent / "lib" / "libinfinirt.so.1"))
folder = library.infinirtXGetLibraryFolder
folder.restype = ctypes.c_char_p
number = 0
while (name := folder(number)) is not None:
    print(name.decode())
    number += 1
"""


def folders(current: Path, *words: str, **environment: str) -> list[str]:
    (current / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, *words],
        cwd=current,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found = done.stdout.splitlines()
    assert found, "the interpreter's own packages, at least"
    return found


def with_path(entry: str) -> str:
    return os.pathsep.join([entry, os.environ.get("PYTHONPATH", "")])


@pytest.mark.parametrize("words", [("-m", "program"), ("-c", PROGRAM)], ids=["module", "command"])
def test_not_in_the_current_folder(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert str(tmp_path) not in folders(tmp_path, *words)


def test_not_in_the_current_folder_under_another_name(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    assert str(link) not in folders(tmp_path, "-c", PROGRAM, PYTHONPATH=with_path(str(link)))


def test_not_in_a_folder_that_is_named_relative_to_it(tmp_path: Path) -> None:
    # Python makes entries of PYTHONPATH absolute; programs add others.
    found = folders(tmp_path, "-c", "import sys; sys.path.insert(0, 'below')\n" + PROGRAM)
    assert [name for name in found if not name.startswith("/")] == []


def test_in_an_absolute_folder(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    assert str(below) in folders(tmp_path, "-c", PROGRAM, PYTHONPATH=with_path(str(below)))
