"""Data-parallel training: each rank computes the gradients of its share of the data, an all-reduce makes them everybody's.

python examples/data_parallel.py                       four ranks in this process
infinirt run -n 4 python examples/data_parallel.py     four processes

Both print what one rank that has all the data prints (RANKS=1).
"""

import os

import numpy

import infiniccl
import infinicore

RANKS, STEPS, RATE = int(os.environ.get("RANKS", "4")), 30, 0.5
rng = numpy.random.default_rng(0)
INPUTS = rng.normal(size=(256, 8)).astype("float32")
TARGETS = (numpy.sin(INPUTS[:, :1]) + 0.5 * INPUTS[:, 1:2]).astype("float32")
FIRST = rng.normal(size=(8, 16)).astype("float32") * 0.3
SECOND = rng.normal(size=(16, 1)).astype("float32") * 0.3


class Model:
    """Two layers on one device, with its share of the data, and the gradients as one vector."""

    def __init__(self, share: int, shares: int) -> None:
        self.x, self.y = INPUTS[share::shares], TARGETS[share::shares]
        self.first, self.second = FIRST.copy(), SECOND.copy()
        self.flat = infinicore.zeros((FIRST.size + SECOND.size + 1,), dtype=infinicore.float32, device="cpu")

    def gradients(self) -> None:
        hidden = numpy.tanh(self.x @ self.first)
        error = hidden @ self.second - self.y
        slope = 2 * error / len(self.x)
        second = hidden.T @ slope
        first = self.x.T @ ((slope @ self.second.T) * (1 - hidden**2))
        flat = numpy.concatenate([first.ravel(), second.ravel(), [(error**2).mean()]]).astype("float32")
        self.flat.copy_(infinicore.from_numpy(flat))

    def step(self) -> float:
        flat = self.flat.numpy()
        self.first -= RATE * flat[: FIRST.size].reshape(FIRST.shape)
        self.second -= RATE * flat[FIRST.size : -1].reshape(SECOND.shape)
        return float(flat[-1])


in_processes = "INFINICCL_RANK" in os.environ
comms = [infiniccl.init_process_group(device="cpu")] if in_processes else infiniccl.init_all([0] * RANKS)
models = [Model(comm.rank, comm.size) for comm in comms]
for _ in range(STEPS):
    for model in models:
        model.gradients()
    with infiniccl.group():
        for comm, model in zip(comms, models, strict=True):
            comm.all_reduce(model.flat, op="avg")
    losses = [model.step() for model in models]
if comms[0].rank == 0:
    print(f"loss of {comms[0].size} ranks after {STEPS} steps: {losses[0]:.4f}")
