"""The other Python routes to NVIDIA's library, as far as they are installed."""

from __future__ import annotations

import ctypes

from gpu_calls.objects import Objects, library_path
from gpu_calls.rows import Timer, statements


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
