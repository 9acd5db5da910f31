"""A CUDA C++ kernel, compiled here and launched on a GPU: y = a * x + y."""

import numpy as np

import infinirt

SOURCE = """
template <class T>
__global__ void saxpy(T a, const T* x, T* y, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""


def compile_saxpy(arch: str | None) -> infinirt.ObjectCode | None:
    program = infinirt.Program(SOURCE, "c++", infinirt.ProgramOptions(arch=arch))
    try:
        return program.compile("cubin", name_expressions=["saxpy<float>"])
    except infinirt.NotSupportedError as problem:
        print(f"Nothing was compiled. {problem}")
        return None


def run_on(device: infinirt.Device) -> None:
    code = compile_saxpy(arch=None)  # None: this GPU's own
    if code is None:
        return
    saxpy = code.get_kernel("saxpy<float>")
    n, block = 1_000_000, 256
    x, y = np.arange(n, dtype="float32"), np.ones(n, dtype="float32")
    stream = device.create_stream()
    x_buffer, y_buffer = device.allocate(x.nbytes, stream=stream), device.allocate(y.nbytes, stream=stream)
    x_buffer.copy_from(x, stream=stream)
    y_buffer.copy_from(y, stream=stream)
    config = infinirt.LaunchConfig(grid=-(-n // block), block=block)
    infinirt.launch(stream, config, saxpy, 2.0, x_buffer, y_buffer, n)
    result = np.empty_like(y)
    y_buffer.copy_to(result, stream=stream)
    stream.sync()
    assert (result == 2 * x + y).all()
    print(f"{saxpy!r} on {device.name}: {result[:4]} ... ({saxpy.attributes.num_regs} registers)")


nvidia = next(info for info in infinirt.device_types() if info.name == "nvidia")
if nvidia.count:
    with infinirt.Device("nvidia") as gpu:
        run_on(gpu)
else:
    print(f"There is no GPU to launch on: {nvidia.problem}")
    code = compile_saxpy(arch="sm_90")
    if code is not None:
        print(f"Compiling needs none: {code!r} by {code.compiler}")
