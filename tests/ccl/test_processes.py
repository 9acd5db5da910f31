"""Collectives between processes: results, ranks that die, hang or disagree, and what is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import infiniccl
import infinirt

HERE = Path(__file__).parent
PATIENCE = 240


def shared_files() -> set[str]:
    return {name for name in os.listdir("/dev/shm") if "infiniccl" in name}


@contextmanager
def ranks(role: str, size: int, **environment: str) -> Iterator[list[subprocess.Popen[str]]]:
    name = uuid.uuid4().hex
    before = shared_files()
    processes = [
        subprocess.Popen(
            [sys.executable, HERE / "process_rank.py", role],
            env={**os.environ, **environment, "RANK": str(rank), "WORLD_SIZE": str(size), "NAME": name},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert shared_files() == before, "nothing is left behind"


def outputs(processes: list[subprocess.Popen[str]]) -> list[str]:
    said = []
    for process in processes:
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        said.append(out)
    return said


@pytest.mark.parametrize("size", [1, 2, 3])
def test_all_operations(size: int) -> None:
    with ranks("matrix", size) as processes:
        assert outputs(processes) == ["agrees\n"] * size


@pytest.mark.parametrize("size", [2, 4])
def test_all_operations_captured(size: int) -> None:
    with ranks("graphs", size) as processes:
        assert outputs(processes) == ["agrees\n"] * size


@pytest.mark.full
@pytest.mark.parametrize("size", [2, 4])
def test_everything(size: int) -> None:
    with ranks("everything", size) as processes:
        assert outputs(processes) == ["agrees\n"] * size


@pytest.mark.parametrize("schedule", ["async", "inline", "random:3"])
def test_streams_and_graphs(schedule: str) -> None:
    with ranks("streams", 2, INFINIRT_CPU_SCHEDULE=schedule) as processes:
        assert outputs(processes) == ["agrees\n"] * 2


def kill_in_the_middle(victim: int, delay: float) -> None:
    with ranks("die", 3) as processes:
        last = processes[2].stdout
        assert last is not None
        assert last.readline() == "ready\n"
        time.sleep(delay)
        processes[victim].send_signal(signal.SIGKILL)
        for rank, process in enumerate(processes):
            if rank == victim:
                continue
            out, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, err
            assert f"the process of rank {victim} ended without destroying its communicator" in out
            assert float(out.split("after ")[1].split()[0]) < 20


@pytest.mark.parametrize("victim", [0, 2])
def test_a_rank_is_killed_in_the_middle(victim: int) -> None:
    """Rank 0 is the one that the others have found one another by."""
    kill_in_the_middle(victim, 0.05)


@pytest.mark.soak
def test_a_hundred_kills() -> None:
    for number in range(100):
        kill_in_the_middle(number % 3, number % 10 * 0.01)


def test_a_rank_that_hangs_is_named() -> None:
    with ranks("hang", 3) as processes:
        for rank in (0, 1):
            out, err = processes[rank].communicate(timeout=PATIENCE)
            assert process_ended(processes[rank]), err
            assert "AllReduce of 5 f64, sum" in out
            assert "rank 2 came last to Barrier" in out
            assert "infinirtErrorTimeout" in out


def process_ended(process: subprocess.Popen[str]) -> bool:
    return process.returncode == 0


def test_a_mismatch_names_both_sides() -> None:
    with ranks("mismatch", 2) as processes:
        for out in outputs(processes):
            assert "rank 0 called AllReduce of 5 f64, sum, rank 1 called AllReduce of 6 f64, sum" in out


def test_a_rank_that_leaves() -> None:
    with ranks("leave", 2) as processes:
        assert "the communicator of rank 1 was destroyed without it" in outputs(processes)[0]


def test_threads_as_ranks() -> None:
    """The ranks of an id may be anywhere, also in one process."""
    id = infiniccl.unique_id()
    results: dict[int, float] = {}

    def work(rank: int) -> None:
        with infiniccl.init_rank(3, id, rank, "cpu") as comm:
            array = np.full(70_000, float(rank))
            comm.all_reduce(array)
            results[rank] = float(array.max())

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert results == {0: 3.0, 1: 3.0, 2: 3.0}


def test_ids_and_ranks_that_are_wrong() -> None:
    with pytest.raises(ValueError, match="the id has 3 bytes"):
        infiniccl.init_rank(1, b"abc", 0, "cpu")
    with pytest.raises(infinirt.InfiniRTError, match="was not made by"):
        infiniccl.init_rank(1, bytes(128), 0, "cpu")
    with pytest.raises(infinirt.InvalidValueError, match="rank is 2; of 2 ranks it must be 0 to 1"):
        infiniccl.init_rank(2, infiniccl.unique_id(), 2, "cpu")
    with pytest.raises(infinirt.InvalidValueError, match="the name has 0 characters"):
        infiniccl.named_id("")
    id = infiniccl.unique_id()
    errors: list[str] = []

    def join(size: int, rank: int) -> None:
        try:
            infiniccl.init_rank(size, id, rank, "cpu").close()
        except infinirt.InfiniRTError as error:
            errors.append(str(error))

    first = threading.Thread(target=join, args=(2, 0))
    first.start()
    name = id.rstrip(b"\0").decode()
    deadline = time.monotonic() + PATIENCE
    while Path("/proc/net/unix").read_text().count(name) < 2 and time.monotonic() < deadline:
        time.sleep(0.001)  # those that have connected are heard in their order
    join(3, 2)
    join(2, 0)
    join(2, 1)
    first.join(PATIENCE)
    assert len(errors) == 2
    assert "rank 2 says that there are 3 ranks, an earlier one said 2" in errors[0]
    assert "rank 0 has joined already" in errors[1]


def test_nobody_waits_for_itself() -> None:
    comm = infiniccl.init_rank(1, infiniccl.unique_id(), 0, "cpu")
    there, back = np.arange(5), np.zeros(5, np.int64)
    with pytest.raises(ValueError, match=r"send\(\): peer is 0, this rank itself.*with infiniccl.group"):
        comm.send(there, 0)
    with pytest.raises(ValueError, match=r"recv\(\): peer is 0, this rank itself"):
        comm.recv(back, 0)
    with infiniccl.group():
        comm.send(there, 0)
        comm.recv(back, 0)
    assert back.tolist() == [0, 1, 2, 3, 4]
    comm.close()


def test_ranks_that_never_join() -> None:
    code = """
import infiniccl, infinirt
for id in (infiniccl.unique_id(), infiniccl.named_id("nobody else")):
    try:
        infiniccl.init_rank(2, id, 0, "cpu")
    except infinirt.InfiniRTError as error:
        print(error)
try:
    infiniccl.init_rank(2, infiniccl.named_id("no rank 0 of this"), 1, "cpu")
except infinirt.InfiniRTError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "INFINICCL_TIMEOUT": "0.3"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3, done.stderr
    assert "not all 2 ranks joined within 0.3 s" in lines[0]
    assert "not all 2 ranks joined within 0.3 s" in lines[1]
    assert "rank 0 did not begin within 0.3 s" in lines[2]
