"""Whatever the order of issue, the streams, the groups, the graphs and the schedule: what a sequential model says comes out."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from collective_support import make_communicators, on_device, read
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import Program

import infiniccl
import infinirt

HERE = Path(__file__).parent


@given(st.integers(0, 2**32))
@settings(max_examples=100)
def test_random_programs(seed: int) -> None:
    Program(seed).run()


def random_seeds(schedule: str, first: int, last: int) -> None:
    environment = {**os.environ, "INFINIRT_CPU_SCHEDULE": schedule}
    done = subprocess.run(
        [sys.executable, HERE / "random_programs.py", str(first), str(last)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all agree\n"


@pytest.mark.parametrize("schedule", ["inline", "random:1"])
def test_random_programs_in_other_schedules(schedule: str) -> None:
    random_seeds(schedule, 0, 150)


def test_random_programs_with_one_worker() -> None:
    """Ranks that wait occupy no thread."""
    code = (
        f"import sys; sys.path.insert(0, {str(HERE)!r}); import random_programs; random_programs.main(0, 60)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "INFINIRT_CPU_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.stdout == "all agree\n", done.stderr


@pytest.mark.soak
@pytest.mark.parametrize("schedule", ["async", "inline", "random:1"])
def test_a_thousand_random_programs(schedule: str) -> None:
    random_seeds(schedule, 1000, 2000)


def test_a_rank_far_ahead() -> None:
    """One rank issues everything before the others issue anything."""
    device = infinirt.Device("cpu")
    comms = make_communicators(3)
    streams = [device.create_stream() for _ in comms]
    buffers = [on_device(np.ones(10, np.int32), device, stream) for stream in streams]
    for comm, stream, buffer in zip(comms, streams, buffers, strict=True):
        for _ in range(10):
            comm.all_reduce(buffer, dtype="int32", stream=stream)
    for stream, buffer in zip(streams, buffers, strict=True):
        stream.sync()
        assert np.array_equal(read(buffer, np.dtype(np.int32)), np.full(10, 3**10))


def test_a_thread_for_each_rank() -> None:
    device = infinirt.Device("cpu")
    comms = make_communicators(4)
    results: dict[int, int] = {}

    def work(comm: infiniccl.Communicator) -> None:
        stream = device.create_stream()
        buffer = on_device(np.full(1000, comm.rank, np.int64), device, stream)
        for _ in range(50):
            comm.all_reduce(buffer, op="max", dtype="int64", stream=stream)
            comm.barrier(stream=stream)
        stream.sync()
        results[comm.rank] = int(read(buffer, np.dtype(np.int64)).sum())

    threads = [threading.Thread(target=work, args=(comm,)) for comm in comms]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == dict.fromkeys(range(4), 3000)


def test_several_graphs_replay_side_by_side() -> None:
    """Two collectives in branches of one graph for each rank; ranks replay in different orders, eager work in between."""
    device = infinirt.Device("cpu")
    comms = make_communicators(2)
    first = [device.create_stream() for _ in comms]
    second = [device.create_stream() for _ in comms]
    left = [on_device(np.full(100, r + 1, np.int64), device, s) for r, s in enumerate(first)]
    right = [on_device(np.full(5000, r + 1, np.int64), device, s) for r, s in enumerate(first)]
    graphs = []
    for rank, comm in enumerate(comms):
        with infinirt.capture(first[rank], mode="relaxed") as captured:
            second[rank].wait(first[rank])
            comm.all_reduce(left[rank], dtype="int64", stream=first[rank])
            comm.all_reduce(right[rank], dtype="int64", op="prod", stream=second[rank])
            first[rank].wait(second[rank])
        assert {node.type for node in captured.graph.nodes()} == {"host"}
        graphs.append(captured.graph.instantiate())
    for replay in range(5):
        for rank in (0, 1) if replay % 2 else (1, 0):
            graphs[rank].launch(first[rank])
            comms[rank].barrier(stream=first[rank])
    for rank in range(2):
        first[rank].sync()
        assert set(read(left[rank], np.dtype(np.int64))) == {3 * 2**4}
        assert set(read(right[rank], np.dtype(np.int64))) == {(2 ** (2**4))}
