"""Kernels on a GPU: compiled here, launched on our streams and buffers, without any framework."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gpu_support import cannot_run

import infinirt

pytestmark = [pytest.mark.gpu, pytest.mark.memcheck]

SOURCE = """
extern "C" __global__ void saxpy(float a, const float* x, float* y, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
template <class T> __global__ void fill(T* x, T value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = value;
}
struct Pair { int number; float fraction; short flag; };
extern "C" __global__ void unpack(Pair pair, bool negative, short small, double* out) {
  out[0] = pair.number;
  out[1] = pair.fraction;
  out[2] = pair.flag;
  out[3] = negative ? -small : small;
}
extern "C" __global__ void shared_sum(const int* x, int* out) {
  extern __shared__ int part[];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int i = 0; i < blockDim.x; ++i) sum += part[i];
    *out = sum;
  }
}
// Every block adds one; all wait for each other, then the first writes what all of them see.
extern "C" __global__ void together(unsigned* counter, unsigned* out) {
  if (threadIdx.x == 0) {
    atomicAdd(counter, 1);
    while (atomicAdd(counter, 0) < gridDim.x) {}
    out[blockIdx.x] = atomicAdd(counter, 0);
  }
}
extern "C" __global__ void clusters(unsigned* out) {
  unsigned size;
  asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size));
  out[blockIdx.x] = size;
}
extern "C" __global__ void nothing() {}
"""
FILLS = {"fill<float>": np.float32, "fill<double>": np.float64, "fill<unsigned char>": np.uint8}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINIRT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def device() -> infinirt.Device:
    return infinirt.Device("nvidia")


@pytest.fixture(scope="module")
def code(device: infinirt.Device, pytestconfig: pytest.Config) -> infinirt.ObjectCode:
    with device:
        try:
            return infinirt.Program(SOURCE, "c++").compile("cubin", name_expressions=FILLS)
        except infinirt.NotSupportedError as error:
            cannot_run(pytestconfig, f"no NVRTC here: {error}")


@pytest.fixture
def stream(device: infinirt.Device) -> infinirt.Stream:
    return device.create_stream()


def to_device(array: np.ndarray, stream: infinirt.Stream) -> infinirt.Buffer:
    buffer = stream.device.allocate(array.nbytes, stream=stream)
    buffer.copy_from(array, stream=stream)
    return buffer


def to_host(buffer: infinirt.Buffer, dtype: object, stream: infinirt.Stream) -> np.ndarray:
    array = np.empty(buffer.size // np.dtype(dtype).itemsize, dtype)
    buffer.copy_to(array, stream=stream)
    stream.sync()
    return array


def test_saxpy(code: infinirt.ObjectCode, stream: infinirt.Stream) -> None:
    n = 100_003
    x, y = np.arange(n, dtype="f4"), np.ones(n, "f4")
    x_buffer, y_buffer = to_device(x, stream), to_device(y, stream)
    config = infinirt.LaunchConfig(grid=-(-n // 256), block=256)
    kernel = code.get_kernel("saxpy")
    infinirt.launch(stream, config, kernel, 2.0, x_buffer, y_buffer, n)
    np.testing.assert_array_equal(to_host(y_buffer, "f4", stream), 2 * x + y)
    infinirt.launch(stream, config, kernel, np.float32(-2), x_buffer.ptr, y_buffer, ctypes.c_longlong(n))
    np.testing.assert_array_equal(to_host(y_buffer, "f4", stream), y)


def test_the_current_device_need_not_be_the_streams(
    code: infinirt.ObjectCode, stream: infinirt.Stream
) -> None:
    with infinirt.Device("cpu"):
        kernel = code.get_kernel("saxpy")
        x, y = to_device(np.ones(4, "f4"), stream), to_device(np.ones(4, "f4"), stream)
        infinirt.launch(stream, infinirt.LaunchConfig(grid=1, block=4), kernel, 3.0, x, y, 4)
        np.testing.assert_array_equal(to_host(y, "f4", stream), 4.0)


def test_default_streams(code: infinirt.ObjectCode, device: infinirt.Device, stream: infinirt.Stream) -> None:
    x, y = to_device(np.ones(4, "f4"), stream), to_device(np.ones(4, "f4"), stream)
    stream.sync()
    config = infinirt.LaunchConfig(grid=1, block=4)
    with device:
        for given in (None, device.default_stream):
            infinirt.launch(given, config, code.get_kernel("saxpy"), 1.0, x, y, 4)
    device.sync()
    np.testing.assert_array_equal(to_host(y, "f4", stream), 3.0)


@pytest.mark.parametrize("name", FILLS)
def test_templates(code: infinirt.ObjectCode, stream: infinirt.Stream, name: str) -> None:
    dtype = FILLS[name]
    buffer = stream.device.allocate(100 * np.dtype(dtype).itemsize, stream=stream)
    infinirt.launch(
        stream, infinirt.LaunchConfig(grid=1, block=128), code.get_kernel(name), buffer, dtype(7), 100
    )
    np.testing.assert_array_equal(to_host(buffer, dtype, stream), 7)


def test_structures_and_small_types(code: infinirt.ObjectCode, stream: infinirt.Stream) -> None:
    class Pair(ctypes.Structure):
        _fields_ = [("number", ctypes.c_int), ("fraction", ctypes.c_float), ("flag", ctypes.c_short)]

    record = np.array([(3, 0.5, -4)], np.dtype("i4,f4,i2", align=True))
    out = stream.device.allocate(32, stream=stream)
    for pair in (Pair(3, 0.5, -4), record[0]):
        infinirt.launch(stream, infinirt.LaunchConfig(grid=1), code.get_kernel("unpack"), pair, True, 9, out)
        assert to_host(out, "f8", stream).tolist() == [3, 0.5, -4, -9]


def test_wrong_arguments(code: infinirt.ObjectCode, stream: infinirt.Stream) -> None:
    kernel, config = code.get_kernel("saxpy"), infinirt.LaunchConfig(grid=1)
    assert kernel.num_arguments == 4
    assert [size for _, size in kernel.arguments_info] == [4, 8, 8, 8]
    with pytest.raises(TypeError, match="takes 4 arguments, 3 were given"):
        infinirt.launch(stream, config, kernel, 1.0, None, None)
    with pytest.raises(TypeError, match=r"argument 0, .*has 8 bytes, and the parameter 4"):
        infinirt.launch(stream, config, kernel, np.float64(1), None, None, 0)
    with pytest.raises(TypeError, match="argument 1 is an array of the host"):
        infinirt.launch(stream, config, kernel, 1.0, np.zeros(3, "f4"), None, 0)
    with pytest.raises(OverflowError, match="argument 3"):
        infinirt.launch(stream, config, kernel, 1.0, None, None, 1 << 64)
    with pytest.raises(infinirt.InfiniRTError):
        infinirt.launch(stream, infinirt.LaunchConfig(grid=1, block=4096), kernel, 1.0, None, None, 0)
    # None of these broke anything.
    infinirt.launch(stream, config, code.get_kernel("nothing"))
    stream.sync()


def test_names(code: infinirt.ObjectCode) -> None:
    assert code.get_kernel("fill<float>") is code.get_kernel("fill<float>")
    with pytest.raises(infinirt.InfiniRTError, match="absent"):
        code.get_kernel("absent")


def test_capture_and_replay(code: infinirt.ObjectCode, stream: infinirt.Stream) -> None:
    x, y = to_device(np.ones(8, "f4"), stream), to_device(np.zeros(8, "f4"), stream)
    config = infinirt.LaunchConfig(grid=1, block=8)
    with infinirt.capture(stream) as captured:
        for factor in (1.0, 10.0):
            infinirt.launch(stream, config, code.get_kernel("saxpy"), factor, x, y, 8)
    executable = captured.graph.instantiate()
    del x
    stream.sync()
    np.testing.assert_array_equal(to_host(y, "f4", stream), 0.0)
    for _ in range(3):
        executable.launch(stream)
    np.testing.assert_array_equal(to_host(y, "f4", stream), 33.0)


def test_graphs_by_hand(code: infinirt.ObjectCode, device: infinirt.Device, stream: infinirt.Stream) -> None:
    x, y = to_device(np.ones(8, "f4"), stream), to_device(np.zeros(8, "f4"), stream)
    stream.sync()
    config = infinirt.LaunchConfig(grid=1, block=8)
    with device:
        graph = infinirt.Graph("nvidia")
        first = graph.add_kernel(config, code.get_kernel("saxpy"), 1.0, x, y, 8)
        graph.add_kernel(config, code.get_kernel("saxpy"), 2.0, x, y, 8, dependencies=[first])
        graph.instantiate().launch(stream)
    np.testing.assert_array_equal(to_host(y, "f4", stream), 3.0)


def test_cooperative_launch(code: infinirt.ObjectCode, stream: infinirt.Stream) -> None:
    kernel = code.get_kernel("together")
    shape = infinirt.LaunchConfig(grid=1, block=32, is_cooperative=True)
    blocks = kernel.occupancy.max_cooperative_blocks(shape)
    assert blocks >= stream.device.properties.multiprocessor_count
    counter, out = to_device(np.zeros(1, "u4"), stream), stream.device.allocate(4 * blocks, stream=stream)
    config = infinirt.LaunchConfig(grid=blocks, block=32, is_cooperative=True)
    infinirt.launch(stream, config, kernel, counter, out)
    np.testing.assert_array_equal(to_host(out, "u4", stream), blocks)
    too_many = infinirt.LaunchConfig(grid=blocks + 1, block=32, is_cooperative=True)
    with pytest.raises(infinirt.InfiniRTError, match="CooperativeLaunchTooLarge"):
        infinirt.launch(stream, too_many, kernel, counter, out)


def test_clusters(code: infinirt.ObjectCode, stream: infinirt.Stream) -> None:
    if stream.device.compute_capability < (9, 0):
        pytest.skip("this GPU has no clusters")
    out = to_device(np.zeros(8, "u4"), stream)
    config = infinirt.LaunchConfig(grid=4, cluster=2, block=32)
    infinirt.launch(stream, config, code.get_kernel("clusters"), out)
    np.testing.assert_array_equal(to_host(out, "u4", stream), 2)


def test_attributes_and_dynamic_shared_memory(code: infinirt.ObjectCode, stream: infinirt.Stream) -> None:
    kernel = code.get_kernel("shared_sum")
    attributes = kernel.attributes
    assert attributes.max_threads_per_block == 1024
    assert 0 < attributes.num_regs < 256
    assert attributes.local_size_bytes == 0
    major, minor = stream.device.compute_capability
    assert attributes.binary_version == 10 * major + minor
    assert kernel.occupancy.max_active_blocks_per_multiprocessor(128) >= 1
    assert kernel.occupancy.available_dynamic_shared_memory_per_block(1, 128) > 0
    x, out = to_device(np.arange(64, dtype="i4"), stream), stream.device.allocate(4, stream=stream)
    infinirt.launch(stream, infinirt.LaunchConfig(grid=1, block=64, shmem_size=256), kernel, x, out)
    assert to_host(out, "i4", stream)[0] == 2016
    large = infinirt.LaunchConfig(grid=1, block=64, shmem_size=64 * 1024)
    with pytest.raises(infinirt.InfiniRTError):
        infinirt.launch(stream, large, kernel, x, out)
    attributes.max_dynamic_shared_size_bytes = 64 * 1024
    infinirt.launch(stream, large, kernel, x, out)
    assert to_host(out, "i4", stream)[0] == 2016


def test_ptx(device: infinirt.Device, stream: infinirt.Stream, tmp_path: Path) -> None:
    with device:
        ptx = infinirt.Program(SOURCE).compile("ptx").code
    path = tmp_path / "kernels.ptx"
    path.write_bytes(ptx)
    out = to_device(np.ones(4, "f4"), stream)
    for given in (ptx, path):
        try:
            kernel = infinirt.ObjectCode.from_ptx(given).get_kernel("saxpy")
        except infinirt.InfiniRTError as error:
            if "UnsupportedPtxVersion" in str(error):
                pytest.skip(f"the driver is older than the compiler: {error}")
            raise
        infinirt.launch(stream, infinirt.LaunchConfig(grid=1, block=4), kernel, 1.0, out, out, 4)
    np.testing.assert_array_equal(to_host(out, "f4", stream), 4.0)
    with pytest.raises(infinirt.InfiniRTError):
        infinirt.ObjectCode.from_ptx(b".version 8.0\n.target sm_80\nwrong").get_kernel("f")


def test_cubin_from_elsewhere_and_closing(code: infinirt.ObjectCode, stream: infinirt.Stream) -> None:
    other = infinirt.ObjectCode.from_cubin(code.code, symbol_mapping=code.symbol_mapping)
    out = stream.device.allocate(4, stream=stream)
    kernel = other.get_kernel("fill<float>")
    config = infinirt.LaunchConfig(grid=1)
    infinirt.launch(stream, config, kernel, out, 5.0, 1)
    assert to_host(out, "f4", stream)[0] == 5.0
    other.close()
    with pytest.raises(infinirt.InfiniRTError):
        infinirt.launch(stream, config, kernel, out, 6.0, 1)
    assert to_host(out, "f4", stream)[0] == 5.0


def test_the_second_process_finds_the_code_on_disk(tmp_path: Path) -> None:
    program = """
import sys, infinirt
with infinirt.Device("nvidia"):
    code = infinirt.Program('extern "C" __global__ void f(int* x) { *x = 7; }').compile()
    stream = infinirt.Device("nvidia").create_stream()
    out = stream.device.allocate(4, stream=stream)
    infinirt.launch(stream, infinirt.LaunchConfig(grid=1), code.get_kernel("f"), out)
    host = bytearray(4)
    out.copy_to(host, stream=stream)
    stream.sync()
assert "torch" not in sys.modules
print(code.is_cached, host[0])
"""
    said = [
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert said == [["False", "7"], ["True", "7"]]
