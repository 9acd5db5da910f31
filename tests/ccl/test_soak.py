"""A hundred runs in which one rank is killed, stopped or hangs at a random moment: whatever the others were doing, they hear of it in
time, end, and nothing is left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from left_behind import shared_memory

PROGRAM = Path(__file__).with_name("soak_rank.py")
RUNS = 100
TIMEOUT = 2.0  # of the communicators, in seconds
SLACK = 12.0  # for a machine that has other things to do


def one_run(number: int, seed: int) -> None:
    rng = random.Random(seed)
    size = rng.choice([2, 3, 4])
    how = rng.choice(["kill", "kill", "stop", "hang"])
    victim = rng.randrange(size)
    name = uuid.uuid4().hex
    told = {
        "NAME": name,
        "WORLD_SIZE": str(size),
        "INFINICCL_TIMEOUT": "120",  # of joining: the ranks start as fast as the machine lets them
        "TIMEOUT": str(TIMEOUT),
        "VICTIM": str(victim),
        "HOW": how,
        "SEED": str(seed),
    }
    what = f"run {number}: seed {seed}, {size} ranks, rank {victim}: {how}"
    processes = [
        subprocess.Popen(
            [sys.executable, PROGRAM],
            env={**os.environ, **told, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    try:
        stdout = processes[victim].stdout
        assert stdout is not None
        assert stdout.readline() == "ready\n", what
        time.sleep(rng.uniform(0, 0.3))
        if how == "kill":
            processes[victim].send_signal(signal.SIGKILL)
        elif how == "stop":
            processes[victim].send_signal(signal.SIGSTOP)
        else:
            assert stdout.readline() == "hangs\n", what
        began = time.monotonic()
        for rank, process in enumerate(processes):
            if rank == victim:
                continue
            out, err = process.communicate(timeout=TIMEOUT + SLACK)
            assert process.returncode == 0, f"{what}: rank {rank} ended with {process.returncode}\n{out}{err}"
            assert f"rank {victim}" in out, f"{what}: rank {rank} said {out!r}\n{err}"
        assert time.monotonic() - began < TIMEOUT + SLACK, what
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert name not in Path("/proc/net/unix").read_text(), what


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_rank_fails_at_a_random_moment() -> None:
    before = shared_memory()
    first = int(os.environ.get("INFINICCL_SOAK_SEED", "1"))
    for number in range(RUNS):
        one_run(number, first + number)
    assert shared_memory() <= before


def test_a_rank_fails() -> None:
    """Three of them, for every day."""
    before = shared_memory()
    for number in range(3):
        one_run(number, 1000 + number)
    assert shared_memory() <= before
