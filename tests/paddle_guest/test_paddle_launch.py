"""`python -m paddle.distributed.launch --devices 0,1` on our devices: what every operation gives is what NumPy says, data-parallel
training ends with equal weights, and nothing is left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from paddle_programs import BEGINNING, SIGNS_OF_A_CRASH, environment

from left_behind import shared_memory

pytestmark = pytest.mark.peer("paddlepaddle")
BEGIN = """
import paddle.distributed as dist
dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
"""

OPERATIONS = """
def inputs(dtype, *shape):  # of all ranks, the same everywhere
    rng = np.random.default_rng(len(dtype) + sum(shape))
    return [rng.integers(0, 2 if dtype == "bool" else 5, shape).astype(dtype) for _ in range(size)]

def tensor(array):
    return paddle.to_tensor(array)

def same(got, wanted, what):
    got = got.numpy() if hasattr(got, "numpy") else got
    if got.dtype != wanted.dtype or not np.array_equal(got, wanted):
        wrong.append(f"{what}: {got.ravel()[:4]} instead of {wanted.ravel()[:4]}")
    checked.append(what)

wrong, checked = [], []
reductions = {"SUM": np.add, "MAX": np.maximum, "MIN": np.minimum, "PROD": np.multiply}
for dtype in ("float32", "float64", "float16", "int32", "int64", "uint8", "int8"):
    for shape in ((1,), (7, 3), (4096, 33)):
        for name, function in reductions.items():
            given = inputs(dtype, *shape)
            op = getattr(dist.ReduceOp, name)
            wanted = function.reduce(given).astype(dtype)
            x = tensor(given[rank])
            dist.all_reduce(x, op=op)
            same(x, wanted, f"all_reduce {name} {dtype} {shape}")
            x = tensor(given[rank])
            dist.reduce(x, dst=1, op=op)
            if rank == 1:
                same(x, wanted, f"reduce {name} {dtype} {shape}")
for dtype in ("float32", "float64", "float16", "int32", "int64", "uint8", "int8", "bool"):
    for shape in ((2, 1), (6, 5), (4096, 33)):
        what = f"{dtype} {shape}"
        given = inputs(dtype, *shape)
        x = tensor(given[rank])
        dist.broadcast(x, src=1)
        same(x, given[1], f"broadcast {what}")
        gathered = []
        dist.all_gather(gathered, tensor(given[rank]))
        for r in range(size):
            same(gathered[r], given[r], f"all_gather {what}")
        halves = [np.split(each, size) for each in given]
        x = tensor(np.zeros_like(halves[0][0]))
        dist.scatter(x, [tensor(each) for each in halves[0]] if rank == 0 else None, src=0)
        same(x, halves[0][rank], f"scatter {what}")
        received = []
        dist.alltoall(received, [tensor(each) for each in halves[rank]])
        for r in range(size):
            same(received[r], halves[r][rank], f"alltoall {what}")
        x = tensor(np.zeros_like(given[0]))
        dist.alltoall_single(x, tensor(given[rank]))
        same(x, np.concatenate([halves[r][rank] for r in range(size)]), f"alltoall_single {what}")
        if dtype != "bool":
            x = tensor(np.zeros_like(halves[0][0]))
            dist.reduce_scatter(x, [tensor(each) for each in halves[rank]])
            same(x, np.add.reduce(given).astype(dtype)[rank * shape[0] // size :][: shape[0] // size], f"reduce_scatter {what}")
        x = tensor(np.zeros_like(given[0]))
        if rank == 0:
            dist.send(tensor(given[0]), dst=1)
            dist.recv(x, src=1)
        else:
            dist.recv(x, src=0)
            dist.send(tensor(given[1]), dst=0)
        same(x, given[1 - rank], f"send and recv {what}")
        x, own = tensor(np.zeros_like(given[0])), tensor(given[rank])
        # In this order: on custom devices PaddlePaddle makes no group of them.
        calls = [lambda: dist.isend(own, 1 - rank), lambda: dist.irecv(x, 1 - rank)]
        for task in [call() for call in calls[:: 1 if rank == 0 else -1]]:
            task.wait()
        same(x, given[1 - rank], f"isend and irecv {what}")
objects = []
dist.all_gather_object(objects, {"rank": rank})
if objects != [{"rank": r} for r in range(size)]:
    wrong.append(f"all_gather_object: {objects}")
dist.barrier()
say([len(checked), wrong, str(tensor(np.ones(1)).place)])
"""

TRAINING = """
paddle.seed(rank)  # different weights, which DataParallel makes the same
model = paddle.nn.Sequential(paddle.nn.Linear(16, 64), paddle.nn.ReLU(), paddle.nn.Linear(64, 4))
parallel = paddle.DataParallel(model)
optimizer = paddle.optimizer.SGD(learning_rate=0.05, parameters=parallel.parameters())
rng = np.random.default_rng(rank)
losses = []
for _ in range(20):
    x, y = paddle.to_tensor(rng.random((8, 16), "float32")), paddle.to_tensor(rng.random((8, 4), "float32"))
    loss = paddle.nn.functional.mse_loss(parallel(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    losses.append(float(loss))
import zlib
say([[zlib.crc32(parameter.numpy().tobytes()) for parameter in model.parameters()], losses[0], losses[-1]])
"""


def launched(program: str, folder: Path) -> list[list[Any]]:
    """What each of two ranks said."""
    script = folder / "script.py"
    script.write_text(BEGINNING + BEGIN + program)
    before = shared_memory()
    command = [
        sys.executable,
        "-m",
        "paddle.distributed.launch",
        "--devices",
        "0,1",
        "--log_dir",
        str(folder / "log"),
    ]
    done = subprocess.run(
        [*command, str(script)],
        capture_output=True,
        text=True,
        timeout=280,
        env=environment(INFINIRT_CPU_DEVICES="2", INFINICCL_TIMEOUT="60"),
        cwd=folder,
    )
    logs = [(folder / "log" / f"workerlog.{rank}").read_text() for rank in range(2)]
    everything = "\n".join([done.stdout, done.stderr, *logs])
    assert done.returncode == 0, everything[-8000:]
    assert not [sign for sign in SIGNS_OF_A_CRASH if sign in everything], everything[-8000:]
    assert shared_memory() == before
    return [
        json.loads(line.removeprefix("answer "))
        for log in logs
        for line in log.splitlines()
        if line.startswith("answer ")
    ]


def test_every_operation_equals_numpy(tmp_path: Path) -> None:
    said = launched(OPERATIONS, tmp_path)
    assert [each[1] for each in said] == [[], []]
    assert min(each[0] for each in said) > 250
    assert [each[2] for each in said] == ["Place(infinirt:0)", "Place(infinirt:1)"]


def test_data_parallel_training_ends_with_equal_weights(tmp_path: Path) -> None:
    first, second = launched(TRAINING, tmp_path)
    assert first[0] == second[0]
    assert first[2] < first[1]
    assert second[2] < second[1]
