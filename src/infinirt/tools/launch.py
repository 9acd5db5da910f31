"""`infinirt run -n 4 script.py`: one process for each rank, which all end when one of them fails."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from types import FrameType
from typing import IO

_GRACE = 5.0  # seconds between asking a process to end and killing it


def run(command: list[str], ranks: int, *, label: bool = False) -> int:
    """Starts the ranks and waits for them; the exit status is that of the first that failed, else 0. `label`: each line that a rank
    prints begins with its number."""
    name = uuid.uuid4().hex
    words = words_of(command)
    processes: list[subprocess.Popen[bytes]] = []
    labels: list[threading.Thread] = []

    def forward(number: int, frame: FrameType | None) -> None:
        for process in processes:
            if process.poll() is None:
                process.send_signal(number)

    before = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for rank in range(ranks):
            told = {"INFINICCL_RANK": str(rank), "INFINICCL_SIZE": str(ranks), "INFINICCL_NAME": name}
            pipe = subprocess.PIPE if label else None
            if label:  # lines when they are printed, not when a pipe is full
                told["PYTHONUNBUFFERED"] = "1"
            process = subprocess.Popen(words, env={**os.environ, **told}, stdout=pipe, stderr=pipe)
            processes.append(process)
            for source, target in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
                if source is not None:
                    thread = threading.Thread(target=_label, args=(rank, source, target.buffer), daemon=True)
                    labels.append(thread)
                    thread.start()
        return _wait(processes)
    except OSError as error:
        print(f"infinirt run: {words[0]}: {error.strerror}", file=sys.stderr)
        _end(processes)
        return 127
    finally:
        for thread in labels:
            thread.join(_GRACE)  # what a rank has left behind may still hold its pipe
        for number, handler in before.items():
            signal.signal(number, handler)


def _label(rank: int, source: IO[bytes], target: IO[bytes]) -> None:
    with source:
        for line in source:
            target.write(b"[%d] %s" % (rank, line if line.endswith(b"\n") else line + b"\n"))
            target.flush()


def run_on_hosts(command: list[str], ranks: int, hosts: str, *, label: bool = False) -> int:
    """The same on several machines, through MPI's launcher: `mpiexec` beside Python, as the mpich wheel brings it, or on the PATH."""
    beside = Path(sys.executable).with_name("mpiexec")
    launcher = str(beside) if beside.exists() else shutil.which("mpiexec")
    if launcher is None:
        print("infinirt run: --hosts needs MPI's launcher, mpiexec: pip install mpich", file=sys.stderr)
        return 127
    told = ["env", "INFINICCL_TRANSPORT=mpi"]
    options = ["-prepend-rank"] if label else []
    return subprocess.call([launcher, *options, "-n", str(ranks), "-hosts", hosts, *told, *words_of(command)])


def words_of(command: list[str]) -> list[str]:
    """The program and its arguments: a Python file, or `-m` and a module, is run by this interpreter."""
    return [sys.executable, *command] if command[0].endswith(".py") or command[0] == "-m" else command


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
