"""Host cost per call on an NVIDIA GPU, beside plain C and beside every other Python route that is installed, in one run.

All routes work on the same stream, events, memory, kernel and graphs: the handles are the vendor's own. Each round times every
route of every row once; the table shows medians in nanoseconds. A batch is timed, then drained untimed. The functions and objects
of a statement are local variables. Needs a GPU and a C++ compiler (for the columns C and bare); without a GPU it says so and ends
well.

What a route takes more than C is some 50 ns of calls that take up to 80 us and drift by more than that. So C, bare and flat are
timed in further rounds, in random order, and their differences are medians over the rounds of each round's difference; in processes
of their own, since where the loader puts things is worth as much as what is looked for, and the median of those is shown.

Memory of up to 1 MiB comes out of pieces of 2 MiB that the driver maps: a pair of malloc and free costs 2 us while something else lives
in the piece, and 60 us when the piece is mapped for it and given back. The row of 1 MiB has company, as it has in programs that
hold any memory; the row of 2 MiB is mapped every time.

The column "bare" is a Python extension made for this table: a function for each call that takes no arguments, checks nothing,
keeps the interpreter's lock and returns None (an address, where memory is allocated). What it takes more than C is the
interpreter's own part, which no Python route can be without.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.machinery
import importlib.util
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import timeit
from pathlib import Path
from typing import Any

os.environ["INFINIRT_DEVICE"] = "nvidia"

import infinirt
from infinirt import runtime as rt
from infinirt.__main__ import installed_root

ROUNDS = int(os.environ.get("INFINIRT_BENCH_ROUNDS", "81"))
PROCESSES = int(os.environ.get("INFINIRT_BENCH_PROCESSES", "5"))  # for what flat and bare take more than C
MIB = 1 << 20
ROWS = (
    "get device",
    "set device",
    "stream query",
    "stream sync",
    "event record",
    "event query",
    "stream wait",
    "pool alloc+free",
    "cached alloc+free",
    "malloc+free",
    "malloc+free 2M",
    "copy 4 KiB",
    "set 4 KiB",
    "empty launch",
    "graph of 1",
    "graph of 100",
)
PAIRS = {"pool alloc+free", "cached alloc+free", "malloc+free", "malloc+free 2M"}

DECLARATIONS = r"""
#include <cstddef>
extern "C" {
int cudaGetDevice(int*); int cudaSetDevice(int); int cudaStreamQuery(void*); int cudaStreamSynchronize(void*);
int cudaEventRecord(void*, void*); int cudaEventQuery(void*); int cudaStreamWaitEvent(void*, void*, unsigned);
int cudaMallocAsync(void**, size_t, void*); int cudaFreeAsync(void*, void*); int cudaMalloc(void**, size_t); int cudaFree(void*);
int cudaMemcpyAsync(void*, const void*, size_t, int, void*); int cudaMemsetAsync(void*, int, size_t, void*);
int cudaGraphLaunch(void*, void*);
struct dim { unsigned x, y, z; };
int cudaLaunchKernel(const void*, dim, dim, void**, size_t, void*);
}
"""

C_SOURCE = r"""
#include <infinirt_ext.h>
#include <time.h>
static infinirtXCache_t cache() {
  static infinirtXCache_t made = nullptr;
  infinirtXCacheProps props = {sizeof props, infinirtXCacheMemoryDevice, 0, 0};
  if (!made) infinirtXCacheCreate(&made, &props);
  return made;
}
extern "C" {
static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
#define LOOP(name, call) \
  double name(long n, void* s, void* e, void* a, void* b, void* k, void* g1, void* g100) { \
    void* p = nullptr; int d = 0; (void)p; (void)d; \
    double t = now(); for (long i = 0; i < n; i++) if (call) return -1; return (now() - t) / n; }
LOOP(get_device, cudaGetDevice(&d)) LOOP(set_device, cudaSetDevice(0)) LOOP(stream_query, cudaStreamQuery(s))
LOOP(stream_sync, cudaStreamSynchronize(s)) LOOP(event_record, cudaEventRecord(e, s)) LOOP(event_query, cudaEventQuery(e))
LOOP(stream_wait, cudaStreamWaitEvent(s, e, 0))
LOOP(pool_alloc_free, cudaMallocAsync(&p, 1 << 20, s) || cudaFreeAsync(p, s))
LOOP(cached_alloc_free, infinirtXCacheAllocate(&p, 1 << 20, cache(), (infinirtStream_t)s) ||
                        infinirtXCacheFree(p, cache(), (infinirtStream_t)s))
LOOP(malloc_free, cudaMalloc(&p, 1 << 20) || cudaFree(p)) LOOP(malloc_free_2M, cudaMalloc(&p, 2 << 20) || cudaFree(p))
LOOP(copy_4_KiB, cudaMemcpyAsync(a, b, 4096, 3, s)) LOOP(set_4_KiB, cudaMemsetAsync(a, 0, 4096, s))
LOOP(empty_launch, cudaLaunchKernel(k, dim{1, 1, 1}, dim{1, 1, 1}, nullptr, 0, s))
LOOP(graph_of_1, cudaGraphLaunch(g1, s)) LOOP(graph_of_100, cudaGraphLaunch(g100, s))
}
"""

BARE_SOURCE = r"""
#include <Python.h>
static void *s, *e, *a, *b, *k, *g1, *g100;
static int number;
static PyObject* failed() { PyErr_SetString(PyExc_RuntimeError, "the call failed"); return nullptr; }
static PyObject* use(PyObject*, PyObject* args) {
  if (!PyArg_ParseTuple(args, "KKKKKKK", &s, &e, &a, &b, &k, &g1, &g100)) return nullptr;
  Py_RETURN_NONE;
}
#define CALL(name, call) static PyObject* name(PyObject*, PyObject*) { if (call) return failed(); Py_RETURN_NONE; }
#define GIVES(name, call) \
  static PyObject* name(PyObject*, PyObject*) { void* p; if (call) return failed(); return PyLong_FromVoidPtr(p); }
#define TAKES(name, call) \
  static PyObject* name(PyObject*, PyObject* value) { \
    void* p = PyLong_AsVoidPtr(value); if (call) return failed(); Py_RETURN_NONE; }
CALL(get_device, cudaGetDevice(&number)) CALL(set_device, cudaSetDevice(0)) CALL(stream_query, cudaStreamQuery(s))
CALL(stream_sync, cudaStreamSynchronize(s)) CALL(event_record, cudaEventRecord(e, s)) CALL(event_query, cudaEventQuery(e))
CALL(stream_wait, cudaStreamWaitEvent(s, e, 0))
GIVES(pool_alloc, cudaMallocAsync(&p, 1 << 20, s)) TAKES(pool_free, cudaFreeAsync(p, s))
GIVES(alloc, cudaMalloc(&p, 1 << 20)) GIVES(alloc_2M, cudaMalloc(&p, 2 << 20)) TAKES(release, cudaFree(p))
CALL(copy_4_KiB, cudaMemcpyAsync(a, b, 4096, 3, s)) CALL(set_4_KiB, cudaMemsetAsync(a, 0, 4096, s))
CALL(empty_launch, cudaLaunchKernel(k, dim{1, 1, 1}, dim{1, 1, 1}, nullptr, 0, s))
CALL(graph_of_1, cudaGraphLaunch(g1, s)) CALL(graph_of_100, cudaGraphLaunch(g100, s))
#define ROW(name) {#name, name, METH_NOARGS, nullptr},
static PyMethodDef methods[] = {
    {"use", use, METH_VARARGS, nullptr}, {"pool_free", pool_free, METH_O, nullptr}, {"release", release, METH_O, nullptr},
    ROW(get_device) ROW(set_device) ROW(stream_query) ROW(stream_sync) ROW(event_record) ROW(event_query) ROW(stream_wait)
    ROW(pool_alloc) ROW(alloc) ROW(alloc_2M) ROW(copy_4_KiB) ROW(set_4_KiB) ROW(empty_launch) ROW(graph_of_1) ROW(graph_of_100)
    {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "bare", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit_bare() { return PyModule_Create(&definition); }
"""


def ok(result: tuple[Any, ...]) -> Any:
    assert int(result[0]) == 0, rt.infinirtXGetLastErrorMessage()[1]
    return None if len(result) == 1 else result[1]


class Objects:
    """One of each, shared by all routes."""

    def __init__(self) -> None:
        self.device = infinirt.Device("nvidia:0")
        self.device.set_current()
        self.stream = self.device.create_stream(nonblocking=True)
        self.event = self.device.create_event()
        self.buffer, self.other = (self.device.allocate(4096, stream=self.stream) for _ in range(2))
        pool = ok(rt.infinirtDeviceGetDefaultMemPool(0))
        threshold = rt.infinirtMemPoolAttr.infinirtMemPoolAttrReleaseThreshold
        ok(rt.infinirtMemPoolSetAttribute(pool, threshold, rt.cuuint64_t((1 << 64) - 1)))
        code = infinirt.Program('extern "C" __global__ void nothing() {}').compile()
        self.kernel = code.get_kernel("nothing")
        self.graphs = []
        for count in (1, 100):
            with infinirt.capture(self.stream) as captured:
                for _ in range(count):
                    self.buffer.fill(0, stream=self.stream)
            self.graphs.append(captured.graph.instantiate())
        self.stream.record(self.event)
        self.device.sync()
        self.s, self.e = int(self.stream.handle), int(self.event.handle)
        self.a, self.b = int(self.buffer.handle), int(self.other.handle)
        self.k = int(self.kernel.handle)
        self.g1, self.g100 = (int(graph.handle) for graph in self.graphs)


def library_path() -> str:
    for i in range(ok(rt.infinirtXGetDeviceTypeCount())):
        info = ok(rt.infinirtXGetDeviceTypeInfo(i))
        if info.name == "nvidia":
            return str(info.origin).split(" (")[0]
    raise AssertionError


Timer = Any


def compiled(name: str, source: str, *arguments: str) -> Path | None:
    """A shared library on NVIDIA's, or None where there is no compiler."""
    compiler = shutil.which("g++")
    if compiler is None:
        return None
    folder = Path(tempfile.mkdtemp())
    (folder / f"{name}.cpp").write_text(DECLARATIONS + source)
    made = folder / f"{name}.so"
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(made), str(folder / f"{name}.cpp"), *arguments]
    subprocess.run([*command, library_path()], check=True)
    return made


def c_route(o: Objects) -> dict[str, Timer]:
    package = installed_root()
    made = compiled("c", C_SOURCE, f"-I{package / 'include'}", str(package / "lib" / "libinfinirt.so"))
    if made is None:
        return {}
    library = ctypes.CDLL(str(made))
    route = {}
    for row in ROWS:
        function = getattr(library, row.replace(" ", "_").replace("+", "_"))
        function.restype = ctypes.c_double
        function.argtypes = [ctypes.c_long] + [ctypes.c_void_p] * 7
        route[row] = lambda n, f=function: f(n, o.s, o.e, o.a, o.b, o.k, o.g1, o.g100)
    return route


def statements(names: dict[str, Any], **rows: str) -> dict[str, Timer]:
    """Timers of statements; a row that is missing or fails at once is left out."""
    route: dict[str, Timer] = {}
    for key, text in rows.items():
        row = next(r for r in ROWS if r.replace(" ", "_").replace("+", "_") == key)
        used = [name for name in compile(text, key, "exec").co_names if name in names]
        setup = "; ".join(f"{name} = names[{name!r}]" for name in used) or "pass"
        timer = timeit.Timer(text, setup, globals={"names": names})
        try:
            timer.timeit(3)
        except Exception as error:  # noqa: BLE001: a route without this row is no failure of the benchmark
            print(f"  ({row}: {text}: {error})", file=sys.stderr)
            continue
        route[row] = lambda n, t=timer: t.timeit(n) / n * 1e9
    return route


def bare_route(o: Objects) -> dict[str, Timer]:
    made = compiled("bare", BARE_SOURCE, f"-I{sysconfig.get_path('include')}")
    if made is None:
        return {}
    spec = importlib.util.spec_from_file_location("bare", made)
    assert spec is not None
    assert isinstance(spec.loader, importlib.machinery.ExtensionFileLoader)
    bare = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bare)
    bare.use(o.s, o.e, o.a, o.b, o.k, o.g1, o.g100)
    alike = {key: f"{key}()" for row in ROWS if hasattr(bare, key := row.replace(" ", "_"))}
    return statements(
        dict(vars(bare)),
        **alike,
        pool_alloc_free="pool_free(pool_alloc())",
        malloc_free="release(alloc())",
        malloc_free_2M="release(alloc_2M())",
    )


def flat_route(o: Objects) -> dict[str, Timer]:
    names = {name: getattr(rt, name) for name in dir(rt) if name.startswith("infinirt")}
    names |= {"s": rt.infinirtStream_t(o.s), "e": rt.infinirtEvent_t(o.e), "a": o.a, "b": o.b, "k": o.k}
    names |= {"g1": rt.infinirtGraphExec_t(o.g1), "g100": rt.infinirtGraphExec_t(o.g100)}
    names |= {"d2d": rt.infinirtMemcpyKind.infinirtMemcpyDeviceToDevice, "one": rt.dim3()}
    pool = infinirt.CachingPool(o.device)
    names |= {"pool": pool, "cache": rt.infinirtXCache_t(pool.handle)}
    names["one"].x = names["one"].y = names["one"].z = 1
    return statements(
        names,
        get_device="infinirtGetDevice()",
        set_device="infinirtSetDevice(0)",
        stream_query="infinirtStreamQuery(s)",
        stream_sync="infinirtStreamSynchronize(s)",
        event_record="infinirtEventRecord(e, s)",
        event_query="infinirtEventQuery(e)",
        stream_wait="infinirtStreamWaitEvent(s, e, 0)",
        pool_alloc_free="infinirtFreeAsync(infinirtMallocAsync(1048576, s)[1], s)",
        cached_alloc_free="infinirtXCacheFree(infinirtXCacheAllocate(1048576, cache, s)[1], cache, s)",
        malloc_free="infinirtFree(infinirtMalloc(1048576)[1])",
        malloc_free_2M="infinirtFree(infinirtMalloc(2097152)[1])",
        copy_4_KiB="infinirtMemcpyAsync(a, b, 4096, d2d, s)",
        set_4_KiB="infinirtMemsetAsync(a, 0, 4096, s)",
        empty_launch="infinirtLaunchKernel(k, one, one, None, 0, s)",
        graph_of_1="infinirtGraphLaunch(g1, s)",
        graph_of_100="infinirtGraphLaunch(g100, s)",
    )


def object_route(o: Objects) -> dict[str, Timer]:
    names = {"stream": o.stream, "event": o.event, "device": o.device, "buffer": o.buffer, "other": o.other}
    names |= {"current": infinirt.current_device, "launch": infinirt.launch, "kernel": o.kernel}
    names |= {"config": infinirt.LaunchConfig(grid=1, block=1), "g1": o.graphs[0], "g100": o.graphs[1]}
    names["direct"] = infinirt.DirectResource(o.device)
    names["cached"] = infinirt.CachingPool(o.device)
    return statements(
        names,
        get_device="current()",
        set_device="device.set_current()",
        stream_query="stream.query()",
        stream_sync="stream.sync()",
        event_record="stream.record(event)",
        event_query="event.is_done",
        stream_wait="stream.wait(event)",
        pool_alloc_free="device.allocate(1048576, stream=stream).close()",
        cached_alloc_free="cached.allocate(1048576, stream=stream).close()",
        malloc_free="direct.allocate(1048576).close()",
        malloc_free_2M="direct.allocate(2097152).close()",
        copy_4_KiB="buffer.copy_from(other, stream=stream)",
        set_4_KiB="buffer.fill(0, stream=stream)",
        empty_launch="launch(stream, config, kernel)",
        graph_of_1="g1.launch(stream)",
        graph_of_100="g100.launch(stream)",
    )


def bindings_route(o: Objects) -> dict[str, Timer]:
    from cuda.bindings import driver, runtime

    names = {name: getattr(runtime, name) for name in dir(runtime) if name.startswith("cuda")}
    names |= {
        "s": runtime.cudaStream_t(init_value=o.s),
        "e": runtime.cudaEvent_t(init_value=o.e),
        "a": o.a,
        "b": o.b,
    }
    names |= {
        "g1": runtime.cudaGraphExec_t(init_value=o.g1),
        "g100": runtime.cudaGraphExec_t(init_value=o.g100),
    }
    names |= {"d2d": runtime.cudaMemcpyKind.cudaMemcpyDeviceToDevice, "launch": driver.cuLaunchKernel}
    names["f"] = driver.CUfunction(
        init_value=int(driver.cuKernelGetFunction(driver.CUkernel(init_value=o.k))[1])
    )
    return statements(
        names,
        get_device="cudaGetDevice()",
        set_device="cudaSetDevice(0)",
        stream_query="cudaStreamQuery(s)",
        stream_sync="cudaStreamSynchronize(s)",
        event_record="cudaEventRecord(e, s)",
        event_query="cudaEventQuery(e)",
        stream_wait="cudaStreamWaitEvent(s, e, 0)",
        pool_alloc_free="cudaFreeAsync(cudaMallocAsync(1048576, s)[1], s)",
        malloc_free="cudaFree(cudaMalloc(1048576)[1])",
        malloc_free_2M="cudaFree(cudaMalloc(2097152)[1])",
        copy_4_KiB="cudaMemcpyAsync(a, b, 4096, d2d, s)",
        set_4_KiB="cudaMemsetAsync(a, 0, 4096, s)",
        empty_launch="launch(f, 1, 1, 1, 1, 1, 1, 0, s, 0, 0)",
        graph_of_1="cudaGraphLaunch(g1, s)",
        graph_of_100="cudaGraphLaunch(g100, s)",
    )


def core_route(o: Objects) -> dict[str, Timer]:
    from cuda import core

    if not hasattr(core, "Device"):
        from cuda.core import experimental as core  # type: ignore[no-redef]
    device = core.Device(0)
    device.set_current()
    stream = core.Stream.from_handle(o.s)
    event = stream.record()
    kernel = (
        core.Program('extern "C" __global__ void nothing() {}', "c++").compile("cubin").get_kernel("nothing")
    )
    names = {"Device": core.Device, "device": device, "stream": stream, "event": event, "launch": core.launch}
    names |= {"kernel": kernel, "config": core.LaunchConfig(grid=1, block=1)}
    names["buffer"], names["other"] = (device.allocate(4096, stream=stream) for _ in range(2))
    return statements(
        names,
        get_device="Device()",
        set_device="device.set_current()",
        stream_sync="stream.sync()",
        event_record="stream.record(event)",
        event_query="event.is_done",
        stream_wait="stream.wait(event)",
        pool_alloc_free="device.allocate(1048576, stream=stream).close()",
        copy_4_KiB="buffer.copy_from(other, stream=stream)",
        set_4_KiB="buffer.fill(0, stream=stream)",
        empty_launch="launch(stream, config, kernel)",
    )


def cupy_runtime_route(o: Objects) -> dict[str, Timer]:
    from cupy.cuda import driver, runtime

    names = {
        "r": runtime,
        "s": o.s,
        "e": o.e,
        "a": o.a,
        "b": o.b,
        "g1": o.g1,
        "g100": o.g100,
        "launch": driver.launchKernel,
    }
    from cuda.bindings import driver as other

    names["f"] = int(other.cuKernelGetFunction(other.CUkernel(init_value=o.k))[1])
    return statements(
        names,
        get_device="r.getDevice()",
        set_device="r.setDevice(0)",
        stream_query="r.streamQuery(s)",
        stream_sync="r.streamSynchronize(s)",
        event_record="r.eventRecord(e, s)",
        event_query="r.eventQuery(e)",
        stream_wait="r.streamWaitEvent(s, e)",
        pool_alloc_free="r.freeAsync(r.mallocAsync(1048576, s), s)",
        malloc_free="r.free(r.malloc(1048576))",
        malloc_free_2M="r.free(r.malloc(2097152))",
        copy_4_KiB="r.memcpyAsync(a, b, 4096, 3, s)",
        set_4_KiB="r.memsetAsync(a, 0, 4096, s)",
        empty_launch="launch(f, 1, 1, 1, 1, 1, 1, 0, s, 0, 0)",
        graph_of_1="r.graphLaunch(g1, s)",
        graph_of_100="r.graphLaunch(g100, s)",
    )


def cupy_route(o: Objects) -> dict[str, Timer]:
    import cupy

    stream = cupy.cuda.ExternalStream(o.s)
    stream.use()
    names = {
        "cupy": cupy,
        "stream": stream,
        "event": cupy.cuda.Event(disable_timing=True),
        "device": cupy.cuda.Device(0),
    }
    names |= {
        "x": cupy.zeros(4096, cupy.uint8),
        "y": cupy.zeros(4096, cupy.uint8),
        "pool": cupy.cuda.MemoryPool(),
    }
    names["kernel"] = cupy.RawKernel('extern "C" __global__ void nothing() {}', "nothing")
    return statements(
        names,
        get_device="cupy.cuda.Device()",
        set_device="device.use()",
        stream_query="stream.done",
        stream_sync="stream.synchronize()",
        event_record="event.record(stream)",
        event_query="event.done",
        stream_wait="stream.wait_event(event)",
        cached_alloc_free="pool.malloc(1048576)",
        copy_4_KiB="x.data.copy_from_device_async(y.data, 4096, stream)",
        set_4_KiB="x.data.memset_async(0, 4096, stream)",
        empty_launch="kernel((1,), (1,), ())",
    )


def torch_route(o: Objects) -> dict[str, Timer]:
    import torch

    stream = torch.cuda.ExternalStream(o.s)
    torch.cuda.set_stream(stream)
    event = torch.cuda.Event()
    event.record(stream)
    names = {"cuda": torch.cuda, "stream": stream, "event": event, "empty": torch.empty, "uint8": torch.uint8}
    names["x"], names["y"] = (torch.zeros(4096, dtype=torch.uint8, device="cuda") for _ in range(2))
    return statements(
        names,
        get_device="cuda.current_device()",
        set_device="cuda.set_device(0)",
        stream_query="stream.query()",
        stream_sync="stream.synchronize()",
        event_record="event.record(stream)",
        event_query="event.query()",
        stream_wait="stream.wait_event(event)",
        cached_alloc_free="empty(1048576, dtype=uint8, device='cuda')",
        copy_4_KiB="x.copy_(y)",
        set_4_KiB="x.zero_()",
    )


def ctypes_route(o: Objects) -> dict[str, Timer]:
    c = ctypes.CDLL(library_path())
    void = ctypes.c_void_p
    c.cudaStreamWaitEvent.argtypes = [void, void, ctypes.c_uint]
    c.cudaMemsetAsync.argtypes = [void, ctypes.c_int, ctypes.c_size_t, void]
    c.cudaMemcpyAsync.argtypes = [void, void, ctypes.c_size_t, ctypes.c_int, void]
    c.cudaMallocAsync.argtypes = [void, ctypes.c_size_t, void]
    for name in ("StreamQuery", "StreamSynchronize", "EventQuery", "Free"):
        getattr(c, f"cuda{name}").argtypes = [void]
    for name in ("EventRecord", "FreeAsync", "GraphLaunch"):
        getattr(c, f"cuda{name}").argtypes = [void, void]
    c.cudaMalloc.argtypes = [void, ctypes.c_size_t]
    out, number = ctypes.c_void_p(), ctypes.c_int()
    names = {
        "c": c,
        "s": o.s,
        "e": o.e,
        "a": o.a,
        "b": o.b,
        "g1": o.g1,
        "g100": o.g100,
        "out": out,
        "number": number,
    }
    names |= {"ref": ctypes.byref(out), "device": ctypes.byref(number)}
    return statements(
        names,
        get_device="c.cudaGetDevice(device)",
        set_device="c.cudaSetDevice(0)",
        stream_query="c.cudaStreamQuery(s)",
        stream_sync="c.cudaStreamSynchronize(s)",
        event_record="c.cudaEventRecord(e, s)",
        event_query="c.cudaEventQuery(e)",
        stream_wait="c.cudaStreamWaitEvent(s, e, 0)",
        pool_alloc_free="c.cudaMallocAsync(ref, 1048576, s); c.cudaFreeAsync(out, s)",
        malloc_free="c.cudaMalloc(ref, 1048576); c.cudaFree(out)",
        malloc_free_2M="c.cudaMalloc(ref, 2097152); c.cudaFree(out)",
        copy_4_KiB="c.cudaMemcpyAsync(a, b, 4096, 3, s)",
        set_4_KiB="c.cudaMemsetAsync(a, 0, 4096, s)",
        graph_of_1="c.cudaGraphLaunch(g1, s)",
        graph_of_100="c.cudaGraphLaunch(g100, s)",
    )


ROUTES = {
    "C": (c_route, None),
    "bare": (bare_route, None),
    "flat": (flat_route, None),
    "object": (object_route, None),
    "bindings": (bindings_route, "cuda.bindings"),
    "core": (core_route, "cuda.core"),
    "cupy.rt": (cupy_runtime_route, "cupy"),
    "cupy": (cupy_route, "cupy"),
    "torch": (torch_route, "torch"),
    "ctypes": (ctypes_route, None),
}


def is_installed(module: str | None) -> bool:
    with contextlib.suppress(ModuleNotFoundError):
        return module is None or importlib.util.find_spec(module) is not None
    return False


def calls_per_batch(row: str) -> int:
    return 20 if "100" in row or "malloc" in row else 50 if "graph" in row else 256


def closer_rounds(row: str) -> int:
    return ROUNDS * (12 if row == "malloc+free" else 4)


def is_mapped_each_time(flat: dict[str, Timer]) -> bool:
    """Whether a pair of malloc and free of 1 MiB maps memory, as one of 2 MiB does."""
    one, mapped = (
        statistics.median(flat[row](5) for _ in range(9)) for row in ("malloc+free", "malloc+free 2M")
    )
    return one > mapped / 4


def give_malloc_company(flat: dict[str, Timer]) -> None:
    """Allocates until it does not; what the routes hold may have filled pieces up."""
    for _ in range(8):
        if is_mapped_each_time(flat):
            ok(rt.infinirtMalloc(MIB - 65536))


def median_difference(one: list[float], other: list[float]) -> float:
    pairs = zip(one, other, strict=True)
    return statistics.median(a - b for a, b in pairs) if one and other else float("nan")


Differences = dict[str, dict[str, float]]  # by row, of "bare" and "flat"


def differences_here(o: Objects) -> Differences:
    """What bare and flat take more than C in this process: medians over many rounds of each round's difference."""
    routes = {name: ROUTES[name][0](o) for name in ("C", "bare", "flat")}
    give_malloc_company(routes["flat"])
    found: Differences = {}
    for row in ROWS:
        names = [name for name in routes if row in routes[name]]
        taken: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(closer_rounds(row)):
            random.shuffle(names)
            for name in names:
                taken[name].append(routes[name][row](calls_per_batch(row)))
                ok(rt.infinirtDeviceSynchronize())
        found[row] = {
            name: median_difference(taken[name], taken["C"])
            for name in ("bare", "flat")
            if {name, "C"} <= taken.keys()
        }
    if is_mapped_each_time(routes["flat"]):
        found["malloc+free"] = {}  # the company is gone: it is not what the row says
    return found


def differences_elsewhere() -> Differences:
    """The same in a process of its own: where code and memory lie differs, and with them what evicts what from the caches."""
    done = subprocess.run(
        [sys.executable, __file__, "--differences"], capture_output=True, text=True, check=True
    )
    found: Differences = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    error, *_ = rt.infinirtXSetDeviceType("nvidia")
    if int(error) != 0:
        print(rt.infinirtXGetLastErrorMessage()[1])
        return 0
    o = Objects()
    if "--differences" in sys.argv:
        print(json.dumps(differences_here(o)))
        return 0
    routes = {name: make(o) for name, (make, module) in ROUTES.items() if is_installed(module)}
    give_malloc_company(routes["flat"])
    samples: dict[tuple[str, str], list[float]] = {}
    for each_round in range(ROUNDS):
        # Whoever comes first after another row would always pay for what that row left behind.
        first = each_round % len(routes)
        in_turn = [*routes.items()][first:] + [*routes.items()][:first]
        for row in ROWS:
            for name, route in in_turn:
                if row in route:
                    o.device.set_current()
                    samples.setdefault((row, name), []).append(route[row](calls_per_batch(row)))
                    ok(rt.infinirtDeviceSynchronize())
    closer = [differences_elsewhere() for _ in range(PROCESSES)] if routes["C"] else []
    print(
        f"{'ns per call':16}"
        + "".join(f"{name:>10}" for name in routes)
        + f"{'flat-C':>9}{'of processes':>15}{'bare-C':>8}{'obj-C':>8}{'ours/best':>11}"
    )
    for row in ROWS:
        medians = {name: statistics.median(samples[row, name]) for name in routes if (row, name) in samples}
        cells = "".join(f"{medians[name]:10.0f}" if name in medians else f"{'':>10}" for name in routes)
        ours = ("C", "bare", "flat", "object")
        c, flat, object_ = (medians.get(name, float("nan")) for name in ("C", "flat", "object"))
        more = {
            name: sorted(each[row][name] for each in closer if name in each[row]) for name in ("bare", "flat")
        }
        bare_more, flat_more = (
            statistics.median(more[name]) if more[name] else float("nan") for name in ("bare", "flat")
        )
        spread = f"{more['flat'][0]:.0f} to {more['flat'][-1]:.0f}" if more["flat"] else ""
        rivals = [value for name, value in medians.items() if name not in ours]
        ratio = min(flat, object_) / min(rivals) if rivals else float("nan")
        budget = 120 if row in PAIRS else 60
        mark = "!" if flat_more > budget else " "
        over = f"{flat_more:8.0f}{mark}{spread:>15}{bare_more:8.0f}{object_ - c:8.0f}".replace("nan", "   ")
        print(f"{row:16}{cells}{over}{ratio:11.2f}")
    print(
        f"flat-C, bare-C: medians of {len(closer)} processes. '!': more than 60 ns over C (120 for pairs). ours/best: the better of ours"
        " against the best other Python route. bare: no route, but the interpreter's own part."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
