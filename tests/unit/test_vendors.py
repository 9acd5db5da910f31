"""Accelerators of other vendors, by loop-back libraries with the vendors' names and numbers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from objects_support import run_python
from test_objects_backends import NOUNS, run_tests

from installed import output_of
from vendor_files import VENDORS, loopback, settings

QUICK = "amd"
others = pytest.mark.parametrize("vendor", [name for name in VENDORS if name != QUICK])

# What a type says of itself; then that the CPU lives on.
REPORT = """
import infinirt
(entry,) = [entry for entry in infinirt.device_types() if entry.name == TYPE]
print(entry.count); print(entry.origin); print(entry.problem)
try:
    infinirt.Device(TYPE).allocate(16)
except infinirt.InfiniRTError as error:
    print(error)
else:
    print("allocated")
cpu = infinirt.Device("cpu").allocate(16); cpu.fill(1); cpu.device.sync(); print(bytes(cpu)[0])
"""


def report(vendor: str, **environment: str) -> list[str]:
    lines = run_python(f"TYPE = {vendor!r}" + REPORT, **environment).splitlines()
    count, origin, problem, use, cpu = lines
    assert cpu == "1"
    return [count, origin, problem, use]


def test_objects_on_a_vendor(tmp_path: Path) -> None:
    run_tests("stream", "buffer", INFINIRT_TEST_DEVICE_TYPE=QUICK, **settings(tmp_path, QUICK))


@pytest.mark.full
@pytest.mark.parametrize("define", ["", "WITHOUT_MORE"])
@pytest.mark.parametrize("vendor", VENDORS)
def test_objects_on_every_vendor(vendor: str, define: str, tmp_path: Path) -> None:
    """With all functions, and with the required ones only."""
    defines = (define,) if define else ()
    run_tests(*NOUNS, INFINIRT_TEST_DEVICE_TYPE=vendor, **settings(tmp_path, vendor, *defines))


def check_copies(vendor: str, environment: dict[str, str]) -> None:
    run_python(
        f"""
        import infinirt
        (entry,) = [entry for entry in infinirt.device_types() if entry.name == {vendor!r}]
        assert "without" not in entry.origin, entry.origin  # a name that the vendor spells otherwise
        first, second = infinirt.devices({vendor!r})
        data = bytes(range(256)) * 1000
        a, b, cpu = first.allocate(len(data)), second.allocate(len(data)), infinirt.Device("cpu").allocate(len(data))
        a.copy_from(data); first.sync()  # streams of different devices are not ordered by themselves
        b.copy_from(a); second.sync()
        inside = second.allocate(len(data)); inside.copy_from(b); second.sync()
        cpu.copy_from(inside); cpu.device.sync()
        assert bytes(cpu) == data
        a.fill(9); first.sync()
        cpu.copy_from(a); cpu.device.sync()
        assert bytes(cpu) == bytes([9]) * len(data)
        free, total = first.memory_info()
        assert 0 < free < total, (free, total)
        try:
            first.allocate(64 << 30)
        except infinirt.OutOfMemoryError as error:
            print(error)
        else:
            raise AssertionError("a device of 16 GiB gave 64 GiB")
        c = first.allocate(1024); c.fill(1); first.sync()  # nothing was left behind
        """,
        **environment,
    )


def check_native_streams(vendor: str, environment: dict[str, str]) -> None:
    run_python(
        f"""
        import ctypes
        import infinirt
        from infinirt import runtime as rt

        chip = ctypes.CDLL({environment[VENDORS[vendor].variable]!r})
        device = infinirt.devices({vendor!r})[1]
        device.set_current()
        stream = device.create_stream()
        buffer = device.allocate(4096, stream=stream)
        error, address = rt.infinirtXPointerGetNative(buffer.handle)
        assert error == 0 and address

        def increment(native):
            chip.loopback_increment(ctypes.c_void_p(native), ctypes.c_void_p(address), ctypes.c_size_t(4096))

        out = bytearray(4096)
        for round in range(8):  # each in the order of the stream: ours, theirs, ours
            buffer.fill(round, stream=stream)
            with stream.native() as native:
                increment(native)
                increment(native)
            buffer.copy_to(out, stream=stream)
            stream.sync()
            assert out == bytes([round + 2]) * 4096, (round, out[0])
        assert chip.loopback_streams() <= 2

        # Several at a time, and from the default stream.
        legacy = device.default_stream
        with stream.native() as one, legacy.native() as other:
            assert one != other
            increment(one)
        stream.sync()

        # Synchronising the device waits for what others put on it.
        with stream.native() as native:
            increment(native)
            {"device.sync()" if vendor != "kunlun" else "pass  # xpu_wait knows the default stream only"}

        with stream.native() as native:
            assert int(rt.infinirtStreamBeginCapture(stream.handle, 2)[0]) == 0
            assert int(rt.infinirtXStreamBeginNative(stream.handle)[0]) == 900
            assert int(rt.infinirtXStreamEndNative(stream.handle, native)[0]) == 900
            error, graph = rt.infinirtStreamEndCapture(stream.handle)
            assert int(error) == 0  # neither broke the capture

        context = device.create_stream().native()
        handle = context.__enter__()
        assert int(rt.infinirtXStreamEndNative(stream.handle, 0x1234)[0]) == 400
        context.__exit__()
        assert int(rt.infinirtXStreamEndNative(stream.handle, handle)[0]) == 400
        """,
        **environment,
    )


def test_a_vendor_works(tmp_path: Path) -> None:
    environment = settings(tmp_path, QUICK)
    check_copies(QUICK, environment)
    check_native_streams(QUICK, environment)


@pytest.mark.full
@others
def test_every_vendor_works(vendor: str, tmp_path: Path) -> None:
    environment = settings(tmp_path, vendor)
    check_copies(vendor, environment)
    check_native_streams(vendor, environment)


@pytest.mark.full
def test_types_without_native_streams_say_so() -> None:
    out = run_python(
        """
        import infinirt
        try:
            with infinirt.Device("cpu").create_stream().native():
                pass
        except infinirt.NotSupportedError as error:
            print(error)
        """
    )
    assert "device type 'cpu' has no streams of its own" in out


def check_support(vendor: str, environment: dict[str, str]) -> dict[str, int]:
    names = (
        "Malloc",
        "Memcpy",
        "Memset",
        "MemcpyPeer",
        "MemGetInfo",
        "MallocHost",
        "StreamCreate",
        "LaunchKernel",
    )
    out = run_python(
        f"""
        import json
        from infinirt import runtime as rt
        print(json.dumps({{n: int(rt.infinirtXGetSupport({vendor!r}, "infinirt" + n)[1]) for n in {names!r}}}))
        """,
        **environment,
    )
    found: dict[str, int] = json.loads(out)
    return found


@pytest.mark.full
def test_capabilities_are_told_as_they_are(tmp_path: Path) -> None:
    none, emulated, native = 0, 1, 2
    whole = check_support("amd", settings(tmp_path / "whole", "amd"))
    assert whole == {
        "Malloc": native,
        "Memcpy": native,
        "Memset": native,
        "MemcpyPeer": native,
        "MemGetInfo": native,
        "MallocHost": native,
        "StreamCreate": emulated,
        "LaunchKernel": none,
    }
    least = check_support("amd", settings(tmp_path / "least", "amd", "WITHOUT_MORE"))
    changed = {name for name in whole if whole[name] != least[name]}
    assert changed == {"Memset", "MemcpyPeer", "MemGetInfo", "MallocHost"}
    absent = check_support("amd", {"INFINIRT_AMD_LIBRARY": "/nonexistent/libamdhip64.so"})
    assert set(absent.values()) == {none}


# One vendor quickly, the others where there is time.
def vendors_after_one(*names: str) -> list[object]:
    return [name if name == QUICK else pytest.param(name, marks=pytest.mark.full) for name in names]


@pytest.mark.parametrize("vendor", vendors_after_one(*VENDORS))
def test_a_library_without_a_needed_function(vendor: str, tmp_path: Path) -> None:
    environment = settings(tmp_path, vendor, "WITHOUT_MALLOC")
    count, _, problem, use = report(vendor, **environment)
    assert count == "0"
    needed = {"ascend": "aclrtMalloc", "cambricon": "cnrtMalloc", "kunlun": "xpu_malloc"}
    prefix = {"amd": "hip", "hygon": "hip", "moore": "musa", "metax": "mc"}
    assert needed.get(vendor, prefix.get(vendor, "cuda") + "Malloc") in problem
    assert environment[VENDORS[vendor].variable] in problem
    assert problem in use


@pytest.mark.parametrize("vendor", vendors_after_one("amd", "ascend", "cambricon", "kunlun"))
def test_a_library_that_finds_no_device(vendor: str, tmp_path: Path) -> None:
    environment = settings(tmp_path, vendor, "CHIP_DEVICES=0")
    count, origin, problem, use = report(vendor, **environment)
    assert count == "0"
    assert origin.startswith(environment[VENDORS[vendor].variable])
    assert "it finds no device" in problem
    assert vendor != "amd" or "there is no chip" in problem
    assert problem in use


@pytest.mark.parametrize("vendor", vendors_after_one("amd", "ascend", "cambricon", "kunlun"))
def test_a_library_whose_first_call_fails(vendor: str, tmp_path: Path) -> None:
    words = {
        "amd": "error 3: the chip does not wake up",
        "ascend": "it cannot be started (error 500000: the chip does not wake up",
        "cambricon": "error 100004: the chip does not wake up",
        "kunlun": "error -702",
    }[vendor]
    count, _, problem, use = report(vendor, **settings(tmp_path, vendor, "FAILS"))
    assert count == "0"
    assert words in problem
    assert problem in use


@pytest.mark.full
def test_a_library_that_somebody_else_has_started(tmp_path: Path) -> None:
    """As PyTorch's Ascend plugin does: aclInit may be called once in a process."""
    count, _, problem, use = report("ascend", **settings(tmp_path, "ascend", "STARTED"))
    assert (count, problem, use) == ("2", "", "allocated")


def test_a_library_of_another_vendor(tmp_path: Path) -> None:
    theirs = loopback(tmp_path, "moore")
    count, _, problem, _ = report("amd", INFINIRT_AMD_LIBRARY=str(theirs))
    assert count == "0"
    assert "hipGetDeviceCount" in problem
    assert str(theirs) in problem


def test_an_override_that_names_no_library(tmp_path: Path) -> None:
    missing = tmp_path / "libamdhip64.so"
    count, origin, problem, _ = report("amd", INFINIRT_AMD_LIBRARY=str(missing))
    assert (count, origin) == ("0", "")
    assert str(missing) in problem
    assert "INFINIRT_AMD_LIBRARY" in problem
    missing.write_text("no library")
    assert "file too short" in report("amd", INFINIRT_AMD_LIBRARY=str(missing))[2]


def test_a_vendor_is_found_in_its_folder(tmp_path: Path) -> None:
    """By the SDK's variable; and a library that only bears the vendor's name is not taken for its own."""
    loopback(tmp_path / "dtk" / "lib", "hygon")
    (tmp_path / "dtk" / "lib" / "libamdhip64.so").symlink_to("libgalaxyhip.so")
    assert report("hygon", ROCM_PATH=str(tmp_path / "dtk"))[0] == "2"
    count, _, problem, _ = report("amd", ROCM_PATH=str(tmp_path / "dtk"))
    assert count == "0"
    assert "another vendor's library" in problem


@pytest.mark.full
def test_a_copy_that_the_process_has_is_used(tmp_path: Path) -> None:
    library = loopback(tmp_path, "amd")
    out = run_python(
        f"""
        import ctypes
        ctypes.CDLL({str(library)!r})
        import infinirt
        print(infinirt.Device("amd").name)
        """
    )
    assert out.strip() == "Loop-back 0"


@pytest.mark.full
def test_some_devices_are_hidden(tmp_path: Path) -> None:
    environment = settings(tmp_path, "amd")
    out = run_python(
        "import infinirt; print([d.name for d in infinirt.devices('amd')])",
        INFINIRT_VISIBLE_DEVICES="amd:1",
        **environment,
    )
    assert out.strip() == "['Loop-back 1']"
    count, _, problem, _ = report("amd", INFINIRT_VISIBLE_DEVICES="amd:7", **environment)
    assert count == "0"
    assert "amd:7" in problem


@pytest.mark.full
def test_several_vendors_in_one_process(tmp_path: Path) -> None:
    types = ("amd", "moore", "kunlun")
    environment = {key: value for name in types for key, value in settings(tmp_path, name).items()}
    run_python(
        f"""
        import infinirt
        data = bytes(range(200)) * 40
        buffers = [infinirt.Device(name).allocate(len(data)) for name in {types!r}]
        buffers[0].copy_from(data)
        for source, target in zip(buffers, buffers[1:]):
            source.device.sync(); target.copy_from(source); target.device.sync()
        out = bytearray(len(data)); buffers[-1].copy_to(out); buffers[-1].device.sync()
        assert out == data
        """,
        **environment,
    )


@pytest.mark.full
def test_nothing_is_loaded_before_it_is_needed(tmp_path: Path) -> None:
    library = loopback(tmp_path, "amd")
    out = run_python(
        """
        import infinirt
        buffer = infinirt.Device("cpu").allocate(16)
        print("libamdhip64" in open("/proc/self/maps").read())
        infinirt.Device("amd")
        print("libamdhip64" in open("/proc/self/maps").read())
        """,
        INFINIRT_AMD_LIBRARY=str(library),
        INFINIRT_DEVICE="cpu",
    )
    assert out.split() == ["False", "True"]


@pytest.mark.full
def test_a_forked_child_is_refused(tmp_path: Path) -> None:
    out = run_python(
        """
        import os
        import infinirt
        buffer = infinirt.Device("amd").allocate(16)
        child = os.fork()
        if child == 0:
            try:
                infinirt.Device("amd").allocate(16)
            except infinirt.InfiniRTError as error:
                print(error, flush=True)
            infinirt.Device("cpu").allocate(16)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        buffer.fill(1); buffer.device.sync()
        """,
        **settings(tmp_path, "amd"),
    )
    assert "forked after the library of device type 'amd'" in out


def test_info_says_it_in_one_line(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "infinirt", "info")
    environment = settings(tmp_path, "moore", "CHIP_DEVICES=0")
    text = " ".join(output_of(*command, **environment).split())
    assert "looked for, not found: amd, hygon, metax, iluvatar, ali, ascend, cambricon, kunlun" in text
    assert "backend moore" in text
    assert "there is no chip" in text
    text = " ".join(output_of(*command, "--all", **environment).split())
    assert "backend amd: no device: AMD's HIP runtime was not found: looked for libamdhip64.so" in text
    assert "looked for, not found" not in text
    types = json.loads(output_of(*command, "--json", **environment))["device_types"]
    assert set(VENDORS) <= {entry["type"] for entry in types}
