"""`infinirt run -n 4 script.py`: one process for each rank, which all end when one of them fails."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from types import FrameType

_GRACE = 5.0  # seconds between asking a process to end and killing it


def run(command: list[str], ranks: int) -> int:
    """Starts the ranks and waits for them; the exit status is that of the first that failed, else 0."""
    name = uuid.uuid4().hex
    words = words_of(command)
    processes: list[subprocess.Popen[bytes]] = []

    def forward(number: int, frame: FrameType | None) -> None:
        for process in processes:
            if process.poll() is None:
                process.send_signal(number)

    before = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for rank in range(ranks):
            told = {"INFINICCL_RANK": str(rank), "INFINICCL_SIZE": str(ranks), "INFINICCL_NAME": name}
            processes.append(subprocess.Popen(words, env={**os.environ, **told}))
        return _wait(processes)
    except OSError as error:
        print(f"infinirt run: {words[0]}: {error.strerror}", file=sys.stderr)
        _end(processes)
        return 127
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_on_hosts(command: list[str], ranks: int, hosts: str) -> int:
    """The same on several machines, through MPI's launcher: `mpiexec` beside Python, as the mpich wheel brings it, or on the PATH."""
    beside = Path(sys.executable).with_name("mpiexec")
    launcher = str(beside) if beside.exists() else shutil.which("mpiexec")
    if launcher is None:
        print("infinirt run: --hosts needs MPI's launcher, mpiexec: pip install mpich", file=sys.stderr)
        return 127
    told = ["env", "INFINICCL_TRANSPORT=mpi"]
    return subprocess.call([launcher, "-n", str(ranks), "-hosts", hosts, *told, *words_of(command)])


def words_of(command: list[str]) -> list[str]:
    """The program and its arguments: a Python file is run by this interpreter."""
    return [sys.executable, *command] if command[0].endswith(".py") else command


def _wait(processes: list[subprocess.Popen[bytes]]) -> int:
    while True:
        statuses = [process.poll() for process in processes]
        for rank, status in enumerate(statuses):
            if status:
                how = (
                    f"was ended by {signal.Signals(-status).name}"
                    if status < 0
                    else f"ended with status {status}"
                )
                print(f"infinirt run: rank {rank} {how}; the others are ended", file=sys.stderr)
                _end(processes)
                return 128 - status if status < 0 else status
        if all(status == 0 for status in statuses):
            return 0
        time.sleep(0.02)


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        if process.poll() is None:
            process.terminate()
    deadline = time.monotonic() + _GRACE
    for process in processes:
        try:
            process.wait(max(deadline - time.monotonic(), 0.01))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
