"""Command line of the generator: `python generate.py --out FOLDER` writes everything that follows from the schema.

Runs as a plain script, before anything is built. Files that would not change are left alone, so that nothing that depends on them is
built again.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

if not __package__:
    _package = importlib.util.spec_from_file_location(
        "infiniop_schema", HERE / "__init__.py", submodule_search_locations=[str(HERE)]
    )
    assert _package is not None and _package.loader is not None
    _module = importlib.util.module_from_spec(_package)
    sys.modules["infiniop_schema"] = _module
    _package.loader.exec_module(_module)
    __package__ = "infiniop_schema"

from . import OPERATORS
from .emit import cuda, glue, header, listing, maps, python_table, rows, written


def files() -> dict[str, str]:
    """Everything that is generated, by its place: `include/` is installed (for the earlier generation, too, but for the files
    of `include_v0/`), the rest is for the build."""
    return {
        "include/infiniop.h": header.render_all(),
        "include_v0/infiniop.h": header.render_all(v0=True),
        **{f"include/infiniop/ops/{operator.file}.h": header.render(operator) for operator in OPERATORS},
        "build/infiniop/generated/operators.cpp": glue.render(),
        "build/infiniop/generated/operators.inc": glue.render_list(),
        "build/infiniop/generated/maps.inc": maps.render(),
        "build/infiniop/generated/cuda_maps.inc": cuda.render(),
        "build/infiniop/generated/maps.h": maps.render_numbers(),
        "build/infiniop/generated/rows.inc": rows.render(),
        "build/infiniop/generated/short_rows.inc": rows.render_short_rows(),
        "build/infiniop/generated/rows.h": rows.render_numbers(),
        "build/infiniop/generated/cuda_rows.inc": rows.render_cuda(),
        "build/infiniop/generated/written.h": written.render_names(),
        "build/infiniop/generated/written_names.inc": f'R"CUDA({written.render_names()})CUDA"\n',
        "build/infiniop/generated/written_list.inc": written.render_list(),
        "build/infinicore/generated/operators_table.inc": python_table.render(),
        "python/operators.pyi": python_table.render_stubs(functional=False),
        "python/functional.pyi": python_table.render_stubs(functional=True),
        "build/infiniop.map": glue.render_symbols("INFINIOP_1"),
        "build/infiniop_v0.map": glue.render_symbols("INFINIOP_0"),
        "docs/operator-list.md": listing.render(),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Generate code from the operators' schema.")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write to")
    out: Path = parser.parse_args(arguments).out
    wanted = {out / place: text for place, text in files().items()}
    # An operator that was renamed must not leave its header behind.
    for old in (out / "include" / "infiniop" / "ops").rglob("*.h"):
        if old not in wanted:
            old.unlink()
    for path, text in wanted.items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
