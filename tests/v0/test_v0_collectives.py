"""Programs for InfiniCore's collectives run on this library, beside the earlier generation of the runtime."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from v0_build import HERE, build, readelf, run, v0_flags, v0_root

# What infiniccl.h of InfiniCore declares: types of the parameters.
PUBLISHED = json.loads((HERE.parent / "ccl" / "published_functions.json").read_text())


@pytest.mark.parametrize("schedule", ["async", "inline", "random:7"])
def test_c_program(schedule: str, tmp_path: Path) -> None:
    built = build("collectives.c", tmp_path / "collectives", *v0_flags(), "-linfiniccl", "-pthread")
    output = run(built, INFINIRT_CPU_DEVICES="2", INFINIRT_CPU_SCHEDULE=schedule)
    assert output == "v0 collectives ok\n"


def parameters(text: str) -> list[str]:
    """Types only, without names and blanks."""
    return [re.sub(r"\s+", "", re.sub(r"\w+\s*$", "", each)) for each in text.split(",")]


def test_the_published_functions_have_their_shape() -> None:
    header = (v0_root() / "include" / "infiniccl.h").read_text()
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    for name, published in PUBLISHED["functions"].items():
        found = re.search(rf"infiniStatus_t {name}\(([^)]*)\)", code)
        assert found, name
        assert parameters(found[1]) == parameters(",".join(published)), name
    for name, value in PUBLISHED["reductions"].items():
        assert re.search(rf"{name} = {value}\b", code)


@pytest.mark.peer("readelf")
def test_the_library_is_found_by_its_plain_name() -> None:
    assert "[libinfiniccl.so]" in readelf(v0_root() / "lib" / "libinfiniccl.so")
