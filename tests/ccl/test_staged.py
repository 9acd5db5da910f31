"""Collectives on devices whose memory the host cannot reach: through page-locked memory, in one process, between processes, over MPI,
and together with CPU devices. The device is the toy accelerator without collectives of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from installed import output_of, program
from plugin_files import toy
from vendor_files import settings

PROGRAM = Path(__file__).with_name("staged_rank.py")


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy(tmp_path_factory.mktemp("plain"), "TOY_DEVICES=3", name="plain")


def with_plugin(plugin: Path | None) -> dict[str, str]:
    return {"INFINIRT_PLUGIN_PATH": str(plugin)} if plugin else {}


def one_process(plugin: Path, role: str, devices: str, **environment: str) -> str:
    return output_of(
        sys.executable, PROGRAM, role, INFINIRT_PLUGIN_PATH=str(plugin), STAGED_DEVICES=devices, **environment
    )


def processes(plugin: Path | None, role: str, devices: str, **more: str) -> list[tuple[int, str]]:
    """Exit status and output of each rank, over shared memory."""
    environment = {
        **os.environ,
        **more,
        **with_plugin(plugin),
        "STAGED_DEVICES": devices,
        "NAME": uuid.uuid4().hex,
    }
    started = [
        subprocess.Popen(
            [sys.executable, PROGRAM, role],
            env={**environment, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(len(devices.split(",")))
    ]
    try:
        outputs = [process.communicate(timeout=240)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    return [(process.returncode, output) for process, output in zip(started, outputs, strict=True)]


def mpi(plugin: Path | None, role: str, devices: str, **more: str) -> str:
    launcher = Path(sys.executable).with_name("mpiexec")
    found = str(launcher) if launcher.exists() else program("mpiexec")
    assert found is not None
    command = [found, "-n", str(len(devices.split(","))), sys.executable, PROGRAM, role]
    return output_of(*command, **with_plugin(plugin), STAGED_DEVICES=devices, **more)


# ---- in one process


def test_the_memory_cannot_be_reached(plugin: Path) -> None:
    """Otherwise these tests would show nothing: the library itself says so."""
    code = """
import ctypes, infinirt
from pathlib import Path
device = infinirt.Device("plain:0")
buffer, stream = device.allocate(64), device.create_stream()
library = ctypes.CDLL(str(Path(infinirt.__file__).parent / "lib" / "libinfinirt.so.1"))
found = ctypes.c_void_p()
library.infinirtXStreamUse(ctypes.c_void_p(stream.handle), ctypes.c_void_p(buffer.handle), ctypes.c_size_t(64), b"it", ctypes.byref(found))
library.infinirtXGetLastErrorMessage.restype = ctypes.c_char_p
print(library.infinirtXGetLastErrorMessage().decode())
"""
    said = output_of(sys.executable, "-c", code, INFINIRT_PLUGIN_PATH=str(plugin))
    assert "threads of the host cannot reach" in said


def quick_first(values: list[str], quick: int = 1) -> list[Any]:
    """The first ones always, the others where there is time."""
    return [*values[:quick], *(pytest.param(value, marks=pytest.mark.full) for value in values[quick:])]


@pytest.mark.parametrize("devices", quick_first(["plain:0,plain:1", "plain:0", "plain:2,plain:0,plain:1"]))
def test_all_operations(plugin: Path, devices: str) -> None:
    assert one_process(plugin, "matrix", devices).endswith("agrees\n")


@pytest.mark.full
def test_all_operations_with_one_worker(plugin: Path) -> None:
    """A rank that waits occupies no thread."""
    assert one_process(plugin, "matrix", "plain:0,plain:1", INFINIRT_CPU_THREADS="1").endswith("agrees\n")


@pytest.mark.parametrize("vendor", quick_first(["ascend", "metax", "cambricon", "kunlun"]))
def test_all_operations_of_vendors(tmp_path: Path, vendor: str) -> None:
    """Device types that the runtime has itself, on loop-backs of their libraries."""
    said = output_of(
        sys.executable,
        PROGRAM,
        "matrix",
        **settings(tmp_path, vendor),
        STAGED_DEVICES=f"{vendor}:0,{vendor}:0",
    )
    assert said.endswith("agrees\n")


def test_many_streams(plugin: Path) -> None:
    assert one_process(plugin, "streams", "plain:0,plain:1").endswith("agrees\n")


def test_the_sanitizer_sees_nothing(plugin: Path) -> None:
    """Every copy is ordered by events that it can see, and everything is freed."""
    environment = {"INFINIRT_PLUGIN_PATH": str(plugin), "STAGED_DEVICES": "plain:0,plain:1"}
    said = output_of(sys.executable, "-m", "infinirt", "sanitize", PROGRAM, "streams", **environment)
    assert "infinirt sanitize: nothing found" in said.splitlines(), said


def test_ranks_on_one_stream(plugin: Path) -> None:
    said = one_process(plugin, "unjoined", "plain:0,plain:0")
    assert "rank 0's part of operation 1 is on the same stream" in said


def test_different_counts(plugin: Path) -> None:
    """Found before anything is moved, though the first chunks are alike."""
    said = one_process(plugin, "mismatch", "plain:0,plain:1")
    both = "rank 0 called AllReduce of 2000000 f32, sum, rank 1 called AllReduce of 2000001 f32, sum"
    assert said.count(f"is told: different counts in operation 0: {both}") == 2


def test_abort(plugin: Path) -> None:
    assert "rank 0 is told: rank 1 aborted it" in one_process(plugin, "aborted", "plain:0,plain:1")


def test_nothing_is_left(plugin: Path) -> None:
    assert one_process(plugin, "leaks", "plain:0,plain:1").endswith("agrees\n")


def test_what_is_refused(plugin: Path) -> None:
    said = one_process(plugin, "refusals", "plain:0").splitlines()
    expected = [
        "is not memory of plain:0",
        "is not memory of plain:0",
        "was not made by infinicclGetUniqueId, infinicclGetNamedId or infinicclGetMpiId",
        "plain:7",
        "agrees",
    ]
    assert len(said) == len(expected), said
    for line, part in zip(said, expected, strict=True):
        assert part in line


# ---- between processes

MIXES = ["plain:0,plain:0", "cpu:0,plain:1", "plain:0,cpu:0"]


@pytest.mark.parametrize("role", quick_first(["streams", "matrix", "other_memory"]))
@pytest.mark.parametrize("devices", quick_first(MIXES, 2))
def test_over_shared_memory(plugin: Path, devices: str, role: str) -> None:
    for status, said in processes(plugin, role, devices):
        assert status == 0, said
        assert said.endswith("agrees\n"), said


@pytest.mark.parametrize("devices", MIXES[:2])
def test_a_process_group(plugin: Path, devices: str) -> None:
    for status, said in processes(plugin, "streams", devices, STAGED_GROUP="1"):
        assert status == 0, said
        assert said.endswith("agrees\n"), said


@pytest.mark.parametrize("devices", quick_first(MIXES))
def test_a_rank_that_does_not_come(plugin: Path, devices: str) -> None:
    status, said = processes(plugin, "hang", devices)[0]
    assert status == 0, said
    assert "rank 0 is told: AllReduce of 3000000 f32, sum (operation 1) of rank 0 has waited" in said
    assert "rank 1 came last to Barrier" in said


@pytest.mark.parametrize("devices", quick_first(MIXES))
def test_a_rank_that_is_killed(plugin: Path, devices: str) -> None:
    (status, said), (killed, _) = processes(plugin, "die", devices)
    assert killed == -9
    assert status == 0, said
    assert "rank 0 is told: the process of rank 1 ended without destroying its communicator" in said


def test_no_call_waits(plugin: Path) -> None:
    """One thread issues a CPU's and an accelerator's parts one after the other, long ones with sections, eager and captured."""
    code = """
import concurrent.futures, os, numpy, infiniccl, infinirt
devices = [infinirt.Device("cpu"), infinirt.Device("plain:0")]
id = infiniccl.named_id(f"one thread {os.getpid()}")
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    joining = [pool.submit(infiniccl.init_rank, 2, id, rank, device) for rank, device in enumerate(devices)]
    comms = [each.result() for each in joining]
streams = [device.create_stream() for device in devices]
count = 1_500_000
sends = [device.allocate(4 * count) for device in devices]
recvs = [device.allocate(8 * count) for device in devices]
for rank in range(2):
    sends[rank].copy_from(numpy.full(count, rank + 5, numpy.int32))
def call(rank):
    comms[rank].all_gather(sends[rank], recvs[rank], dtype="int32", stream=streams[rank])
def compare():
    for rank in range(2):
        streams[rank].sync()
        out = numpy.zeros(2 * count, numpy.int32)
        recvs[rank].copy_to(out)
        assert numpy.array_equal(out, numpy.repeat([5, 6], count))
        recvs[rank].fill(0)
for order in ((0, 1), (1, 0)):
    for rank in order:
        call(rank)
    compare()
graphs = []
for rank in range(2):
    with infinirt.capture(streams[rank]) as made:
        call(rank)
    graphs.append(made.graph.instantiate())
for rank in (1, 0):
    graphs[rank].launch(streams[rank])
compare()
print("agrees")
"""
    assert output_of(sys.executable, "-c", code, INFINIRT_PLUGIN_PATH=str(plugin)).endswith("agrees\n")


@pytest.mark.parametrize("own", [False, True])
def test_ids_and_process_groups(tmp_path: Path, own: bool) -> None:
    """A type without collectives makes ids of shared memory; one that has some takes ids of ours as well, and then stages."""
    code = """
import numpy, infiniccl, infinirt, os
device = infinirt.Device("plain:1")
stream = device.create_stream()
id = infiniccl.unique_id(device)
print(id.startswith(b"infiniccl:"))
comms = [infiniccl.init_rank(1, id, 0, device), infiniccl.init_rank(1, infiniccl.named_id(f"staged {os.getpid()}"), 0, device)]
comms.append(infiniccl.init_process_group(rank=0, size=1, name=f"group {os.getpid()}", device=device))
for comm in comms:
    buffer = device.allocate(20, stream=stream)
    buffer.copy_from(numpy.arange(5, dtype=numpy.int32))
    comm.all_reduce(buffer, dtype="int32", stream=stream)
    stream.sync()
    out = numpy.zeros(5, numpy.int32)
    buffer.copy_to(out)
    assert out.tolist() == [0, 1, 2, 3, 4]
    comm.close()
print("agrees")
"""
    plugin = toy(tmp_path, *(["TOY_COLLECTIVES"] if own else []), name="plain")
    said = output_of(sys.executable, "-c", code, INFINIRT_PLUGIN_PATH=str(plugin))
    assert said == f"{not own}\nagrees\n"


def test_freed_beside_a_capture(plugin: Path) -> None:
    """What a communicator leaves is freed on a thread of its own, and breaks no capture that any thread has begun."""
    code = """
import contextlib, os, time, infiniccl, infinirt
device = infinirt.Device("plain:0")
stream = device.create_stream()
comms = infiniccl.init_all(["plain:0", "plain:1"])
buffers = [comm.device.allocate(400_000) for comm in comms]
for comm, buffer in zip(comms, buffers):
    comm.all_reduce(buffer, dtype="int32")
for comm in comms:
    comm.device.sync()

def frees():
    names = []  # of threads, which may end while they are looked at
    for id in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):
            names.append(open(f"/proc/self/task/{id}/comm").read().strip())
    return "infiniccl-free" in names

with infinirt.capture(stream, mode="global") as captured:
    buffers[0].fill(1, stream=stream)
    for comm in comms:
        comm.close()
    seen, deadline = False, time.monotonic() + 2
    while frees() or not seen and time.monotonic() < deadline:  # it is not there at once, and may be gone before it is looked for
        seen = seen or frees()
        time.sleep(0.0005)
captured.graph.instantiate().launch(stream)
stream.sync()
print("goes on")
"""
    assert output_of(sys.executable, "-c", code, INFINIRT_PLUGIN_PATH=str(plugin)).endswith("goes on\n")


# ---- over MPI


@pytest.mark.peer("mpich")
@pytest.mark.parametrize("devices", MIXES[:2])
def test_over_mpi(plugin: Path, devices: str) -> None:
    assert mpi(plugin, "matrix", devices).count("agrees") == 2
    assert mpi(plugin, "streams", devices, STAGED_GROUP="1").count("agrees") == 2


@pytest.mark.peer("mpich")
def test_a_rank_that_does_not_come_over_mpi(plugin: Path) -> None:
    said = mpi(plugin, "late", "plain:0,plain:0")
    assert "rank 0 is told: Barrier (operation 0) of rank 0 has waited" in said


# ---- on a GPU, with ids of our own instead of NCCL's


@pytest.mark.gpu
@pytest.mark.parametrize("role", ["matrix", "streams"])
def test_a_gpu_over_shared_memory(role: str) -> None:
    ((status, said),) = processes(None, role, "nvidia:0")
    assert status == 0, said
    assert said.endswith("agrees\n"), said


@pytest.mark.gpu
@pytest.mark.peer("mpich")
def test_a_gpu_over_mpi() -> None:
    assert "agrees" in mpi(None, "matrix", "nvidia:0")


@pytest.mark.gpu
@pytest.mark.parametrize("devices", ["cpu:0,nvidia:0", "nvidia:0,nvidia:0"])
def test_a_gpu_beside_a_cpu_and_beside_itself(devices: str) -> None:
    for status, said in processes(None, "matrix", devices):
        assert status == 0, said
        assert said.endswith("agrees\n"), said
