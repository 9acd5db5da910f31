"""Loops of operators are vectors in what was compiled: a compiler that leaves one scalar makes the operator ten times slower, and no result tells."""

import re
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


def disassembly(config: pytest.Config, level: str, source: str) -> str:
    tree = config.getoption("--cpp-release-tree")
    compiled = Path(tree, f"CMakeFiles/infiniop_tiles_{level}.dir/csrc/op/cpu/{source}.o")
    if not tree or not compiled.exists():
        pytest.skip("no build of the package is here, or not for this instruction set")
    return output_of("objdump", "-d", "-C", "--no-show-raw-insn", compiled)


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
