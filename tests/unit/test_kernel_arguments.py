"""Kernels of loaded code: arguments of which only the size is known. On the CPU, from a shared object."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import infinirt
from installed import directory, program

SIZES = {"one": 1, "two": 2, "four": 4, "eight": 8, "twelve": 12, "sixteen": 16}
# show_N(out, value): copies the value, N bytes, to `out`.
SOURCE = '#include <string.h>\n#include "infinirt_ext.h"\n' + "\n".join(
    f"""
static infinirtError_t {name}(const infinirtXBlock *block, void **args) {{
  (void)block;
  memcpy(*(void **)args[0], args[1], {size});
  return infinirtSuccess;
}}
static const size_t sizes_{name}[] = {{8, {size}}};
"""
    for name, size in SIZES.items()
)
TABLE = (
    "const infinirtXKernelInfo infinirtXKernelTable[] = {"
    + "".join(f'{{"{name}", {name}, sizes_{name}, 2, 0}},' for name in SIZES)
    + "{0}};"
)


@pytest.fixture(scope="module")
def shared_object(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = os.environ.get("CC") or program("cc", "gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "show.c").write_text(SOURCE + TABLE)
    target = folder / "show.so"
    subprocess.check_call(
        [
            *(compiler, "-shared", "-fPIC", f"-I{directory('--include-dir')}"),
            *(str(folder / "show.c"), "-o", str(target)),
        ]
    )
    return target


@pytest.fixture
def device() -> infinirt.Device:
    return infinirt.Device("cpu")


@pytest.fixture
def code(shared_object: Path) -> infinirt.ObjectCode:
    return infinirt.ObjectCode.from_library(shared_object, name="show")


def shown(code: infinirt.ObjectCode, kernel: str, value: object) -> bytes:
    device = infinirt.Device("cpu")
    out = device.allocate(SIZES[kernel])
    infinirt.launch(device.default_stream, infinirt.LaunchConfig(grid=1), code.get_kernel(kernel), out, value)
    device.sync()
    return bytes(out)


class Described:
    """An array of somebody else's that is being computed on a stream."""

    def __init__(self, pointer: int, stream: infinirt.Stream) -> None:
        self.__cuda_array_interface__ = {
            "shape": (1,),
            "typestr": "<f4",
            "data": (pointer, False),
            "version": 3,
            "stream": stream.handle,
        }


class Pair(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("fraction", ctypes.c_float), ("flag", ctypes.c_int)]


RECORD = np.array([(7, 1.5, 9)], dtype=[("number", "i4"), ("fraction", "f4"), ("flag", "i4")])


@pytest.mark.parametrize(
    ("kernel", "value", "expected"),
    [
        ("one", True, b"\1"),
        ("one", -128, b"\x80"),
        ("one", 255, b"\xff"),
        ("two", -2, b"\xfe\xff"),
        ("four", True, struct.pack("i", 1)),
        ("four", -5, struct.pack("i", -5)),
        ("four", 0xFFFFFFFF, b"\xff" * 4),
        ("eight", -5, struct.pack("q", -5)),
        ("eight", (1 << 64) - 1, b"\xff" * 8),
        ("four", 1.5, struct.pack("f", 1.5)),
        ("eight", 1.5, struct.pack("d", 1.5)),
        ("eight", 1 - 2j, struct.pack("ff", 1, -2)),
        ("sixteen", 1 - 2j, struct.pack("dd", 1, -2)),
        ("four", np.float32(2.5), struct.pack("f", 2.5)),
        ("eight", np.float64(2.5), struct.pack("d", 2.5)),
        ("two", np.float16(2.5), np.float16(2.5).tobytes()),
        ("two", ml_dtypes.bfloat16(2.5), b"\x20\x40"),
        ("eight", np.int64(-1), b"\xff" * 8),
        ("one", np.bool_(True), b"\1"),
        ("four", np.array(3, "i4"), struct.pack("i", 3)),
        ("four", ctypes.c_float(0.5), struct.pack("f", 0.5)),
        ("twelve", Pair(7, 1.5, 9), struct.pack("ifi", 7, 1.5, 9)),
        ("twelve", RECORD[0], struct.pack("ifi", 7, 1.5, 9)),
        ("twelve", b"abcdefghijkl", b"abcdefghijkl"),
        ("eight", None, bytes(8)),
    ],
    ids=repr,
)
def test_values(code: infinirt.ObjectCode, kernel: str, value: object, expected: bytes) -> None:
    assert shown(code, kernel, value) == expected


def test_pointers(code: infinirt.ObjectCode, device: infinirt.Device) -> None:
    class Tensor:
        def data_ptr(self) -> int:
            return 0x1234

    stream = device.create_stream()
    buffer = device.allocate(4)
    assert shown(code, "eight", buffer) == struct.pack("P", buffer.ptr)
    assert shown(code, "eight", Tensor()) == struct.pack("P", 0x1234)
    assert shown(code, "eight", Described(0x5678, stream)) == struct.pack("P", 0x5678)
    assert shown(code, "eight", ctypes.c_void_p(77)) == struct.pack("P", 77)


def test_a_kernel_waits_for_the_stream_of_an_array(
    code: infinirt.ObjectCode, device: infinirt.Device
) -> None:
    order: list[str] = []
    busy, stream = device.create_stream(), device.create_stream()
    buffer = device.allocate(8)

    busy.launch_host_func(lambda: (time.sleep(0.1), order.append("array")))
    infinirt.launch(
        stream, infinirt.LaunchConfig(grid=1), code.get_kernel("eight"), Described(buffer.ptr, busy), 1
    )
    stream.launch_host_func(lambda: order.append("kernel"))
    stream.sync()
    assert order == ["array", "kernel"]


@pytest.mark.parametrize(
    ("kernel", "value", "error", "message"),
    [
        ("one", 256, OverflowError, "argument 1, 256, does not fit into the 1 bytes"),
        ("four", 1 << 32, OverflowError, "argument 1"),
        ("four", -(1 << 31) - 1, OverflowError, "argument 1"),
        ("eight", 1 << 64, OverflowError, "argument 1"),
        ("eight", -(1 << 63) - 1, OverflowError, "argument 1"),
        ("twelve", 1, TypeError, "argument 1, 1, is an int, and the parameter has 12 bytes"),
        ("two", 1.0, TypeError, "argument 1, 1.0, is a float, .* numpy.float16"),
        ("four", 1j, TypeError, "argument 1"),
        ("four", np.float64(1), TypeError, r"argument 1, .*1.0.*, has 8 bytes, and the parameter 4"),
        ("eight", Pair(), TypeError, "has 12 bytes, and the parameter 8"),
        ("four", None, TypeError, "argument 1 is a pointer"),
        ("eight", np.zeros(3), TypeError, "argument 1 is an array of the host"),
        ("eight", "text", TypeError, "argument 1: a pointer is given as Buffer"),
    ],
    ids=repr,
)
def test_wrong_values(
    code: infinirt.ObjectCode, kernel: str, value: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        shown(code, kernel, value)


def test_wrong_count(code: infinirt.ObjectCode, device: infinirt.Device) -> None:
    for arguments in ((), (None,), (None, 1, 2)):
        with pytest.raises(TypeError, match=f"takes 2 arguments, {len(arguments)} w"):
            infinirt.launch(None, infinirt.LaunchConfig(grid=1), code.get_kernel("four"), *arguments)


def test_facts(code: infinirt.ObjectCode) -> None:
    kernel = code.get_kernel("twelve")
    assert kernel is code.get_kernel("twelve")
    assert kernel.num_arguments == kernel.param_count == 2
    assert kernel.arguments_info[0] == (0, 8)
    assert kernel.arguments_info[1][1] == 12
    assert repr(kernel) == "<Kernel twelve(8 bytes, 12 bytes)>"
    attributes = kernel.attributes
    assert attributes.max_threads_per_block >= 1
    assert {"num_regs", "shared_size_bytes"} <= set(dir(attributes))
    attributes.max_dynamic_shared_size_bytes = 4096
    assert attributes.max_dynamic_shared_size_bytes == 4096
    assert attributes[infinirt.Device("cpu")].num_regs == attributes.num_regs
    with pytest.raises(AttributeError, match="no_such"):
        _ = attributes.no_such
    with pytest.raises(AttributeError, match="cannot be set"):
        attributes.num_regs = 3
    assert kernel.occupancy.max_active_blocks_per_multiprocessor(32) > 0
    assert kernel.occupancy.available_dynamic_shared_memory_per_block(1, 32) > 0
    assert kernel.occupancy.max_cooperative_blocks(infinirt.LaunchConfig(grid=1, block=32)) > 0


def test_closed_code(shared_object: Path, device: infinirt.Device) -> None:
    code = infinirt.ObjectCode.from_library(shared_object.read_bytes())
    kernel = code.get_kernel("one")
    with pytest.raises(infinirt.InfiniRTError, match="three"):
        code.get_kernel("three")
    code.close()
    code.close()
    with pytest.raises(infinirt.InfiniRTError):
        infinirt.launch(device.default_stream, infinirt.LaunchConfig(grid=1), kernel, None, 1)


def test_code_of_another_device_type_is_refused() -> None:
    with pytest.raises(infinirt.InfiniRTError):
        infinirt.ObjectCode.from_library(b"\x7fELF no library").get_kernel("f")
    with pytest.raises(FileNotFoundError):
        infinirt.ObjectCode.from_cubin("/nowhere/kernel.cubin")


def test_clusters_and_cooperation(code: infinirt.ObjectCode, device: infinirt.Device) -> None:
    config = infinirt.LaunchConfig(grid=(2, 3), cluster=(2, 1), block=4, is_cooperative=True)
    assert config.cluster == (2, 1, 1)
    assert config._shape() == (4, 3, 1, 4, 1, 1, 0, True, 2, 1, 1)
    with pytest.raises(infinirt.NotSupportedError, match="clusters"):
        infinirt.launch(device.default_stream, config, code.get_kernel("one"), None, 1)
    with pytest.raises(ValueError, match="cluster"):
        infinirt.LaunchConfig(grid=1, cluster=0)
    with pytest.raises(ValueError, match="shmem_size"):
        infinirt.LaunchConfig(grid=1, shmem_size=-1)
    out = device.allocate(1)
    config = infinirt.LaunchConfig(grid=1, is_cooperative=True)
    infinirt.launch(device.default_stream, config, code.get_kernel("one"), out, 5)
    graph = infinirt.Graph("cpu")
    graph.add_kernel(config, code.get_kernel("one"), out, 6)
    device.sync()
    assert bytes(out) == b"\5"
    graph.instantiate().launch(device.default_stream)
    device.sync()
    assert bytes(out) == b"\6"
