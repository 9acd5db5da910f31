"""Loops of operators are vectors in what was compiled: a compiler that leaves one scalar makes the operator ten times slower, and no result tells."""

import platform
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.installed import output_of

# Their expressions call the C library, or do what depends on the value.
SCALAR = {
    *("Cos", "Digamma", "Erfinv", "FloatPower", "FloatPowerScalar", "FloorDivide", "Fmod"),
    *("Lgamma", "Nextafter", "Pow", "Remainder", "Sin", "Tan"),
}  # fmt: skip
FUNCTION = re.compile(r"^[0-9a-f]+ <void .*::map_(\w+)<float>\(.*>:$")


def loops(text: str) -> Iterator[tuple[str, str]]:
    """The maps of 32-bit floats in a disassembly, and their instructions."""
    for function in text.split("\n\n"):
        for at, line in enumerate(lines := function.splitlines()):
            if found := FUNCTION.match(line):
                yield found[1], "\n".join(lines[at + 1 :])


def compiled(config: pytest.Config, target: str, source: str) -> Path:
    tree = config.getoption("--cpp-release-tree")
    path = Path(tree, f"CMakeFiles/{target}.dir/csrc/op/cpu/{source}.o")
    if not tree or not path.exists():
        pytest.skip("no build of the package is here, or not for this instruction set")
    return path


def disassembly(config: pytest.Config, level: str, source: str) -> str:
    return output_of(
        "objdump", "-d", "-C", "--no-show-raw-insn", compiled(config, f"infiniop_tiles_{level}", source)
    )


@pytest.mark.peer("objdump")
@pytest.mark.parametrize("level", ["v3", "v4"])
def test_loops_are_vectors(pytestconfig: pytest.Config, level: str) -> None:
    found = dict(loops(disassembly(pytestconfig, level, "tiles.cpp")))
    assert found.keys() >= SCALAR
    assert not {name for name, body in found.items() if not re.search(r"%[yz]mm", body)} - SCALAR


@pytest.mark.peer("objdump")
@pytest.mark.parametrize("level", ["v3", "v4"])
@pytest.mark.parametrize("source", ["few_rows.cpp", "packed_product.cpp"])
def test_products_are_fused(pytestconfig: pytest.Config, level: str, source: str) -> None:
    text = disassembly(pytestconfig, level, source)
    assert len(re.findall(r"\tvfmadd", text)) > len(re.findall(r"\tvmulps", text))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have no such registers")
def test_the_configuration_of_tiles_is_whole(pytestconfig: pytest.Config) -> None:
    """A compiler that believes that only a part of it is read leaves the rest out, which no machine without such registers would show."""
    eight_of_16_rows_of_64_bytes = struct.pack("<B15x8H16x8B8x", 1, *[64] * 8, *[16] * 8)
    assert (
        eight_of_16_rows_of_64_bytes
        in compiled(pytestconfig, "infiniop_objects", "bfloat_tiles.cpp").read_bytes()
    )
