"""Kernels, on devices whose kernels are functions of the host. For others the kit has none that it could launch."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ..bench import Bench, download
from ..case import Register
from ..check import Inapplicable, code_of, fails, holds, ok, rt, same
from .capture import begin, end
from .graph import instantiate, new_graph, run

case = Register("kernel", "full")
_count = 0


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class Block(ctypes.Structure):
    _fields_ = [
        ("grid", Dim3),
        ("block", Dim3),
        ("index", Dim3),
        ("shared", ctypes.c_void_p),
        ("shared_size", ctypes.c_size_t),
    ]


KERNEL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Block), ctypes.POINTER(ctypes.c_void_p))


def make(t: Bench, body: Callable[[Any, Any], int], *sizes: int) -> int:
    """A kernel of a Python function; Inapplicable where the device cannot run one, Limit where it has no kernels."""
    global _count
    if "infinirtLaunchKernel" in rt.unsupported:
        ok(rt.LaunchKernel(1, 1, 1, 0, 0, 0))
    if code_of(rt.XGetHostAddress(t.memory(64))):
        raise Inapplicable(
            "kernels of this device type are no functions of the host, and the kit has no others"
        )
    _count += 1
    function = KERNEL(lambda block, args: body(block.contents, args))
    _kept.append(function)  # registered for as long as the process lives
    address = ctypes.cast(function, ctypes.c_void_p).value or 0
    ok(rt.XRegisterKernel(f"conformance_{_count}", address, sizes))
    return address


_kept: list[Any] = []


def value(args: Any, index: int, kind: Any) -> Any:
    return ctypes.cast(args[index], ctypes.POINTER(kind)).contents.value


def arguments(*pairs: tuple[Any, Any]) -> Any:
    return tuple(v for v, _ in pairs), tuple(k for _, k in pairs)


@case("kernel.blocks", about="LaunchKernel", rule="contract of infinirtLaunchKernel")
def blocks(t: Bench) -> None:
    """A kernel runs once for every block of its grid, and knows which."""
    seen: list[tuple[int, int, int]] = []

    def body(block: Any, args: Any) -> int:
        seen.append((block.index.x, block.index.y, block.index.z))
        return 0

    stream = t.stream()
    ok(rt.LaunchKernel(make(t, body), (3, 2, 2), 1, 0, 0, stream))
    ok(rt.StreamSynchronize(stream))
    same(sorted(seen), [(x, y, z) for x in range(3) for y in range(2) for z in range(2)], "the blocks")


@case(
    "kernel.arguments",
    about="LaunchKernel",
    rule="contract of infinirtLaunchKernel: arguments are copied at launch",
)
def copied(t: Bench) -> None:
    """Arguments are those of the launch, though the stream reaches it later."""
    seen: list[tuple[int, float]] = []

    def body(block: Any, args: Any) -> int:
        seen.append((value(args, 0, ctypes.c_int), value(args, 1, ctypes.c_double)))
        return 0

    stream, kernel = t.stream(), make(t, body, 4, 8)
    gate = t.gate(stream)
    for i in range(3):
        ok(rt.LaunchKernel(kernel, 1, 1, arguments((i, ctypes.c_int), (i + 0.5, ctypes.c_double)), 0, stream))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same(seen, [(0, 0.5), (1, 1.5), (2, 2.5)], "the arguments")


@case("kernel.memory", about="LaunchKernel MemcpyAsync", rule="Streams: work of one stream runs in order")
def memory(t: Bench) -> None:
    """A kernel works on device memory, between the copies around it."""

    def body(block: Any, args: Any) -> int:
        pointer = value(args, 0, ctypes.c_void_p)
        ctypes.memset(pointer + 16 * block.index.x, block.index.x + 1, 16)
        return 0

    stream, pointer, result = t.stream(), t.memory(64, fill=9), t.memory(64, fill=0)
    ok(rt.LaunchKernel(make(t, body, 8), 4, 1, arguments((pointer, ctypes.c_void_p)), 0, stream))
    ok(rt.MemcpyAsync(result, pointer, 64, 3, stream))
    ok(rt.StreamSynchronize(stream))
    same(download(result, 64), b"".join(bytes([i + 1]) * 16 for i in range(4)), "what the kernel wrote")


@case("kernel.returns", about="LaunchKernel", rule="contract of infinirtLaunchKernel: asynchronous")
def returns(t: Bench) -> None:
    """Launching a kernel does not wait for the stream."""
    stream, kernel = t.stream(), make(t, lambda block, args: 0)
    t.returns(stream, lambda: rt.LaunchKernel(kernel, 1, 1, 0, 0, stream))


@case("kernel.shared-memory", about="LaunchKernel", rule="contract of infinirtLaunchKernel: sharedMem bytes")
def shared(t: Bench) -> None:
    """A block has the shared memory that the launch asked for."""
    seen: list[tuple[bool, int]] = []

    def body(block: Any, args: Any) -> int:
        ctypes.memset(block.shared, 1, block.shared_size)
        seen.append((bool(block.shared), block.shared_size))
        return 0

    stream = t.stream()
    ok(rt.LaunchKernel(make(t, body), 2, 1, 0, 1024, stream))
    ok(rt.StreamSynchronize(stream))
    same(seen, [(True, 1024)] * 2, "the shared memory")


@case(
    "kernel.bad-shape",
    about="LaunchKernel",
    rule="contract of infinirtLaunchKernel: 9 for a shape that does not exist",
)
def bad_shape(t: Bench) -> None:
    """A launch without blocks or threads, or with too many, is refused."""
    kernel, stream = make(t, lambda block, args: 0), t.stream()
    for grid, block in (((0, 1, 1), 1), (1, (0, 1, 1)), (1, (1 << 20, 1, 1))):
        fails(rt.LaunchKernel(kernel, grid, block, 0, 0, stream), "InvalidConfiguration")


@case("kernel.extended", about="LaunchKernelExC", rule="contract of infinirtLaunchKernelExC")
def extended(t: Bench) -> None:
    """A kernel is launched by a configuration."""
    seen: list[int] = []

    def body(block: Any, args: Any) -> int:
        seen.append(block.grid.x)
        return 0

    config = rt.LaunchConfig_t()
    config.gridDim.x, config.gridDim.y, config.gridDim.z = 2, 1, 1
    config.blockDim.x, config.blockDim.y, config.blockDim.z = 1, 1, 1
    config.stream = stream = t.stream()
    ok(rt.LaunchKernelExC(config, make(t, body), 0))
    ok(rt.StreamSynchronize(stream))
    same(seen, [2, 2], "the calls")


@case(
    "kernel.captured",
    about="LaunchKernel StreamEndCapture GraphKernelNodeGetParams",
    rule="Traps: graph arguments were not kept alive",
)
def captured(t: Bench) -> None:
    """A captured kernel keeps its arguments for every launch of the graph."""
    seen: list[int] = []

    def body(block: Any, args: Any) -> int:
        seen.append(value(args, 0, ctypes.c_int))
        return 0

    stream, kernel = t.stream(), make(t, body, 4)
    begin(stream)
    ok(rt.LaunchKernel(kernel, 1, 1, arguments((21, ctypes.c_int)), 0, stream))
    graph = end(t, stream)
    node = ok(rt.GraphGetNodes(graph, 1))[0][0]
    same(int(ok(rt.GraphKernelNodeGetParams(node)).gridDim.x), 1, "the node's grid")
    executable = instantiate(t, graph)
    for _ in range(3):
        run(executable, stream)
    same(seen, [21] * 3, "the arguments")


@case(
    "kernel.attributes",
    about="FuncGetAttributes FuncGetName OccupancyMaxActiveBlocksPerMultiprocessor",
    rule="contract of infinirtFuncGetAttributes",
)
def attributes(t: Bench) -> None:
    """A kernel has a name, a limit of threads and an occupancy."""
    kernel = make(t, lambda block, args: 0)
    holds(int(ok(rt.FuncGetAttributes(kernel)).maxThreadsPerBlock) >= 1, "at least one thread per block")
    holds(ok(rt.FuncGetName(kernel)).startswith(b"conformance_"), "the kernel's name")
    holds(
        int(ok(rt.OccupancyMaxActiveBlocksPerMultiprocessor(kernel, 1, 0))) >= 1, "at least one active block"
    )


@case("kernel.parameters", about="FuncGetParamInfo", rule="contract of infinirtFuncGetParamInfo")
def parameters(t: Bench) -> None:
    """A kernel tells the size of each parameter, and that there are no more."""
    kernel = make(t, lambda block, args: 0, 8, 4)
    same([int(ok(rt.FuncGetParamInfo(kernel, i))[1]) for i in range(2)], [8, 4], "the sizes")
    fails(rt.FuncGetParamInfo(kernel, 2), "InvalidValue")


@case("kernel.unknown", about="LaunchKernel", rule="contract of infinirtLaunchKernel: 98 for no kernel")
def unknown(t: Bench) -> None:
    """What is no kernel is not launched."""
    make(t, lambda block, args: 0)
    other = t.keep(KERNEL(lambda block, args: 0))
    address = ctypes.cast(other, ctypes.c_void_p).value
    fails(rt.LaunchKernel(address, 1, 1, 0, 0, t.stream()), "InvalidDeviceFunction")


@case(
    "kernel.other-devices-stream",
    about="LaunchKernel",
    rule="Events: a kernel launch on a stream of another device is InvalidResourceHandle",
)
def other_stream(t: Bench) -> None:
    """A kernel is not launched on a stream of another device."""
    kernel = make(t, lambda block, args: 0)
    stream = t.on_device(t.other_device(), t.stream)
    fails(rt.LaunchKernel(kernel, 1, 1, 0, 0, stream), "InvalidResourceHandle")


@case(
    "kernel.node",
    about="GraphAddKernelNode GraphExecKernelNodeSetParams",
    rule="contract of infinirtGraphAddKernelNode",
)
def node(t: Bench) -> None:
    """A kernel node is added by hand and changed in the executable graph."""
    seen: list[int] = []

    def body(block: Any, args: Any) -> int:
        seen.append(block.grid.x)
        return 0

    graph, stream, kernel = new_graph(t), t.stream(), make(t, body)
    added = ok(rt.GraphAddKernelNode(graph, None, 0, node_params(kernel, 1)))
    executable = instantiate(t, graph)
    ok(rt.GraphExecKernelNodeSetParams(executable, added, node_params(kernel, 2)))
    run(executable, stream)
    same(seen, [2, 2], "the calls")


def node_params(kernel: int, blocks: int) -> Any:
    made = rt.KernelNodeParams()
    made.func = kernel
    made.gridDim.x, made.gridDim.y, made.gridDim.z = blocks, 1, 1
    made.blockDim.x, made.blockDim.y, made.blockDim.z = 1, 1, 1
    return made


@case(
    "kernel.node.parameters",
    about="GraphKernelNodeSetParams GraphKernelNodeGetParams",
    rule="contract of infinirtGraphKernelNodeSetParams",
)
def node_parameters(t: Bench) -> None:
    """The parameters of a kernel node are changed and read."""
    kernel, graph = make(t, lambda block, args: 0), new_graph(t)
    added = ok(rt.GraphAddKernelNode(graph, None, 0, node_params(kernel, 1)))
    ok(rt.GraphKernelNodeSetParams(added, node_params(kernel, 5)))
    same(int(ok(rt.GraphKernelNodeGetParams(added)).gridDim.x), 5, "the node's grid")


@case(
    "kernel.node.attributes",
    about="GraphKernelNodeSetAttribute GraphKernelNodeGetAttribute GraphKernelNodeCopyAttributes",
    rule="contract of infinirtGraphKernelNodeSetAttribute",
)
def node_attributes(t: Bench) -> None:
    """Attributes of a kernel node are set, read and copied to another."""
    kernel, graph = make(t, lambda block, args: 0), new_graph(t)
    one, two = (ok(rt.GraphAddKernelNode(graph, None, 0, node_params(kernel, 1))) for _ in range(2))
    which = rt.member("LaunchAttributeID", "LaunchAttributePriority")
    made = rt.LaunchAttributeValue()
    made.priority = -2
    ok(rt.GraphKernelNodeSetAttribute(one, which, made))
    same(int(ok(rt.GraphKernelNodeGetAttribute(one, which)).priority), -2, "the priority")
    ok(rt.GraphKernelNodeCopyAttributes(one, two))
    same(int(ok(rt.GraphKernelNodeGetAttribute(two, which)).priority), -2, "the copied priority")


@case(
    "kernel.cooperative",
    about="LaunchCooperativeKernel OccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    rule="contract of infinirtLaunchCooperativeKernel",
)
def cooperative(t: Bench) -> None:
    """A cooperative launch runs all of its blocks, and is refused when they cannot be there at the same time."""
    seen: list[int] = []

    def body(block: Any, args: Any) -> int:
        seen.append(block.index.x)
        return 0

    kernel, stream = make(t, body), t.stream()
    each = int(ok(rt.OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(kernel, 1, 0, 0)))
    units = int(ok(rt.DeviceGetAttribute(rt.member("DeviceAttr", "DevAttrMultiProcessorCount"), t.ordinal)))
    ok(rt.LaunchCooperativeKernel(kernel, 1, 1, 0, 0, stream))
    ok(rt.StreamSynchronize(stream))
    same(seen, [0], "the blocks")
    fails(rt.LaunchCooperativeKernel(kernel, each * units + 1, 1, 0, 0, stream), "CooperativeLaunchTooLarge")


@case(
    "kernel.attributes.set",
    about="FuncSetAttribute FuncSetCacheConfig GetKernel KernelSetAttributeForDevice",
    rule="contract of infinirtFuncSetAttribute",
)
def attributes_set(t: Bench) -> None:
    """Attributes of a kernel are set, for the function and for a device; unknown ones are refused."""
    kernel = make(t, lambda block, args: 0)
    carveout = rt.member("FuncAttribute", "FuncAttributePreferredSharedMemoryCarveout")
    ok(rt.FuncSetAttribute(kernel, carveout, 50))
    ok(rt.FuncSetCacheConfig(kernel, 0))
    handle = ok(rt.GetKernel(kernel))
    ok(rt.KernelSetAttributeForDevice(handle, carveout, 50, t.ordinal))
    fails(rt.KernelSetAttributeForDevice(handle, carveout, 50, 9999), "InvalidDevice")
    fails(rt.FuncSetAttribute(kernel, 99, 1), "InvalidValue")


@case(
    "kernel.shared-memory.available",
    about="OccupancyAvailableDynamicSMemPerBlock",
    rule="contract of infinirtOccupancyAvailableDynamicSMemPerBlock",
)
def shared_available(t: Bench) -> None:
    """A kernel tells how much shared memory a block may ask for."""
    kernel = make(t, lambda block, args: 0)
    holds(int(ok(rt.OccupancyAvailableDynamicSMemPerBlock(kernel, 1, 1))) > 0, "some shared memory")
