"""Graphs: to issue operations one by one, and to launch them as a graph; to record and instantiate one."""

from __future__ import annotations

from functools import partial

import infinirt

from .case import OURS, Case, Contenders, Setting
from .measure import Contender
from .memory_cases import by

NODES = (10, 100, 1000)
EACH = 64  # bytes of a node's fill


def recorded(setting: Setting, count: int) -> tuple[infinirt.Stream, infinirt.Buffer, infinirt.GraphExec]:
    stream = setting.device.create_stream()
    buffer = setting.device.allocate(EACH * count, stream=stream)
    stream.sync()
    with infinirt.capture(stream) as recording:
        fill_parts(buffer, stream, count)
    return stream, buffer, recording.graph.instantiate()


def fill_parts(buffer: infinirt.Buffer, stream: infinirt.Stream, count: int) -> None:
    for index in range(count):
        buffer[index * EACH : (index + 1) * EACH].fill(index & 255, stream=stream)


def launch(setting: Setting, count: int) -> Contenders:
    """Host time until the call returns."""
    stream, buffer, graph = recorded(setting, count)
    found = {
        f"{OURS}, one launch": Contender(partial(graph.launch, stream), stream.sync, 200),
        f"{OURS}, one by one": Contender(partial(fill_parts, buffer, stream, count), stream.sync, 20),
    }
    torch = setting.torch()
    if torch is not None and setting.type == "nvidia":
        tensor = torch.zeros(EACH * count, dtype=torch.uint8, device=setting.torch_device())
        theirs = torch.cuda.CUDAGraph()
        with torch.cuda.graph(theirs):
            for index in range(count):
                tensor[index * EACH : (index + 1) * EACH].fill_(index & 255)
        found["PyTorch, one launch"] = Contender(theirs.replay, torch.cuda.synchronize, 200)
    return found


def run(setting: Setting, count: int) -> Contenders:
    """Until all nodes have run."""
    stream, buffer, graph = recorded(setting, count)

    def as_graph() -> None:
        graph.launch(stream)
        stream.sync()

    def one_by_one() -> None:
        fill_parts(buffer, stream, count)
        stream.sync()

    return {f"{OURS}, one launch": Contender(as_graph), f"{OURS}, one by one": Contender(one_by_one)}


def make(setting: Setting, count: int) -> Contenders:
    stream = setting.device.create_stream()
    buffer = setting.device.allocate(EACH * count, stream=stream)

    def call() -> None:
        with infinirt.capture(stream) as recording:
            fill_parts(buffer, stream, count)
        recording.graph.instantiate()

    return {OURS: Contender(call, stream.sync)}


CASES = (
    *(Case("graphs.launch", "graphs", "issue fills, host time", by(launch, n), 0, "nodes", n) for n in NODES),
    *(Case("graphs.run", "graphs", "run fills to the end", by(run, n), 0, "nodes", n) for n in NODES),
    *(Case("graphs.make", "graphs", "record and instantiate", by(make, n), 0, "nodes", n) for n in NODES),
)
