"""C and this project's routes."""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

import infinirt
from gpu_calls.objects import Objects, library_path
from gpu_calls.rows import ROWS, Timer, key_of, statements
from infinirt import runtime as rt
from infinirt.__main__ import installed_root


def compiled(source: str, *arguments: str) -> Path | None:
    """A shared library on NVIDIA's, or None where there is no compiler."""
    compiler = shutil.which("g++")
    if compiler is None:
        return None
    file = Path(__file__).with_name(source)
    made = Path(tempfile.mkdtemp()) / f"{file.stem}.so"
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(made), str(file), *arguments, library_path()]
    subprocess.run(command, check=True)
    return made


def c_route(o: Objects) -> dict[str, Timer]:
    package = installed_root()
    made = compiled("c.cpp", f"-I{package / 'include'}", str(package / "lib" / "libinfinirt.so"))
    if made is None:
        return {}
    library = ctypes.CDLL(str(made))
    route = {}
    for row in ROWS:
        function = getattr(library, key_of(row))
        function.restype = ctypes.c_double
        function.argtypes = [ctypes.c_long] + [ctypes.c_void_p] * 7
        route[row] = lambda n, f=function: f(n, o.s, o.e, o.a, o.b, o.k, o.g1, o.g100)
    return route


def bare_route(o: Objects) -> dict[str, Timer]:
    made = compiled("bare.cpp", f"-I{sysconfig.get_path('include')}")
    if made is None:
        return {}
    spec = importlib.util.spec_from_file_location("bare", made)
    assert spec is not None
    assert isinstance(spec.loader, importlib.machinery.ExtensionFileLoader)
    bare = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bare)
    bare.use(o.s, o.e, o.a, o.b, o.k, o.g1, o.g100)
    alike = {key: f"{key}()" for row in ROWS if hasattr(bare, key := key_of(row))}
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
