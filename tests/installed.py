"""The installed package and the programs around it, for tests that build and run things outside this process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path


def program(*names: str) -> str | None:
    """The first of these programs that exists, in the environment's own folder (where `make` puts CMake) before PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return next((found for name in names if (found := shutil.which(name, path=path))), None)


def output_of(*command: str | Path, **environment: str) -> str:
    """What a command prints; AssertionError with all of it when the command fails."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=240,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout[-8000:]}"
    return done.stdout


def directory(flag: str) -> Path:
    """What `python -m infinirt <flag>` answers."""
    return Path(output_of(sys.executable, "-m", "infinirt", flag).strip())
