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
infiniccl.destroy_process_group()
print("agrees")
"""
    assert mpi(2, "-c", code).count("agrees") == 2


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("role", ["graphs", "streams"])
def test_captured_operations(role: str, ranks: int) -> None:
    assert mpi(ranks, HERE / "process_rank.py", role).count("agrees") == ranks


def test_memory_that_programs_cannot_reach() -> None:
    """MPI gets the address by which threads of the host find it: nothing is copied for it."""
    said = mpi(2, HERE / "process_rank.py", "graphs", INFINIRT_CPU_MEMORY="isolated")
    assert said.count("agrees") == 2


def test_graphs_in_any_order() -> None:
    """Ranks launch two graphs in different orders, with eager operations in between; sends and receives are captured, too."""
    code = """
import numpy, infiniccl, infinirt
comm = infiniccl.init_process_group(transport="mpi", device="cpu")
device = comm.device
streams = [device.create_stream() for _ in range(3)]
buffers = [device.allocate(400) for _ in range(2)]
for buffer in buffers:
    buffer.copy_from(numpy.ones(100, numpy.int32))
graphs = []
for stream, buffer in zip(streams, buffers):
    with infinirt.capture(stream, mode="relaxed") as captured:
        comm.all_reduce(buffer, dtype="int32", stream=stream)
        comm.all_reduce(buffer, dtype="int32", stream=stream)
    graphs.append(captured.graph.instantiate())
given, got = device.allocate(4), device.allocate(4)
given.copy_from(numpy.array([comm.rank + 5], numpy.int32))
with infinirt.capture(streams[2], mode="relaxed") as captured, infiniccl.group():
    comm.send(given, 1 - comm.rank, stream=streams[2])
    comm.recv(got, 1 - comm.rank, stream=streams[2])
exchange = captured.graph.instantiate()
for replay in range(5):
    for which in ((0, 1) if comm.rank else (1, 0)):
        graphs[which].launch(streams[which])
    comm.barrier(stream=streams[2])
    exchange.launch(streams[2])
for stream in streams:
    stream.sync()
result = numpy.zeros(100, numpy.int32)
for buffer in buffers:
    buffer.copy_to(result)
    assert set(result) == {2**10}, result
got.copy_to(result[:1])
assert result[0] == 6 - comm.rank
print("agrees")
"""
    assert mpi(2, "-c", code).count("agrees") == 2


def test_a_graph_that_a_rank_replays_late() -> None:
    code = """
import time, infiniccl, infinirt
comm = infiniccl.init_process_group(transport="mpi", device="cpu")
comm.timeout = 0.3
stream = comm.device.create_stream()
with infinirt.capture(stream, mode="relaxed") as captured:
    comm.barrier(stream=stream)
if comm.rank:
    time.sleep(5)
    comm.timeout = 2
captured.graph.instantiate().launch(stream)
try:
    stream.sync()
except infinirt.InfiniRTError as error:
    print(error, flush=True)
"""
    assert "Barrier (operation 0) of rank 0 has waited" in mpi(2, "-c", code)


@pytest.mark.full
@pytest.mark.parametrize("ranks", [2, 4])
def test_everything(ranks: int) -> None:
    assert mpi(ranks, HERE / "process_rank.py", "everything").count("agrees") == ranks


def test_a_late_rank() -> None:
    code = """
import time, infiniccl, infinirt
comm = infiniccl.init_process_group(transport="mpi", device="cpu")
comm.timeout = 0.3
stream = comm.device.create_stream()
if comm.rank:
    time.sleep(5)
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
