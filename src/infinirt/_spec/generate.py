"""Command line of the generator: `python generate.py --what table --out table.h`.

Runs as a plain script, before anything is built: it loads the specification as a package of its own, so that
`infinirt/__init__.py` is never executed.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]

if not __package__:
    _package = importlib.util.spec_from_file_location(
        "infinirt_spec", HERE / "__init__.py", submodule_search_locations=[str(HERE)]
    )
    assert _package is not None and _package.loader is not None
    _module = importlib.util.module_from_spec(_package)
    sys.modules["infinirt_spec"] = _module
    _package.loader.exec_module(_module)
    __package__ = "infinirt_spec"

from .emit import dispatch, errors, header, nvidia, symbols, table
from .python import emit_flat, emit_stubs

Renderer = Callable[[argparse.Namespace], str]

ARTEFACTS: dict[str, Renderer] = {
    "header": lambda _: header.render(),
    "table": lambda _: table.render_table(),
    "dispatch": lambda _: dispatch.render(),
    "unsupported": lambda _: table.render_unsupported(),
    "fill": lambda _: table.render_list(),
    "errors": lambda _: errors.render(),
    "nvidia": lambda _: nvidia.render(),
    "version_script": lambda options: symbols.render(options.extension_headers),
    "flat": lambda _: emit_flat.render(),
    "stubs": lambda _: emit_stubs.render(),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Generate code from the API specification.")
    parser.add_argument("--what", required=True, choices=sorted(ARTEFACTS))
    parser.add_argument("--out", type=Path, help="file to write (default: the header's place in the tree)")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the file differs")
    include = ROOT / "include"
    parser.add_argument(
        "--extension-headers",
        type=Path,
        nargs="+",
        default=[include / f"infinirt_{name}.h" for name in ("ext", "plugin_host", "observe")],
    )
    options = parser.parse_args(arguments)
    out: Path | None = options.out
    if out is None:
        if options.what != "header":
            parser.error(f"--what {options.what} needs --out")
        out = ROOT / "include" / "infinirt.h"

    text = ARTEFACTS[options.what](options)
    if options.check:
        if out.is_file() and out.read_text(encoding="utf-8") == text:
            return 0
        print(
            f"{out} is not what the specification says; run: python {__file__} --what {options.what}",
            file=sys.stderr,
        )
        return 1
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
