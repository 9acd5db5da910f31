"""PaddlePaddle's process groups on our devices: its collectives, and data-parallel training, in two processes."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from typing import Any

import pytest
from paddle_programs import BEGINNING, SIGNS_OF_A_CRASH, environment

pytestmark = pytest.mark.peer("paddlepaddle")
BEGIN = """
import paddle.distributed as dist
dist.init_parallel_env()
rank = dist.get_rank()
"""


def free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [int(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def answers_of_ranks(program: str, ranks: int = 2, **more: str) -> list[list[Any]]:
    """What each rank said, started as paddle.distributed.launch starts them."""
    master, *ports = free_ports(ranks + 1)
    endpoints = [f"127.0.0.1:{port}" for port in ports]
    processes = []
    for rank in range(ranks):
        told = {
            "PADDLE_TRAINER_ID": str(rank),
            "PADDLE_TRAINERS_NUM": str(ranks),
            "PADDLE_MASTER": f"127.0.0.1:{master}",
            "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
            "PADDLE_CURRENT_ENDPOINT": endpoints[rank],
            "PADDLE_DISTRI_BACKEND": "xccl",
            "PADDLE_XCCL_BACKEND": "infinirt",
            "FLAGS_selected_infinirts": "0",
            "INFINICCL_TIMEOUT": "60",
        }
        processes.append(
            subprocess.Popen(
                [sys.executable, "-c", BEGINNING + BEGIN + program],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(**told, **more),
            )
        )
    said = []
    for process in processes:
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0, (out + err)[-8000:]
        assert not [sign for sign in SIGNS_OF_A_CRASH if sign in out + err], (out + err)[-8000:]
        said.append(
            [
                json.loads(line.removeprefix("answer "))
                for line in out.splitlines()
                if line.startswith("answer ")
            ]
        )
    return said


def test_every_operation() -> None:
    program = """
def tensor(*values, dtype="float32"):
    return paddle.to_tensor(np.array(values, dtype))

for op in (dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.MIN, dist.ReduceOp.PROD):
    x = tensor(2 + rank, 10 * rank + 1)
    dist.all_reduce(x, op=op)
    say(x.numpy().tolist())
y = tensor(rank, 7, dtype="int64")
dist.broadcast(y, src=1)
say(y.numpy().tolist())
gathered = []
dist.all_gather(gathered, tensor(rank, rank + 10))
say([each.numpy().tolist() for each in gathered])
z = tensor(rank + 1)
dist.reduce(z, dst=0)
say(z.numpy().tolist() if rank == 0 else "not the root")
part = tensor(0)
dist.reduce_scatter(part, [tensor(rank + 1), tensor(rank + 5)])
say(part.numpy().tolist())
received = []
dist.alltoall(received, [tensor(10 * rank), tensor(10 * rank + 1)])
say([each.numpy().tolist() for each in received])
if rank == 0:
    dist.send(tensor(4711), dst=1)
else:
    got = tensor(0)
    dist.recv(got, src=0)
    say(got.numpy().tolist())
dist.barrier()
say(str(x.place))
"""
    first, second = answers_of_ranks(program)
    common = [[5, 12], [3, 11], [2, 1], [6, 11], [1, 7], [[0, 10], [1, 11]]]
    assert first == [*common, [3], [3], [[0], [10]], "Place(infinirt:0)"]
    assert second == [*common, "not the root", [11], [[1], [11]], [4711], "Place(infinirt:0)"]


def test_data_parallel_training() -> None:
    """Two ranks with half of the data each take the steps of one that has all."""
    program = """
import os
paddle.seed(0)
np.random.seed(0)
data, target = np.random.rand(32, 4).astype("float32"), np.random.rand(32, 1).astype("float32")
model = paddle.nn.Sequential(paddle.nn.Linear(4, 8), paddle.nn.ReLU(), paddle.nn.Linear(8, 1))
for number, parameter in enumerate(model.parameters()):
    values = np.random.RandomState(number).rand(*parameter.shape).astype("float32") - 0.5
    parameter.set_value(paddle.to_tensor(values))
size = dist.get_world_size()
parallel = paddle.DataParallel(model) if size > 1 else model
optimizer = paddle.optimizer.SGD(learning_rate=0.1, parameters=parallel.parameters())
for _ in range(5):
    x, y = paddle.to_tensor(data[rank::size]), paddle.to_tensor(target[rank::size])
    loss = paddle.nn.functional.mse_loss(parallel(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
say([float(parameter.sum()) for parameter in model.parameters()])
"""
    alone = answers_of_ranks(program, 1)[0]
    for said in answers_of_ranks(program, 2):
        assert said == [pytest.approx(alone[0], rel=1e-4)]
