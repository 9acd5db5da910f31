"""One rank among several that do all kinds of operations until one of them is killed, stopped or hangs. Run by test_soak.py.

The victim says when it has begun; every other rank prints the error that it got, and ends with status 0 if that is what ended it.
"""

from __future__ import annotations

import contextlib
import os
import random
import time

import numpy as np

import infiniccl
import infinirt
from infiniccl import Communicator


def operations(comm: Communicator, rng: random.Random) -> None:
    """The same on all ranks, by the generator; every kind of work that may wait for others."""
    count = rng.choice([1, 1000, 300_000])
    kind = rng.choice(["all_reduce", "all_gather", "exchange", "barrier", "streams"])
    array = np.ones(count, np.float32)
    if kind == "all_reduce":
        comm.all_reduce(array, op="max")
    elif kind == "all_gather":
        comm.all_gather(array, np.zeros(count * comm.size, np.float32))
    elif kind == "exchange":
        with infiniccl.group():
            comm.send(array, (comm.rank + 1) % comm.size)
            comm.recv(np.zeros_like(array), (comm.rank - 1) % comm.size)
    elif kind == "barrier":
        stream = comm.device.create_stream()
        comm.barrier(stream=stream)
        stream.sync()
    else:
        streams = [comm.device.create_stream() for _ in range(2)]
        buffers = [comm.device.allocate(4 * count, stream=stream) for stream in streams]
        for stream, buffer in zip(streams, buffers, strict=True):
            buffer.fill(0, stream=stream)
            comm.all_reduce(buffer, dtype="int32", stream=stream)
        for stream in streams:
            stream.sync()


def main() -> None:
    rank, size, seed = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "SEED"))
    victim = rank == int(os.environ["VICTIM"])
    comm = infiniccl.init_rank(size, infiniccl.named_id(os.environ["NAME"]), rank, "cpu")
    comm.timeout = float(os.environ["TIMEOUT"])
    rng = random.Random(seed)
    hangs_at = rng.randrange(200)
    if victim:
        print("ready", flush=True)
    for number in range(1_000_000):
        if victim and os.environ["HOW"] == "hang" and number == hangs_at:
            print("hangs", flush=True)
            time.sleep(1000)
        try:
            operations(comm, rng)
        except infinirt.InfiniRTError as error:
            print(error, comm.error, flush=True)
            break
    comm.close()
    with contextlib.suppress(infinirt.InfiniRTError):
        comm.device.sync()  # parts on other streams failed, too
    # The process works on: a communicator of its own.
    alone = infiniccl.init_rank(1, infiniccl.unique_id("cpu"), 0, "cpu")
    array = np.full(3, 2.0)
    alone.all_reduce(array)
    assert array.tolist() == [2, 2, 2]


if __name__ == "__main__":
    main()
