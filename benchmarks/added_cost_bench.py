"""What this runtime adds to a call into a vendor's library, layer by layer. Needs no GPU.

In place of NVIDIA's library stands one whose functions do nothing and say success: what remains is the cost of dispatch, of the
checks around a call, and of Python. It says nothing about a GPU; `gpu_calls_bench.py` measures a real one.

Columns: the empty function called from C; the same through this library; `infinirt.runtime`; the objects. Every cell is timed
once per round between two runs of a fixed loop, and scaled by it: the speed of a shared machine changes by the second. A row
is printed in nanoseconds of the machine's quickest moments, the lower quartile of all rounds.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from math import nan
from pathlib import Path

ROUNDS = int(os.environ.get("INFINIRT_BENCH_ROUNDS", "31"))
CALLS = 2000
LAYERS = ("C", "dispatch", "flat", "object")

# Everything that the rows below reach. Handles and memory are addresses that nothing touches.
EMPTY_LIBRARY = r"""
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#define EMPTY(name) int cuda##name() { return 0; }
#define GIVES(name, value, ...) int cuda##name(int* out, ##__VA_ARGS__) { *out = value; return 0; }
#define MAKES(name, ...) int cuda##name(void** out, ##__VA_ARGS__) { *out = (void*)(place += 256); return 0; }
static uintptr_t place = 0x300000000000ull;
GIVES(RuntimeGetVersion, 13000) GIVES(DriverGetVersion, 13000) GIVES(GetDeviceCount, 1) GIVES(GetDevice, 0)
GIVES(DeviceGetAttribute, 1, int attribute, int device)
EMPTY(SetDevice) EMPTY(GetLastError) EMPTY(PeekAtLastError) EMPTY(DeviceSynchronize) EMPTY(ThreadExchangeStreamCaptureMode)
MAKES(StreamCreateWithPriority, unsigned flags, int priority) MAKES(EventCreateWithFlags, unsigned flags)
MAKES(DeviceGetDefaultMemPool, int device) MAKES(DeviceGetMemPool, int device)
EMPTY(StreamDestroy) EMPTY(StreamQuery) EMPTY(StreamSynchronize) EMPTY(StreamWaitEvent)
EMPTY(EventDestroy) EMPTY(EventQuery) EMPTY(EventRecord) EMPTY(EventSynchronize)
EMPTY(MemPoolSetAttribute) EMPTY(MemPoolGetAttribute) EMPTY(FreeAsync) EMPTY(MemcpyAsync) EMPTY(MemsetAsync)
EMPTY(LaunchKernel) EMPTY(GraphLaunch)
int cudaMallocAsync(void** out, size_t size, void* stream) { *out = (void*)0x301000000000ull; return 0; }
int cudaMallocFromPoolAsync(void** out, size_t size, void* pool, void* stream) { *out = (void*)0x301000000000ull; return 0; }
int cudaStreamIsCapturing(void* stream, int* status) { *status = 0; return 0; }
int cudaStreamGetCaptureInfo(void* stream, int* status) { *status = 0; return 0; }
int cudaGetDeviceProperties(void* properties, int device) { memset(properties, 0, 256); return 0; }
int cudaPointerGetAttributes(void* attributes, const void* pointer) { memset(attributes, 0, 24); return 0; }
"""

# Compiled once for each prefix; linked like any program.
LOOPS = r"""
#include <stddef.h>
#include <time.h>
#define JOIN(a, b) a##b
#define NAME(prefix, name) JOIN(prefix, name)
#define F(name) NAME(PREFIX, name)
typedef struct { unsigned x, y, z; } dim;
int F(GetDevice)(int*); int F(SetDevice)(int); int F(StreamQuery)(void*); int F(StreamSynchronize)(void*);
int F(EventRecord)(void*, void*); int F(EventQuery)(void*); int F(StreamWaitEvent)(void*, void*, unsigned);
int F(MallocAsync)(void**, size_t, void*); int F(FreeAsync)(void*, void*); int F(GraphLaunch)(void*, void*);
int F(MemcpyAsync)(void*, const void*, size_t, int, void*); int F(MemsetAsync)(void*, int, size_t, void*);
int F(LaunchKernel)(const void*, dim, dim, void**, size_t, void*);
static double now() { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
#define LOOP(row, call) \
  double row(long n, void* s, void* e, void* a, void* b, void* k, void* g) { \
    void* p = 0; int d = 0; dim one = {1, 1, 1}; void* args[] = {&a, &b, &d}; (void)p; (void)d; (void)one; (void)args; \
    double begin = now(); for (long i = 0; i < n; i++) if (call) return -1; return (now() - begin) / n; }
LOOP(get_device, F(GetDevice)(&d)) LOOP(set_device, F(SetDevice)(0)) LOOP(stream_query, F(StreamQuery)(s))
LOOP(stream_synchronise, F(StreamSynchronize)(s)) LOOP(event_record, F(EventRecord)(e, s))
LOOP(event_query, F(EventQuery)(e)) LOOP(stream_wait, F(StreamWaitEvent)(s, e, 0))
LOOP(pool_allocate_free, F(MallocAsync)(&p, 1 << 20, s) || F(FreeAsync)(p, s))
LOOP(copy_4_KiB, F(MemcpyAsync)(a, b, 4096, 3, s)) LOOP(set_4_KiB, F(MemsetAsync)(a, 0, 4096, s))
LOOP(launch, F(LaunchKernel)(k, one, one, 0, 0, s)) LOOP(launch_3_arguments, F(LaunchKernel)(k, one, one, args, 0, s))
LOOP(graph_launch, F(GraphLaunch)(g, s))
double fixed(long n) { unsigned long x = n; double begin = now();
  for (long i = 0; i < n; i++) __asm__ volatile("imul $0x5deece66, %0, %0" : "+r"(x)); return (now() - begin) / n; }
"""

ROWS = {
    "get_device": ("infinirtGetDevice()", "current()"),
    "set_device": ("infinirtSetDevice(0)", "device.set_current()"),
    "stream_query": ("infinirtStreamQuery(s)", "stream.query()"),
    "stream_synchronise": ("infinirtStreamSynchronize(s)", "stream.sync()"),
    "event_record": ("infinirtEventRecord(e, s)", "stream.record(event)"),
    "event_query": ("infinirtEventQuery(e)", "event.is_done"),
    "stream_wait": ("infinirtStreamWaitEvent(s, e, 0)", "stream.wait(event)"),
    "pool_allocate_free": (
        "infinirtFreeAsync(infinirtMallocAsync(1048576, s)[1], s)",
        "device.allocate(1048576, stream=stream).close()",
    ),
    "copy_4_KiB": ("infinirtMemcpyAsync(a, b, 4096, d2d, s)", "buffer.copy_from(other, stream=stream)"),
    "set_4_KiB": ("infinirtMemsetAsync(a, 0, 4096, s)", "buffer.fill(0, stream=stream)"),
    "launch": ("infinirtLaunchKernel(k, one, one, None, 0, s)", "launch(stream, config, kernel)"),
    "launch_3_arguments": (
        "infinirtLaunchKernel(k, one, one, ((a, b, 5), types), 0, s)",
        "launch(stream, config, kernel_of_3, buffer, other, 5)",
    ),
    "graph_launch": ("infinirtGraphLaunch(g, s)", ""),
}
PAIRS = {"pool_allocate_free"}

Timer = Callable[[int], float]


def build(compiler: str, folder: Path, name: str, source: str, *options: str) -> Path:
    (folder / f"{name}.c").write_text(source)
    target = folder / name
    subprocess.run(
        [
            compiler,
            "-O2",
            "-w",
            "-fno-builtin",
            "-shared",
            "-fPIC",
            "-o",
            target,
            folder / f"{name}.c",
            *options,
        ],
        check=True,
    )
    return target


def timers(compiler: str, folder: Path, empty: Path) -> tuple[dict[tuple[str, str], Timer], Timer]:
    """One timer per row and layer, and that of the fixed loop."""
    import infinirt
    from infinirt import runtime as rt

    device = infinirt.Device("nvidia:0")
    device.set_current()
    stream = device.create_stream(nonblocking=True)
    event = device.create_event()
    buffer, other = (device.allocate(4096, stream=stream) for _ in range(2))
    address, graph = 0x302000000010, 0x302000001010
    handles = (stream.handle, event.handle, buffer.handle, other.handle, address, graph)

    own = Path(infinirt.__file__).with_name("lib") / "libinfinirt.so.1"
    path = f"-Wl,-rpath,{folder}:{own.parent}"
    libraries = {
        "C": ctypes.CDLL(str(build(compiler, folder, "plain.so", LOOPS, "-DPREFIX=cuda", str(empty), path))),
        "dispatch": ctypes.CDLL(
            str(build(compiler, folder, "ours.so", LOOPS, "-DPREFIX=infinirt", str(own), path))
        ),
    }
    made: dict[tuple[str, str], Timer] = {}
    for layer, library in libraries.items():
        for row in ROWS:
            loop = getattr(library, row)
            loop.restype, loop.argtypes = ctypes.c_double, [ctypes.c_long, *[ctypes.c_void_p] * 6]
            made[row, layer] = lambda n, loop=loop: loop(n, *handles)  # type: ignore[misc]

    one = rt.dim3()
    one.x = one.y = one.z = 1
    names = {name: getattr(rt, name) for name in dir(rt) if name.startswith("infinirt")}
    names |= {"s": rt.infinirtStream_t(stream.handle), "e": rt.infinirtEvent_t(event.handle), "one": one}
    names |= {"a": buffer.handle, "b": other.handle, "k": address, "g": rt.infinirtGraphExec_t(graph)}
    names |= {"types": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)}
    names |= {"d2d": rt.infinirtMemcpyKind.infinirtMemcpyDeviceToDevice, "current": infinirt.current_device}
    names |= {"device": device, "stream": stream, "event": event, "buffer": buffer, "other": other}
    names |= {"launch": infinirt.launch, "config": infinirt.LaunchConfig(grid=1, block=1)}
    names["kernel"] = infinirt.Kernel._loaded(address, "of none", "nvidia", [], None)
    names["kernel_of_3"] = infinirt.Kernel._loaded(
        address, "of three", "nvidia", [(0, 8), (8, 8), (16, 4)], None
    )
    for row, texts in ROWS.items():
        for layer, text in zip(("flat", "object"), texts, strict=True):
            if text:
                timer = timeit.Timer(text, globals=names)
                made[row, layer] = lambda n, timer=timer: timer.timeit(n) / n * 1e9  # type: ignore[misc]
    fixed = libraries["C"].fixed
    fixed.restype, fixed.argtypes = ctypes.c_double, [ctypes.c_long]
    return made, fixed


def main() -> int:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        print("a C compiler is needed")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        empty = build(compiler, folder, "libcudart.so.13", EMPTY_LIBRARY, "-Wl,-soname,libcudart.so.13")
        os.environ["INFINIRT_CUDA_LIBRARY"] = str(empty)
        os.environ["INFINIRT_DEVICE"] = "nvidia"
        made, fixed = timers(compiler, folder, empty)
        samples: dict[tuple[str, str], list[float]] = {}
        quickest = float("inf")
        for _ in range(ROUNDS):
            for key, timer in made.items():
                before, time, after = fixed(3000), timer(CALLS), fixed(3000)
                quickest = min(quickest, before, after)
                if abs(before / after - 1) < 0.1:  # else the speed changed meanwhile
                    samples.setdefault(key, []).append(time * 2 / (before + after))
    print(
        f"{'ns per call':20}" + "".join(f"{layer:>10}" for layer in LAYERS) + f"{'flat-C':>9}{'object-C':>10}"
    )
    for row in ROWS:
        times = {
            layer: statistics.quantiles(samples[row, layer])[0] * quickest if (row, layer) in samples else nan
            for layer in LAYERS
        }
        flat, object_ = (times[layer] - times["C"] for layer in ("flat", "object"))
        mark = "!" if flat > (120 if row in PAIRS else 60) else " "
        cells = "".join(f"{times[layer]:10.1f}" for layer in LAYERS)
        print(f"{row.replace('_', ' '):20}{cells}{flat:8.0f}{mark}{object_:10.0f}")
    print("'!': more than 60 ns over C (120 for pairs).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
