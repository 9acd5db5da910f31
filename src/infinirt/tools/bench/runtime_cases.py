"""Calls of the runtime: what it costs to issue work, to ask, and to hand work to a device and hear that it is done."""

from __future__ import annotations

from functools import partial
from typing import Any

from infinirt import runtime as rt

from .case import OURS, Case, Contenders, Setting
from .measure import Contender

FLAT = f"{OURS} (flat)"
SMALL = 256  # bytes
BUSY = 2000  # the most calls of one round that leave work in a queue


def flat_stream() -> Any:
    return rt.infinirtStreamCreateWithFlags(1)[1]


def cuda_stream(setting: Setting) -> tuple[Any, Any]:
    """cuda-python's module, or None, and a stream of it."""
    cuda = setting.peers.get("cuda-python")
    if cuda is None or setting.type != "nvidia":
        return None, None
    cuda.cudaSetDevice(setting.device.ordinal)
    return cuda, cuda.cudaStreamCreateWithFlags(1)[1]


def event_record(setting: Setting) -> Contenders:
    stream, event = setting.device.create_stream(), setting.device.create_event()
    handle, flat_event = flat_stream(), rt.infinirtEventCreateWithFlags(2)[1]
    found = {
        OURS: Contender(partial(stream.record, event), stream.sync, BUSY),
        FLAT: Contender(
            partial(rt.infinirtEventRecord, flat_event, handle),
            partial(rt.infinirtStreamSynchronize, handle),
            BUSY,
        ),
    }
    cuda, theirs = cuda_stream(setting)
    if cuda is not None:
        their_event = cuda.cudaEventCreateWithFlags(2)[1]
        found["cuda-python"] = Contender(
            partial(cuda.cudaEventRecord, their_event, theirs),
            partial(cuda.cudaStreamSynchronize, theirs),
            BUSY,
        )
    torch = setting.torch()
    if torch is not None and setting.type == "nvidia":
        torch_stream = torch.cuda.Stream(setting.torch_device())
        torch_event = torch.cuda.Event()
        found["PyTorch"] = Contender(
            partial(torch_event.record, torch_stream), torch_stream.synchronize, BUSY
        )
    cupy = setting.peers.get("CuPy")
    if cupy is not None:
        cupy_stream, cupy_event = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Event(disable_timing=True)
        found["CuPy"] = Contender(partial(cupy_event.record, cupy_stream), cupy_stream.synchronize, BUSY)
    return found


def stream_query(setting: Setting) -> Contenders:
    stream, handle = setting.device.create_stream(), flat_stream()
    found = {OURS: Contender(stream.query), FLAT: Contender(partial(rt.infinirtStreamQuery, handle))}
    cuda, theirs = cuda_stream(setting)
    if cuda is not None:
        found["cuda-python"] = Contender(partial(cuda.cudaStreamQuery, theirs))
    torch = setting.torch()
    if torch is not None and setting.type == "nvidia":
        found["PyTorch"] = Contender(torch.cuda.Stream(setting.torch_device()).query)
    return found


def stream_sync(setting: Setting) -> Contenders:
    stream, handle = setting.device.create_stream(), flat_stream()
    found = {OURS: Contender(stream.sync), FLAT: Contender(partial(rt.infinirtStreamSynchronize, handle))}
    cuda, theirs = cuda_stream(setting)
    if cuda is not None:
        found["cuda-python"] = Contender(partial(cuda.cudaStreamSynchronize, theirs))
    torch = setting.torch()
    if torch is not None and setting.type == "nvidia":
        found["PyTorch"] = Contender(torch.cuda.Stream(setting.torch_device()).synchronize)
    return found


def small_fill(setting: Setting) -> Contenders:
    stream, handle = setting.device.create_stream(), flat_stream()
    buffer = setting.device.allocate(SMALL, stream=stream)
    stream.sync()
    found = {
        OURS: Contender(partial(buffer.fill, 1, stream=stream), stream.sync, BUSY),
        FLAT: Contender(
            partial(rt.infinirtMemsetAsync, buffer.ptr, 1, SMALL, handle),
            partial(rt.infinirtStreamSynchronize, handle),
            BUSY,
        ),
    }
    cuda, theirs = cuda_stream(setting)
    if cuda is not None:
        found["cuda-python"] = Contender(
            partial(cuda.cudaMemsetAsync, buffer.ptr, 1, SMALL, theirs),
            partial(cuda.cudaStreamSynchronize, theirs),
            BUSY,
        )
    torch = setting.torch()
    if torch is not None:
        tensor = torch.zeros(SMALL, dtype=torch.uint8, device=setting.torch_device())
        settle = torch.cuda.synchronize if setting.type == "nvidia" else partial(int, 0)
        found["PyTorch"] = Contender(partial(tensor.fill_, 1), settle, BUSY)
    return found


def round_trip(setting: Setting) -> Contenders:
    """A host function: handed over, run, and waited for."""
    stream = setting.device.create_stream()
    done: list[None] = []

    def call() -> None:
        stream.launch_host_func(done.clear)
        stream.sync()

    return {OURS: Contender(call)}


def event_between_streams(setting: Setting) -> Contenders:
    first, second = setting.device.create_stream(), setting.device.create_stream()
    event = setting.device.create_event()

    def call() -> None:
        first.record(event)
        second.wait(event)

    found = {OURS: Contender(call, second.sync, BUSY)}
    torch = setting.torch()
    if torch is not None and setting.type == "nvidia":
        theirs = [torch.cuda.Stream(setting.torch_device()) for _ in range(2)]
        their_event = torch.cuda.Event()

        def their_call() -> None:
            theirs[0].record_event(their_event)
            theirs[1].wait_event(their_event)

        found["PyTorch"] = Contender(their_call, theirs[1].synchronize, BUSY)
    return found


CASES = (
    Case("runtime.event-record", "runtime", "record an event", event_record),
    Case(
        "runtime.event-order",
        "runtime",
        "record an event, and let a second stream wait for it",
        event_between_streams,
    ),
    Case("runtime.stream-query", "runtime", "ask an idle stream whether it is done", stream_query),
    Case("runtime.stream-sync", "runtime", "synchronise an idle stream", stream_sync),
    Case("runtime.small-fill", "runtime", f"issue a fill of {SMALL} bytes", small_fill),
    Case("runtime.round-trip", "runtime", "hand a host function over, and wait until it has run", round_trip),
)
