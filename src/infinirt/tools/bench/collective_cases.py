"""Collectives among two ranks of this process, beside mpi4py's between two processes of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import infinirt

from .case import OURS, Case, Contenders, Setting
from .measure import Contender, Pace
from .memory_cases import KIBI, MEBI, by

RANKS = 2
SIZES = (KIBI, 64 * KIBI, MEBI, 16 * MEBI)


def ranks_on(setting: Setting) -> Any:
    """Communicators, or None where the device type has no collectives, or too few devices for two ranks."""
    import infiniccl

    devices: list[Any] = [setting.device] * RANKS
    if setting.type != "cpu":
        devices = list(infinirt.devices(setting.type))[:RANKS]
        if len(devices) < RANKS:
            return None
    try:
        return infiniccl.init_all(devices)
    except infinirt.NotSupportedError:
        return None


def collective(setting: Setting, size: int, name: str) -> Contenders | None:
    import infiniccl

    if size > setting.largest:
        return None
    comms = ranks_on(setting)
    if comms is None:
        return None
    streams = [comm.device.create_stream() for comm in comms]
    buffers = [comm.device.allocate(size, stream=stream) for comm, stream in zip(comms, streams, strict=True)]
    for buffer, stream in zip(buffers, streams, strict=True):
        buffer.fill(0, stream=stream)
        stream.sync()
    calls = [
        partial(
            getattr(comm, name),
            buffer,
            dtype="float32",
            stream=stream,
            **({"root": 0} if name == "broadcast" else {}),
        )
        for comm, buffer, stream in zip(comms, buffers, streams, strict=True)
    ]

    def call() -> None:
        with infiniccl.group():
            for each in calls:
                each()
        for stream in streams:
            stream.sync()

    return {OURS: Contender(call)}


def all_reduce(setting: Setting, size: int) -> Contenders | None:
    return collective(setting, size, "all_reduce")


def broadcast(setting: Setting, size: int) -> Contenders | None:
    return collective(setting, size, "broadcast")


CASES = (
    *(
        Case(
            "collectives.all-reduce",
            "collectives",
            "all-reduce of float32 by two ranks",
            by(all_reduce, n),
            n,
            "size",
            n,
        )
        for n in SIZES
    ),
    *(
        Case("collectives.broadcast", "collectives", "broadcast to two ranks", by(broadcast, n), n, "size", n)
        for n in SIZES
    ),
)

# ---- mpi4py: a program of two processes, which prints the seconds of its calls as JSON

BY_MPI = ("collectives.all-reduce",)
MPI_PROGRAM = """
import json, sys, time
import numpy
from mpi4py import MPI

sizes, rounds, seconds = json.loads(sys.argv[1])
world = MPI.COMM_WORLD
result = {}
for size in sizes:
    send, recv = numpy.zeros(size // 4, "float32"), numpy.zeros(size // 4, "float32")
    # Of the operations that are measured here, the one that no rank can leave before all have come.
    call = lambda: world.Allreduce(send, recv)
    begin = time.perf_counter()
    for _ in range(3):
        call()
    calls = world.bcast(max(1, int(seconds / max((time.perf_counter() - begin) / 3, 1e-7))))
    samples = []
    for _ in range(rounds):
        world.Barrier()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        samples.append((time.perf_counter() - begin) / calls)
    result[f"all-reduce/{size}"] = samples
if world.rank == 0:
    print(json.dumps(result))
"""


def launcher() -> str | None:
    """MPI's launcher, beside Python first, where the `mpich` wheel puts it."""
    beside = str(Path(sys.executable).parent)
    return shutil.which("mpiexec", path=beside) or shutil.which("mpiexec")


def mpi_samples(sizes: list[int], pace: Pace) -> tuple[dict[str, list[float]], str]:
    """Seconds of mpi4py's calls by "name/size", and what went wrong, if something did."""
    program = launcher()
    if program is None:
        return {}, "mpiexec was not found"
    words = [program, "-n", str(RANKS), sys.executable, "-c", MPI_PROGRAM]
    try:
        done = subprocess.run(
            [*words, json.dumps([sizes, pace.rounds, pace.round_seconds])],
            capture_output=True,
            text=True,
            timeout=120,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {}, f"its ranks did not run: {error}"
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return {}, f"its ranks did not run: {said[-1]}"
    samples: dict[str, list[float]] = json.loads(done.stdout.strip().splitlines()[-1])
    return samples, ""
