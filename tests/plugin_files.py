"""Plugins that tests load: built from tests/plugins with the C compiler, once per folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

from installed import program

SOURCES = Path(__file__).parent / "plugins"
LAYOUTS = {"2.6": 26, "3.0": 30, "3.1": 31, "3.2": 32, "3.3": 33}


def build(
    source: str | Path, folder: Path, *defines: str, name: str = "", flags: tuple[str, ...] = ()
) -> Path:
    """A plugin made of tests/plugins/<source>, or of a file elsewhere; `name` is the file's, without its ending."""
    compiler = program("cc", "gcc", "clang")
    assert compiler is not None, "the tests of plugins need a C compiler"
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{name or Path(source).stem}.so"
    warnings = ("-Wall", "-Wextra", "-Werror")
    command = [
        compiler,
        "-std=c11",
        *warnings,
        "-O1",
        "-g",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        *flags,
    ]
    command += [f"-D{define}" for define in defines]
    done = subprocess.run(
        [*command, str(SOURCES / source), "-o", str(target)], capture_output=True, text=True
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return target


def toy(folder: Path, *defines: str, layout: str = "3.3", name: str = "toy") -> Path:
    """The toy accelerator under the device type `name`, as a plugin of a PaddlePaddle release."""
    return build("toy.c", folder, f"LAYOUT={LAYOUTS[layout]}", f'TOY_NAME="{name}"', *defines, name=name)


def flawed(folder: Path, flaw: str, *defines: str, name: str = "flawed") -> Path:
    return build("bad.c", folder, flaw, *defines, name=name)
