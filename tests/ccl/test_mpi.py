"""Collectives over MPI: all operations between processes that MPI's launcher started, and what MPI cannot do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from installed import output_of, program

HERE = Path(__file__).parent
pytestmark = pytest.mark.peer("mpich")


def mpi(ranks: int, *command: str | Path, **environment: str) -> str:
    launcher = Path(sys.executable).with_name("mpiexec")
    found = str(launcher) if launcher.exists() else program("mpiexec")
    assert found is not None
    return output_of(found, "-n", str(ranks), sys.executable, *command, **environment)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_all_operations(ranks: int) -> None:
    assert mpi(ranks, HERE / "process_rank.py", "matrix").count("agrees") == ranks


def test_order_of_issue_decides() -> None:
    """Streams reach the operations in different orders on different ranks; MPI gets them in one."""
    code = """
import numpy, infiniccl, infinirt
comm = infiniccl.init_process_group(transport="mpi", device="cpu")
device = infinirt.Device("cpu")
streams = [device.create_stream() for _ in range(4)]
buffers = []
for number in range(60):
    stream = streams[(number * (comm.rank + 1)) % 4]
    buffer = device.allocate(4000, stream=stream)
    buffer.fill(number, stream=stream)
    if number % 2:
        comm.all_reduce(buffer, dtype="uint8", op="max", stream=stream)
    else:
        comm.broadcast(buffer, stream=stream)
    buffers.append(buffer)
device.sync()
assert all(set(bytes(buffer)) == {number} for number, buffer in enumerate(buffers))
left, right = numpy.full(5, float(comm.rank)), numpy.zeros(5)
with infiniccl.group():
    comm.send(left, 1 - comm.rank)
    comm.recv(right, 1 - comm.rank)
assert right[0] == 1 - comm.rank
try:
    with infinirt.capture(streams[0]):
        comm.barrier(stream=streams[0])
except infinirt.InfiniRTError as error:
    print(error)
infiniccl.destroy_process_group()
"""
    said = mpi(2, "-c", code)
    assert said.count("collectives over MPI cannot be captured into graphs") == 2


def test_a_late_rank() -> None:
    code = """
import time, infiniccl, infinirt
comm = infiniccl.init_process_group(transport="mpi", device="cpu")
comm.timeout = 0.3
stream = comm.device.create_stream()
if comm.rank:
    time.sleep(1.5)
    comm.timeout = 30
comm.barrier(stream=stream)
try:
    stream.sync()
except infinirt.InfiniRTError as error:
    print(error, flush=True)
"""
    assert "Barrier (operation 0) of rank 0 has waited" in mpi(2, "-c", code)


def test_checking_mode_names_both_sides() -> None:
    said = mpi(2, HERE / "process_rank.py", "mismatch_only", INFINICCL_CHECK="1")
    assert said.count("rank 0 called AllReduce of 5 f64, sum, rank 1 called AllReduce of 6 f64, sum") == 2
    assert mpi(2, HERE / "process_rank.py", "matrix", INFINICCL_CHECK="1").count("agrees") == 2


def test_infinirt_run_on_hosts(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy, infiniccl\n"
        "comm = infiniccl.init_process_group(device='cpu')\n"
        "array = numpy.array([comm.rank + 1])\n"
        "infiniccl.all_reduce(array)\n"
        "print(array[0], flush=True)\n"
        "infiniccl.destroy_process_group()\n"
    )
    said = output_of(sys.executable, "-m", "infinirt", "run", "-n", "2", "--hosts", "localhost", script)
    assert said.split() == ["3", "3"] or said.strip() == "33"  # lines of two processes may mix


def test_a_rank_that_is_not_mpis() -> None:
    code = """
import infiniccl, infinirt
try:
    infiniccl.init_rank(3, infiniccl.mpi_id(), 1, "cpu")
except infinirt.InfiniRTError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert "MPI's launcher made this process rank 0 of 1" in done.stdout, done.stderr
