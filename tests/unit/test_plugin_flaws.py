"""Plugins that are wrong: each is refused with a message that says why, and everything else works on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from installed import output_of
from plugin_files import flawed, toy

# After the attempt: another plugin loads, and the CPU works.
PROGRAM = """
import sys, infinirt
good, bad = sys.argv[1:]
try:
    print("loaded as", infinirt.load_plugin(bad))
except infinirt.InfiniRTError as error:
    print(error.name, error)
assert infinirt.load_plugin(good) == "toy"
for name in ("cpu", "toy:1"):
    device = infinirt.Device(name)
    with device.create_stream() as stream:
        buffer = device.allocate(1000, stream=stream)
        buffer.fill(7, stream=stream)
        stream.sync()
        back = bytearray(1000)
        buffer.copy_to(back, stream=stream)
        stream.sync()
        assert back == b"\\7" * 1000, name
print([(info.type, bool(info.problem)) for info in infinirt.plugins()])
"""


def attempt(tmp_path: Path, bad: Path | str, **environment: str) -> list[str]:
    return output_of(sys.executable, "-c", PROGRAM, toy(tmp_path / "good"), bad, **environment).splitlines()


FLAWS = {
    "NO_ENTRY_POINT": ["no plugin", "does not export InitPlugin"],
    "TRUNCATED": ["its table has 704 bytes", "912 (2.6)", "1128 (3.3)"],
    "TOO_LARGE": ["its table has 1200 bytes"],
    "OTHER_VERSION": ["version 9.1.1", "knows 0.1"],
    "NULLS": ["required entries", "set_device, get_device, get_device_count", "memory_copy_d2h"],
    "NO_D2H": ["required entries of its table are null: memory_copy_d2h"],
    "NO_NAME": ["left the device type's name out"],
    "BAD_NAME": ["my chip: 3"],
    "TAKEN_NAME": ["'cpu', which exists already"],
    "ABORTS": ["signal 6", "InitPlugin", "no such chip on this machine"],
    "CRASHES": ["signal 11", "InitPlugin"],
    "EXITS": ["exit status 3", "InitPlugin"],
    "INITIALIZE_EXITS": ["exit status 0", "in the step 'initialize'"],
    "INITIALIZE_FAILS": ["initialize failed with status 2 (failed)"],
    "COUNT_FAILS": ["get_device_count failed with status 4"],
    "COUNT_NEGATIVE": ["18446744073709551615", "negative"],
    "COUNT_ZERO": ["no device", "says 0"],
    "LIST_SHORT": ["says 2", "names 1 device"],
    "LIST_LONG": ["says 2", "names 5 devices"],
    "LIST_TWICE": ["device 0 twice"],
    "NOT_CLEARED": ["without clearing", "INFINIRT_PLUGIN_LAYOUT"],
    "OWN_TABLE": ["table of its own", "INFINIRT_PLUGIN_LAYOUT"],
    "REFUSES": ["wrote nothing for any known version"],
}


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_flawed_plugin_is_refused_with_a_reason(flaw: str, tmp_path: Path) -> None:
    bad = flawed(tmp_path, flaw)
    said, plugins = attempt(tmp_path, bad)
    code = "infinirtErrorInvalidValue" if flaw == "TAKEN_NAME" else "infinirtErrorSharedObjectInitFailed"
    assert said.startswith(f"{code} infinirtXLoadPlugin: plugin {bad}: ")
    for part in FLAWS[flaw]:
        assert part in said, said
    assert plugins == "[('', True), ('toy', False)]"


def test_a_plugin_that_hangs_is_refused(tmp_path: Path) -> None:
    said, _ = attempt(tmp_path, flawed(tmp_path, "INITIALIZE_HANGS"), INFINIRT_PLUGIN_TIMEOUT="5")
    assert "it did not return within 5 seconds (INFINIRT_PLUGIN_TIMEOUT) in the step 'initialize'" in said
    said = attempt(tmp_path, flawed(tmp_path, "COUNT_ZERO"), INFINIRT_PLUGIN_TIMEOUT="soon")[0]
    assert "INFINIRT_PLUGIN_TIMEOUT=soon is not known" in said


def test_what_is_no_library_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("not an ELF file")
    assert "cannot be loaded" in attempt(tmp_path, text)[0]
    assert "infinirtErrorFileNotFound" in attempt(tmp_path, tmp_path / "absent.so")[0]


def test_a_missing_symbol_is_named(tmp_path: Path) -> None:
    source = tmp_path / "needs.c"
    source.write_text(
        "void PD_RegisterPhiKernel(void);\nvoid InitPlugin(void* p) { (void)p; PD_RegisterPhiKernel(); }\n"
    )
    output_of("cc", "-shared", "-fPIC", source, "-o", tmp_path / "needs.so")
    said = attempt(tmp_path, tmp_path / "needs.so")[0]
    assert "PD_RegisterPhiKernel" in said
    assert "import paddle first" in said


@pytest.mark.parametrize("flaw", ["STRICT", "NOT_CLEARED_BUT_COMMON"])
@pytest.mark.parametrize("layout", ["26", "30", "31", "32", "33"])
def test_peculiar_plugins_that_are_right(flaw: str, layout: str, tmp_path: Path) -> None:
    assert attempt(tmp_path, flawed(tmp_path, flaw, f"LAYOUT={layout}"))[0] == "loaded as flawed"


@pytest.mark.parametrize("flaw", ["NOT_CLEARED", "OWN_TABLE"])
def test_the_layout_can_be_named(flaw: str, tmp_path: Path) -> None:
    bad = flawed(tmp_path, flaw, "LAYOUT=31")
    assert attempt(tmp_path, bad, INFINIRT_PLUGIN_LAYOUT="3.1")[0] == "loaded as flawed"
    said = output_of(
        sys.executable,
        "-c",
        "import sys, infinirt; print(infinirt.load_plugin(sys.argv[1], layout='3.1')); print(infinirt.plugins())",
        bad,
    )
    assert said.startswith("flawed\n")
    assert attempt(tmp_path, bad, INFINIRT_PLUGIN_LAYOUT="4.0")[0].count("INFINIRT_PLUGIN_LAYOUT") == 1


FAILING_DEVICE = """
import sys, infinirt
infinirt.load_plugin(sys.argv[1])
device = infinirt.Device(sys.argv[2])
try:
    buffer = device.allocate(64)
    buffer.fill(1)
    device.sync()
except infinirt.InfiniRTError as error:
    print(error)
else:
    print("worked")
infinirt.Device("cpu").sync()
"""


def test_a_lie_about_devices_is_found_when_one_is_used(tmp_path: Path) -> None:
    liar = flawed(tmp_path, "LIES_ABOUT_DEVICES")
    assert output_of(sys.executable, "-c", FAILING_DEVICE, liar, "flawed:0") == "worked\n"
    said = output_of(sys.executable, "-c", FAILING_DEVICE, liar, "flawed:1")
    assert "lists 2 devices, but after set_device(1) succeeded, get_device answers 0" in said


def test_a_failing_entry_is_named_in_the_error(tmp_path: Path) -> None:
    said = output_of(sys.executable, "-c", FAILING_DEVICE, flawed(tmp_path, "COPIES_FAIL"), "flawed:0")
    assert "memory_copy_h2d of the plugin" in said
    assert "status 4 (internal error)" in said
