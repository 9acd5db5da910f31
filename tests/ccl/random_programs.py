"""Random programs of collectives over streams, groups and graphs, and what a sequential model makes of them.

Run as a program with a first and a last seed: one program for each, under the schedule of the environment.
"""

from __future__ import annotations

import random
import sys

import numpy as np
from collective_support import Array

import infiniccl
import infinirt

OPERATIONS = ("all_reduce", "broadcast", "all_gather", "reduce_scatter", "exchange")


class Program:
    """Some operations, one after the other, on a vector for each rank; every rank has several streams."""

    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed)
        self.ranks = self.choice.randint(1, 4)
        self.count = self.choice.choice([1, 3, 64, 5000, 40_000])
        self.device = infinirt.Device("cpu")
        self.comms = infiniccl.init_all([0] * self.ranks)
        for comm in self.comms:
            comm.timeout = 60
        self.streams = [
            [self.device.create_stream() for _ in range(self.choice.randint(1, 3))] for _ in self.comms
        ]
        size = self.count * self.ranks
        values = np.random.default_rng(seed)
        self.model: list[Array] = [values.integers(0, 100, size).astype(np.int32) for _ in self.comms]
        self.buffers: list[tuple[infinirt.Buffer, infinirt.Buffer]] = []
        for array, streams in zip(self.model, self.streams, strict=True):
            pair = (self.device.allocate(array.nbytes), self.device.allocate(array.nbytes))
            pair[0].copy_from(array.view(np.uint8), stream=streams[0])
            pair[1].fill(0, stream=streams[0])
            self.buffers.append(pair)
        self.last = [streams[0] for streams in self.streams]  # where each rank's vector was used last

    def run(self) -> None:
        for _ in range(self.choice.randint(1, 12)):
            self.step()
        for rank, (buffers, model) in enumerate(zip(self.buffers, self.model, strict=True)):
            self.last[rank].sync()
            result = np.frombuffer(bytes(buffers[0]), np.int32)
            assert np.array_equal(result, model), f"rank {rank}: {result[:8]} instead of {model[:8]}"
        for comm in self.comms:
            assert comm.error is None
            comm.close()

    def step(self) -> None:
        operation = self.choice.choice(OPERATIONS)
        root = self.choice.randrange(self.ranks)
        order = list(range(self.ranks))
        self.choice.shuffle(order)
        grouped = operation == "exchange" or self.choice.random() < 0.5
        for rank in order:
            stream = self.choice.choice(self.streams[rank])
            if stream is not self.last[rank]:
                stream.wait(self.last[rank])
                self.last[rank] = stream
        # The others read one vector and write the other: a second time there would be nothing new.
        replays = self.choice.choice([0, 0, 0, 1, 2 if operation == "all_reduce" else 1])
        if replays:
            self.captured(operation, order, root, grouped, replays)
        else:
            self.issue(operation, order, root, grouped)
        for _ in range(max(replays, 1)):
            self.model = self.expected(operation, root)
        if operation != "all_reduce":
            self.buffers = [(new, old) for old, new in self.buffers]

    def captured(self, operation: str, order: list[int], root: int, grouped: bool, replays: int) -> None:
        """In one graph that begins on one stream, or in a graph for each rank."""
        if operation == "exchange" or self.choice.random() < 0.5:
            self.one_graph(operation, order, root, grouped, replays)
            return
        graphs = []
        for rank in order:
            with infinirt.capture(self.last[rank], mode="relaxed") as captured:
                self.call(operation, rank, root)
            graphs.append((captured.graph.instantiate(), self.last[rank]))
        for _ in range(replays):
            self.choice.shuffle(graphs)
            for graph, stream in graphs:
                graph.launch(stream)

    def one_graph(self, operation: str, order: list[int], root: int, grouped: bool, replays: int) -> None:
        origin = self.last[order[0]]
        others = [self.last[rank] for rank in order[1:]]
        for stream in others:
            origin.wait(stream)
        with infinirt.capture(origin, mode="relaxed") as captured:
            for stream in others:
                stream.wait(origin)
            self.issue(operation, order, root, grouped)
            for stream in others:
                origin.wait(stream)
        ready = captured.graph.instantiate()
        for _ in range(replays):
            ready.launch(origin)
        for stream in others:
            stream.wait(origin)

    def issue(self, operation: str, order: list[int], root: int, grouped: bool) -> None:
        if grouped:
            with infiniccl.group():
                for rank in order:
                    self.call(operation, rank, root)
        else:
            for rank in order:
                self.call(operation, rank, root)

    def call(self, operation: str, rank: int, root: int) -> None:
        comm, stream = self.comms[rank], self.last[rank]
        now, new = self.buffers[rank]
        part = self.count * 4
        own = slice(rank * part, (rank + 1) * part)
        match operation:
            case "all_reduce":
                comm.all_reduce(now, dtype="int32", stream=stream)
            case "broadcast":
                comm.broadcast(now, new, root=root, dtype="int32", stream=stream)
            case "all_gather":
                comm.all_gather(now[own], new, dtype="int32", stream=stream)
            case "reduce_scatter":
                new.copy_from(now, stream=stream)
                comm.reduce_scatter(now, new[own], dtype="int32", op="max", stream=stream)
            case "exchange":
                comm.send(now, (rank + 1) % self.ranks, dtype="int32", stream=stream)
                comm.recv(new, (rank - 1) % self.ranks, dtype="int32", stream=stream)

    def expected(self, operation: str, root: int) -> list[Array]:
        model = self.model
        match operation:
            case "all_reduce":
                return [np.sum(model, axis=0, dtype=np.int32)] * self.ranks
            case "broadcast":
                return [model[root]] * self.ranks
            case "all_gather":
                parts = [array.reshape(self.ranks, -1)[rank] for rank, array in enumerate(model)]
                return [np.concatenate(parts)] * self.ranks
            case "reduce_scatter":
                largest = np.max(model, axis=0).reshape(self.ranks, -1)
                result = [array.copy() for array in model]
                for rank, array in enumerate(result):
                    array.reshape(self.ranks, -1)[rank] = largest[rank]
                return result
        return [model[(rank - 1) % self.ranks] for rank in range(self.ranks)]


def main(first: int, last: int) -> None:
    for seed in range(first, last):
        if infinirt.runtime.infinirtXSeedSchedule(seed)[0] != 0:
            infinirt.runtime.infinirtGetLastError()  # not a random schedule
        try:
            Program(seed).run()
        except BaseException:
            print(f"seed {seed}", file=sys.stderr)
            raise
    print("all agree")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
