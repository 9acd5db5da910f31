"""`infinirt conformance`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .case import LEVELS, Level, select
from .document import document
from .runner import Options, Unusable, run
from .text import Progress, list_cases, show

USAGE = 2


def level_of(text: str) -> Level:
    for level in LEVELS:
        if level == text:
            return level
    raise ValueError(f"there is no level {text!r}; there are {', '.join(LEVELS)}")


def module_and_folder(text: str) -> tuple[str, str | None]:
    """`--import` takes a module's name, or the path of a file, whose folder is then looked in first."""
    path = Path(text)
    if text.endswith(".py"):
        if not path.is_file():
            raise ValueError(f"--import {text}: there is no such file")
        return path.stem, str(path.resolve().parent)
    return text, None


def main(
    backend: str,
    level: str,
    device: int = 0,
    json_file: str = "",
    html_file: str = "",
    plugins: tuple[str, ...] = (),
    imports: tuple[str, ...] = (),
    groups: tuple[str, ...] = (),
    patterns: tuple[str, ...] = (),
    limit: float = 60.0,
    jobs: int = 1,
    listing: bool = False,
) -> int:
    """Runs the cases and reports; 0 only if none failed, 2 where nothing could be tested."""
    try:
        chosen = select(level_of(level), groups, patterns)
        modules = [module_and_folder(text) for text in imports]
    except ValueError as error:
        return complain(str(error))
    if listing:
        list_cases(chosen)
        return 0
    if not backend:
        return complain("--backend says which device type to test; `infinirt info` lists those that are here")
    if not chosen:
        return complain("there is no such case at this level; --level full has them all")
    if limit <= 0:
        return complain("--limit is a number of seconds above 0")
    if jobs < 1:
        return complain("--jobs is a number of processes, at least 1")
    options = Options(
        backend,
        level_of(level),
        device,
        tuple(str(Path(plugin).resolve()) for plugin in plugins),
        tuple(name for name, _ in modules),
        tuple(folder for _, folder in modules if folder),
        limit,
        groups,
        patterns,
        imports,
        jobs,
    )
    progress = Progress(len(chosen))
    try:
        done = run(options, chosen, progress)
    except Unusable as problem:
        return complain(f"{backend} cannot be tested: {problem}")
    finally:
        progress.close()
    data = document(options, chosen, done)
    show(data)
    if json_file:
        write(json_file, json.dumps(data, indent=1) + "\n")
    if html_file:
        from .page import page

        write(html_file, page(data))
    return 0 if data["conformant"] else 1


def complain(text: str) -> int:
    print(f"infinirt conformance: {text}", file=sys.stderr)
    return USAGE


def write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        sys.exit(f"infinirt conformance: {path} cannot be written: {error.strerror}")
