"""Collectives on an NVIDIA GPU, through NCCL: one rank on the one GPU at hand."""

from __future__ import annotations

import numpy as np
import pytest

import infiniccl
import infinirt

pytestmark = pytest.mark.gpu
COUNT = 1000


@pytest.fixture(params=["init_all", "init_rank"])
def comm(request: pytest.FixtureRequest) -> infiniccl.Communicator:
    device = infinirt.Device("nvidia")
    device.set_current()
    if request.param == "init_all":
        return infiniccl.init_all([device])[0]
    return infiniccl.init_rank(1, infiniccl.unique_id(), 0, device)


@pytest.mark.parametrize("captured", [False, True])
def test_every_operation_of_one_rank(comm: infiniccl.Communicator, captured: bool) -> None:
    device, values = comm.device, np.arange(COUNT, dtype=np.float32)
    stream = device.create_stream()
    send = device.allocate(values.nbytes, stream=stream)
    send.copy_from(values.view(np.uint8), stream=stream)
    outs = [device.allocate(values.nbytes, stream=stream) for _ in range(10)]
    for out in outs:
        out.fill(0, stream=stream)
    stream.sync()

    def issue() -> None:
        options = {"dtype": "float32", "stream": stream}
        comm.all_reduce(send, outs[0], op="avg", **options)
        comm.broadcast(send, outs[1], **options)
        comm.reduce(send, outs[2], op="max", **options)
        comm.all_gather(send, outs[3], **options)
        comm.all_gather_v(send, outs[4], [COUNT], **options)
        comm.reduce_scatter(send, outs[5], **options)
        comm.reduce_scatter_v(send, outs[6], [COUNT], **options)
        comm.all_to_all(send, outs[7], **options)
        comm.gather(send, outs[8], **options)
        comm.scatter(send, outs[9], **options)
        comm.barrier(stream=stream)

    if captured:
        with infinirt.capture(stream, mode="relaxed") as graph:
            issue()
        graph.graph.instantiate().launch(stream)
    else:
        issue()
    stream.sync()
    for number, out in enumerate(outs):
        result = np.zeros(COUNT, np.float32)
        out.copy_to(result.view(np.uint8), stream=stream)
        stream.sync()
        assert np.array_equal(result, values), f"operation {number}"
    assert comm.error is None
    comm.close()


def test_a_captured_all_reduce_is_replayed(comm: infiniccl.Communicator) -> None:
    device = comm.device
    stream = device.create_stream()
    send, recv = (device.allocate(4 * COUNT, stream=stream) for _ in range(2))
    with infinirt.capture(stream, mode="relaxed") as graph:
        comm.all_reduce(send, recv, dtype="float32", stream=stream)
    ready = graph.graph.instantiate()
    for replay in range(5):
        values = np.full(COUNT, replay + 1, np.float32)
        send.copy_from(values.view(np.uint8), stream=stream)
        ready.launch(stream)
        result = np.zeros(COUNT, np.float32)
        recv.copy_to(result.view(np.uint8), stream=stream)
        stream.sync()
        assert np.array_equal(result, values)


def test_two_ranks_on_one_gpu_are_refused() -> None:
    with pytest.raises(infinirt.InvalidValueError, match="ranks 0 and 1 are both to be on nvidia:0"):
        infiniccl.init_all(["nvidia:0", "nvidia:0"])


def test_what_nccl_lacks_is_refused(comm: infiniccl.Communicator) -> None:
    buffer = comm.device.allocate(16)
    with pytest.raises(infinirt.InvalidValueError, match="there is no sum of i16"):
        comm.all_reduce(buffer, dtype="int16")
    with pytest.raises(infinirt.InvalidValueError, match="root is 1"):
        comm.broadcast(buffer, root=1)


def test_a_group_to_itself(comm: infiniccl.Communicator) -> None:
    stream = comm.device.create_stream()
    send, recv = (comm.device.allocate(64, stream=stream) for _ in range(2))
    send.fill(7, stream=stream)
    with infiniccl.group():
        comm.send(send, 0, stream=stream)
        comm.recv(recv, 0, stream=stream)
    result = np.zeros(64, np.uint8)
    recv.copy_to(result, stream=stream)
    stream.sync()
    assert set(result) == {7}
