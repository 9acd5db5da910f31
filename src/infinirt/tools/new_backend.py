"""`infinirt new-backend`: a project for a new device type, whose blanks are marked and counted."""

from __future__ import annotations

import keyword
import re
import sys
from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates"
LANGUAGES = ("c", "python")


def problem_with(name: str) -> str:
    """Why a device type cannot have this name; empty if it can."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,30}", name):
        return "a name begins with a small letter and goes on with small letters, digits and _ (at most 31 in all)"
    if keyword.iskeyword(name) or name in sys.stdlib_module_names:
        return "Python has a word or module of that name"
    import infinirt

    taken = {*(info.name for info in infinirt.device_types()), "infinirt"}
    if name in taken:
        return f"there is such a device type already ({', '.join(sorted(taken))})"
    return ""


def generate(name: str, language: str, folder: Path) -> list[Path]:
    """Writes the project; ValueError says what is wrong with the request. Nothing that exists is written over."""
    if language not in LANGUAGES:
        raise ValueError(f"--lang {language}: it is c or python")
    if problem := problem_with(name):
        raise ValueError(f"{name!r}: {problem}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} exists and is not empty; choose another place with --output")
    written = []
    for source in sorted((TEMPLATES / language).iterdir()):
        target = folder / source.name.removesuffix(".in").replace("NAME", name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(
            source.read_text(encoding="utf-8").replace("@NAME@", name).replace("@CLASS@", class_name(name)),
            encoding="utf-8",
        )
        written.append(target)
    return written


def class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def run(name: str, language: str, output: str) -> int:
    folder = Path(output or name)
    try:
        written = generate(name, language, folder)
    except ValueError as error:
        print(f"infinirt new-backend: {error}", file=sys.stderr)
        return 2
    print(f"{folder}:")
    for path in written:
        print(f"  {path.relative_to(folder)}")
    does = "builds, runs" if language == "c" else "runs"
    print(
        f"\nNext:\n  cd {folder}\n  {Path(sys.executable).name} check.py\n"
        f"It {does} the conformance kit and lists what is left to fill in. README.md says how to go on."
    )
    return 0
