"""The specification, loaded from the tree as the build loads it: without importing (or building) `infinirt`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "src" / "infinirt" / "_spec"
GENERATOR = SPEC / "generate.py"
HEADER = ROOT / "include" / "infinirt.h"


def _load() -> None:
    spec = importlib.util.spec_from_file_location(
        "infinirt_spec", SPEC / "__init__.py", submodule_search_locations=[str(SPEC)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["infinirt_spec"] = package
    spec.loader.exec_module(package)


if "infinirt_spec" not in sys.modules:
    _load()

model = importlib.import_module("infinirt_spec.model")
FUNCTIONS = importlib.import_module("infinirt_spec.functions").FUNCTIONS
ENUMS = importlib.import_module("infinirt_spec.enums").ENUMS
ERROR = importlib.import_module("infinirt_spec.enums").ERROR
STRUCTS = importlib.import_module("infinirt_spec.structs").STRUCTS
DEFINES = importlib.import_module("infinirt_spec.defines").DEFINES
symbols = importlib.import_module("infinirt_spec.emit.symbols")
