"""What goes wrong: mismatches, ranks that do not come, bad arguments. Each is an error that says what was wrong."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from collective_support import make_communicators, on_device, read

import infiniccl
import infinirt
from infiniccl import Communicator, _core

Pair = tuple[Communicator, Communicator]


@pytest.fixture
def device() -> infinirt.Device:
    return infinirt.Device("cpu")


@pytest.fixture
def stream(device: infinirt.Device) -> infinirt.Stream:
    return device.create_stream()


@pytest.fixture
def pair() -> Pair:
    first, second = make_communicators(2)
    return first, second


def ints(device: infinirt.Device, count: int) -> infinirt.Buffer:
    stream = device.create_stream()
    buffer = device.allocate(count * 4, stream=stream)
    buffer.fill(0, stream=stream)
    stream.sync()  # tests use it on streams of their own
    return buffer


MISMATCHES: list[
    tuple[
        str,
        Callable[[Communicator, Any, infinirt.Stream], None],
        Callable[[Communicator, Any, infinirt.Stream], None],
    ]
] = [
    (
        "different counts .*AllReduce of 8 i32, sum.*AllReduce of 4 i32, sum",
        lambda c, b, s: c.all_reduce(b, dtype="int32", stream=s),
        lambda c, b, s: c.all_reduce(b[:16], dtype="int32", stream=s),
    ),
    (
        "different types .*8 i32.*8 f32",
        lambda c, b, s: c.all_reduce(b, dtype="int32", stream=s),
        lambda c, b, s: c.all_reduce(b, dtype="float32", stream=s),
    ),
    (
        "different reductions .*sum.*max",
        lambda c, b, s: c.all_reduce(b, dtype="int32", stream=s),
        lambda c, b, s: c.all_reduce(b, op="max", dtype="int32", stream=s),
    ),
    (
        "different operations .*AllReduce.*Barrier",
        lambda c, b, s: c.all_reduce(b, dtype="int32", stream=s),
        lambda c, b, s: c.barrier(stream=s),
    ),
    (
        "different roots .*root 0.*root 1",
        lambda c, b, s: c.broadcast(b, root=0, stream=s),
        lambda c, b, s: c.broadcast(b, root=1, stream=s),
    ),
    (
        "different counts .*Send of 32 byte to rank 1.*Recv of 16 byte from rank 0",
        lambda c, b, s: c.send(b, 1, stream=s),
        lambda c, b, s: c.recv(b[:16], 0, stream=s),
    ),
    (
        "different counts .*AllGatherV of 3 5 i32.*AllGatherV of 5 3 i32",
        lambda c, b, s: c.all_gather_v(ints(c.device, 3), b, [3, 5], dtype="int32", stream=s),
        lambda c, b, s: c.all_gather_v(ints(c.device, 3), b, [5, 3], dtype="int32", stream=s),
    ),
]


@pytest.mark.parametrize(
    ("message", "first", "second"), MISMATCHES, ids=[m[0].split(" .*")[0] for m in MISMATCHES]
)
def test_a_mismatch_names_both_sides(
    pair: Pair, device: infinirt.Device, message: str, first: Callable[..., None], second: Callable[..., None]
) -> None:
    buffers = [ints(device, 8), ints(device, 8)]
    for buffer in buffers:
        buffer.fill(7)
    device.sync()
    first(pair[0], buffers[0], device.create_stream())
    second(pair[1], buffers[1], device.create_stream())
    with pytest.raises(infinirt.InvalidValueError, match=message):
        device.sync()
    device.sync()  # told once
    assert {*bytes(buffers[0]), *bytes(buffers[1])} == {7}, "nothing was written"
    for comm in pair:
        assert comm.error is not None
        with pytest.raises(infinirt.InvalidValueError, match="destroy it and make a new one"):
            comm.barrier()


def test_a_rank_that_does_not_come(pair: Pair, device: infinirt.Device, stream: infinirt.Stream) -> None:
    for comm in pair:
        comm.barrier(stream=stream if comm.rank else None)
    device.sync()
    pair[0].timeout = 0.2
    assert pair[0].timeout == 0.2
    begin = time.monotonic()
    pair[0].all_reduce(ints(device, 8), dtype="int32", stream=stream)
    with pytest.raises(
        infinirt.InfiniRTError, match="1 of 2 ranks came; rank 1 came last to Barrier"
    ) as caught:
        stream.sync()
    assert caught.value.code == infinirt.runtime.infinirtError_t.infinirtErrorTimeout
    assert 0.1 < time.monotonic() - begin < 20
    after = ints(device, 1)
    after.fill(1, stream=stream)
    stream.sync()
    assert bytes(after) == b"\1" * 4, "the stream goes on"


def test_what_waits_behind_other_work_is_told_apart(pair: Pair, device: infinirt.Device) -> None:
    """The late rank has issued its part, but its stream is busy."""
    import threading

    gate = threading.Event()
    blocked, free = device.create_stream(), device.create_stream()
    blocked.launch_host_func(gate.wait)
    pair[1].timeout = 0.2
    pair[0].barrier(stream=blocked)
    pair[1].barrier(stream=free)
    with pytest.raises(
        infinirt.InfiniRTError,
        match="rank 0 has come to no operation yet, and 1 operation that it issued still waits",
    ):
        free.sync()
    gate.set()
    with pytest.raises(infinirt.InfiniRTError):
        blocked.sync()


def test_abort_ends_what_waits(pair: Pair, device: infinirt.Device, stream: infinirt.Stream) -> None:
    pair[0].barrier(stream=stream)
    assert not stream.is_done
    pair[1].abort()
    with pytest.raises(infinirt.InfiniRTError, match="rank 1 aborted it"):
        stream.sync()
    assert pair[0].error == "rank 1 aborted it"
    for comm in pair:
        comm.close()
        comm.close()


def test_destroying_a_rank_that_others_wait_for(pair: Pair, stream: infinirt.Stream) -> None:
    pair[0].barrier(stream=stream)
    pair[1].close()
    with pytest.raises(infinirt.InfiniRTError, match="the communicator of rank 1 was destroyed without it"):
        stream.sync()


def test_calling_after_a_rank_was_destroyed(pair: Pair, stream: infinirt.Stream) -> None:
    pair[1].close()
    pair[0].barrier(stream=stream)
    with pytest.raises(infinirt.InfiniRTError, match="the communicator of rank 1 was destroyed without it"):
        stream.sync()


def test_destroy_with_pending_work(device: infinirt.Device) -> None:
    """What was issued is still done, on all ranks."""
    comms = make_communicators(2)
    streams = [device.create_stream() for _ in comms]
    buffers = [on_device(np.full(4, 5, np.int32), device, stream) for stream in streams]
    import threading

    gate = threading.Event()
    for stream in streams:
        stream.launch_host_func(gate.wait)
    for comm, stream, buffer in zip(comms, streams, buffers, strict=True):
        comm.all_reduce(buffer, dtype="int32", stream=stream)
        comm.close()
    del comms, comm
    gc.collect()
    gate.set()
    for stream, buffer in zip(streams, buffers, strict=True):
        stream.sync()
        assert list(read(buffer, np.dtype(np.int32))) == [10] * 4


def test_a_handle_that_is_none(pair: Pair) -> None:
    handle = pair[0].handle
    pair[0].close()
    for bad in (handle, 0x1234, 0):
        with pytest.raises(
            infinirt.InvalidValueError, match=r"not a communicator, or was destroyed|comm is null"
        ):
            _core.destroy(bad)
        with pytest.raises(infinirt.InvalidValueError):
            _core.barrier(bad, 0)
    again = make_communicators(1)[0]
    assert again.handle != handle


def test_bad_arguments(pair: Pair, device: infinirt.Device, stream: infinirt.Stream) -> None:
    comm, buffer = pair[0], ints(device, 8)
    p, h, s = buffer.ptr, comm.handle, stream.handle
    wrong: list[tuple[Callable[[], None], str]] = [
        (lambda: _core.all_reduce(p, p, 9, 13, 0, h, s), "sendbuf .* 32 bytes left .* 36 are needed"),
        (lambda: _core.all_reduce(0, p, 8, 13, 0, h, s), "sendbuf is null"),
        (lambda: _core.all_reduce(p, p + 4, 4, 13, 0, h, s), "overlap, but not in place"),
        (lambda: _core.all_to_all(p, p, 4, 13, h, s), "overlap"),
        (lambda: _core.all_reduce(p, p, 8, 99, 0, h, s), "datatype is 99"),
        (lambda: _core.all_reduce(p, p, 8, 13, 5, h, s), "op is 5"),
        (lambda: _core.all_reduce(p, p, 1, 17, 2, h, s), "there is no max of c64"),
        (lambda: _core.all_reduce(p, p, 1, 2, 4, h, s), "there is no avg of bool"),
        (lambda: _core.all_reduce(p, p, 2**62, 13, 0, h, s), "more bytes than there are addresses"),
        (lambda: _core.broadcast(p, p, 8, 13, 2, h, s), "root is 2; the communicator has ranks 0 to 1"),
        (lambda: _core.send(p, 8, 13, -1, h, s), "peer is -1"),
        (lambda: _core.all_gather_v(p, p, [1, 2, 3], 13, h, s), "nranks is 3, but the communicator has 2"),
        (lambda: _core.all_reduce(p, p, 8, 13, 0, h, 0x777), "stream"),
        (lambda: _core.group_end(), "begun no group"),
        (lambda: _core.group_cancel(), "begun no group"),
    ]
    for call, message in wrong:
        with pytest.raises(infinirt.InfiniRTError, match=message):
            call()
    freed = device.allocate(64)
    address = freed.ptr
    freed.close()
    device.sync()
    with pytest.raises(infinirt.InvalidValueError, match=r"sendbuf .* (freed|not allocated)"):
        _core.all_reduce(address, address, 1, 13, 0, h, s)
    assert comm.error is None, "a refused call changes nothing"
    comm.barrier(stream=stream)
    with pytest.raises(infinirt.InvalidValueError, match="give each rank a stream of its own"):
        pair[1].barrier(stream=stream)
    pair[1].barrier()
    device.sync()


def test_a_refused_call_drops_its_group(pair: Pair, device: infinirt.Device) -> None:
    buffer = ints(device, 8)

    def wrong() -> None:
        with infiniccl.group():
            pair[0].barrier()
            pair[1].broadcast(buffer, root=7)

    with pytest.raises(infinirt.InvalidValueError, match="root is 7"):
        wrong()
    device.sync()  # nothing waits
    with infiniccl.group(), infiniccl.group():
        for comm, stream in zip(pair, (None, device.create_stream()), strict=True):
            comm.barrier(stream=stream)
    device.sync()


def test_an_exception_drops_its_group(pair: Pair, device: infinirt.Device) -> None:
    def wrong() -> None:
        with infiniccl.group():
            pair[0].barrier()
            raise KeyError

    with pytest.raises(KeyError):
        wrong()
    device.sync()
    assert pair[0].error is None


def test_python_arguments(pair: Pair, device: infinirt.Device) -> None:
    comm = pair[0]
    with pytest.raises(ValueError, match=r"inside `with infiniccl\.group"):
        comm.all_reduce(np.zeros(3))
    with pytest.raises(TypeError, match="element type"):
        comm.all_reduce(np.zeros(3, "U4"))
    with pytest.raises(TypeError, match="a list"):
        comm.all_reduce([1, 2])
    with pytest.raises(ValueError, match="gaps"):
        comm.all_reduce(np.zeros((4, 4))[:, 1])
    with pytest.raises(ValueError, match="op is 'most'"):
        comm.all_reduce(ints(device, 4), dtype="int32", op="most")
    with pytest.raises(ValueError, match="recv has 4 elements; 8 were expected"):
        comm.all_gather(ints(device, 4), ints(device, 4), dtype="int32")
    with pytest.raises(TypeError, match="what its elements are"):
        comm.all_reduce(device.allocate(8))
    with pytest.raises(ValueError, match="no whole number"):
        comm.all_reduce(device.allocate(3), dtype="int32")
    with pytest.raises(infinirt.InvalidDeviceError):
        infiniccl.init_all([0, 99])
    with pytest.raises(ValueError, match="one or more"):
        infiniccl.init_all([])


def test_buffers_outlive_the_work(pair: Pair, device: infinirt.Device) -> None:
    """A Buffer may be dropped as soon as it was given."""
    streams = [device.create_stream() for _ in pair]
    result = ints(device, 1 << 16)
    for comm, stream in zip(pair, streams, strict=True):
        source = on_device(np.full(1 << 16, 3, np.int32), device, stream)
        comm.all_reduce(source, result if comm.rank == 0 else None, dtype="int32", stream=stream)
        del source
    for stream in streams:
        stream.sync()
    assert set(read(result, np.dtype(np.int32))) == {6}


def test_streams_of_other_devices_are_refused() -> None:
    code = """
import infiniccl, infinirt, numpy
comms = infiniccl.init_all(2)
assert [comm.device.ordinal for comm in comms] == [0, 1]
other = infinirt.Device("cpu:1").create_stream()
try:
    comms[0].barrier(stream=other)
except infinirt.InvalidValueError as error:
    print(error)
for comm in comms:
    comm.barrier()  # each on the default stream of its own device
for comm in comms:
    comm.device.sync()
buffers = [comm.device.allocate(1 << 20) for comm in comms]
for comm, buffer in zip(comms, buffers):
    buffer.fill(comm.rank + 1)
    comm.all_reduce(buffer, dtype="uint8")
for comm, buffer in zip(comms, buffers):
    array = numpy.zeros(1 << 20, numpy.uint8)
    buffer.copy_to(array)  # on the default stream, which comes after
    comm.device.sync()
    assert set(array) == {3}
print(len(infiniccl.init_all()))
"""
    for memory in ("plain", "isolated"):
        environment = {**os.environ, "INFINIRT_CPU_DEVICES": "2"}
        if memory == "isolated":
            environment["INFINIRT_CPU_MEMORY"] = memory
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "is of cpu:1, but rank 0 of the communicator is on cpu:0" in done.stdout
        assert done.stdout.endswith("\n2\n")


def test_a_forked_child_is_told(device: infinirt.Device) -> None:
    code = """
import os, infiniccl, infinirt
comms = infiniccl.init_all([0, 0])
child = os.fork()
if child == 0:
    try:
        comms[0].barrier()
    except infinirt.InvalidValueError as error:
        ok = "before the process forked" in str(error)
        mine = infiniccl.init_all([0, 0])
        streams = [infinirt.Device("cpu").create_stream() for _ in mine]
        for comm, stream in zip(mine, streams):
            comm.barrier(stream=stream)
        for stream in streams:
            stream.sync()
        os._exit(0 if ok else 1)
    os._exit(2)
assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.peer("torch")
def test_tensors_and_arrays_of_others() -> None:
    import torch

    comms = make_communicators(2)
    tensors = [torch.full((3, 5), float(rank + 1)) for rank in range(2)]
    with infiniccl.group():
        for comm, tensor in zip(comms, tensors, strict=True):
            comm.all_reduce(tensor)
    assert torch.equal(tensors[0], torch.full((3, 5), 3.0))


def test_tensors_of_infinicore() -> None:
    infinicore = pytest.importorskip("infinicore")
    comms = make_communicators(2)
    tensors = [infinicore.ones((4, 4), dtype=infinicore.bfloat16, device="cpu") for _ in comms]
    with infiniccl.group():
        for comm, tensor in zip(comms, tensors, strict=True):
            comm.all_reduce(tensor)
    assert tensors[0].tolist() == [[2.0] * 4] * 4


def test_what_infinicore_records() -> None:
    """A collective between recorded operators is called again at each run."""
    infinicore = pytest.importorskip("infinicore")
    comm = infiniccl.init_rank(1, infiniccl.unique_id(), 0, "cpu")
    x = infinicore.ones((4,), dtype=infinicore.float32, device="cpu")
    out = infinicore.zeros((4,), dtype=infinicore.float32, device="cpu")
    before = infinicore.zeros((4,), dtype=infinicore.float32, device="cpu")

    def group_it() -> None:
        with infiniccl.group():
            comm.all_reduce(before)

    with infinicore.record("cpu") as recorded:
        infinicore.add(x, x, out=before)
        comm.all_reduce(before, op="max")
        infinicore.add(before, x, out=out)
        with pytest.raises(ValueError, match="a group cannot be recorded"):
            group_it()
    for value in (1.0, 5.0):
        x.fill_(value)
        recorded.graph.run()
        assert out.tolist() == [3 * value] * 4


def test_a_closed_communicator_says_so_and_habits_of_others_are_answered(device: infinirt.Device) -> None:
    (comm,) = infiniccl.init_all([0])
    buffer = device.allocate(8)
    with pytest.raises(AttributeError, match="no attribute 'world_size'; it is called size here"):
        _ = comm.world_size
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        _ = comm.nothing
    with pytest.raises(TypeError, match="a rank is given by name: root=0"):
        comm.broadcast(buffer, 0)
    with pytest.raises(TypeError, match="no argument by position, such as 'nccl'"):
        infiniccl.init_process_group("nccl")
    with pytest.raises(TypeError, match=r"named_id\('x'\) makes the id"):
        infiniccl.init_rank(1, "x", 0, "cpu")  # type: ignore[arg-type]
    comm.close()
    assert repr(comm) == "<closed Communicator of rank 0 of 1>"
    uses: list[Callable[[], object]] = [
        lambda: comm.all_reduce(buffer, dtype="float32"),
        lambda: comm.send(buffer, 0),
        comm.barrier,
        comm.abort,
        lambda: comm.timeout,
        lambda: setattr(comm, "timeout", 3),
        lambda: comm.error,
    ]
    for use in uses:
        with pytest.raises(ValueError, match="the communicator was closed; make another one"):
            use()
