"""All-reduce of f32 by two ranks, beside mpi4py's and PyTorch's gloo where they are installed.

Ours in one process (one thread, a group call) and in two; the others in two processes. Each candidate is a process tree of its own; rounds take
turns, and the table shows medians over the rounds of the best time within each. MPI's launcher is found beside Python, as the
`mpich` wheel puts it, or on the PATH.

    python benchmarks/collectives_bench.py [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

SIZES = {"1 KiB": 1 << 10, "1 MiB": 1 << 20, "64 MiB": 64 << 20}
CALLS = {"1 KiB": 2000, "1 MiB": 100, "64 MiB": 5}


def best(call: Callable[[], object], calls: int) -> float:
    """Seconds of one call: the shortest of five runs."""
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - begin) / calls)
    return min(times)


# ---- candidates; each runs in a process of its own and prints one line of JSON on rank 0


def in_process() -> dict[str, float]:
    import infinirt
    from infiniccl import _core, init_all

    device, comms = infinirt.Device("cpu"), init_all(["cpu:0", "cpu:0"])
    streams = [device.create_stream() for _ in comms]
    result = {}
    for name, size in SIZES.items():
        memory = [(device.allocate(size), device.allocate(size)) for _ in comms]
        for pair in memory:
            for each in pair:
                each.fill(0)
        device.sync()
        calls = [
            (send.ptr, recv.ptr, size // 4, 13, 0, comm.handle, stream.handle)
            for (send, recv), comm, stream in zip(memory, comms, streams, strict=True)
        ]

        def call(first: tuple[int, ...] = calls[0], second: tuple[int, ...] = calls[1]) -> None:
            _core.group_start()
            _core.all_reduce(*first)
            _core.all_reduce(*second)
            _core.group_end()
            streams[0].sync()
            streams[1].sync()

        result[name] = best(call, CALLS[name])
    return result


def in_processes() -> dict[str, float]:
    import infinirt
    from infiniccl import _core, init_process_group

    comm = init_process_group(device="cpu")
    stream = comm.device.create_stream()
    result = {}
    for name, size in SIZES.items():
        send, recv = comm.device.allocate(size), comm.device.allocate(size)
        send.fill(0)
        recv.fill(0)
        infinirt.Device("cpu").sync()
        call = (send.ptr, recv.ptr, size // 4, 13, 0, comm.handle, stream.handle)

        def run(call: tuple[int, ...] = call) -> None:
            _core.all_reduce(*call)
            stream.sync()

        result[name] = best(run, CALLS[name])
    return result if comm.rank == 0 else {}


def over_mpi() -> dict[str, float]:
    os.environ["INFINICCL_TRANSPORT"] = "mpi"
    return in_processes()


def mpi() -> dict[str, float]:
    import numpy
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    result = {}
    for name, size in SIZES.items():
        send, recv = numpy.zeros(size // 4, "float32"), numpy.zeros(size // 4, "float32")
        result[name] = best(lambda send=send, recv=recv: world.Allreduce(send, recv), CALLS[name])
    return result if world.rank == 0 else {}


def gloo() -> dict[str, float]:
    import torch
    import torch.distributed

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    result = {}
    for name, size in SIZES.items():
        tensor = torch.zeros(size // 4)
        result[name] = best(lambda tensor=tensor: torch.distributed.all_reduce(tensor), CALLS[name])
    rank = torch.distributed.get_rank()
    torch.distributed.destroy_process_group()
    return result if rank == 0 else {}


# ---- the driver


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def two_processes(role: str) -> str:
    told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
    told |= {"INFINICCL_SIZE": "2", "INFINICCL_NAME": uuid.uuid4().hex, "GLOO_SOCKET_IFNAME": "lo"}
    ranks = [
        subprocess.Popen(
            [sys.executable, __file__, role],
            env={**os.environ, **told, "RANK": str(rank), "INFINICCL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    outputs = [rank.communicate(timeout=300)[0] for rank in ranks]
    return outputs[0]


def launcher() -> str | None:
    beside = Path(sys.executable).parent / "mpiexec"
    return os.environ.get("MPIEXEC") or (str(beside) if beside.exists() else shutil.which("mpiexec"))


def run(role: str) -> dict[str, float]:
    if role == "in_process":
        text = subprocess.run(
            [sys.executable, __file__, role], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
    elif role in ("mpi", "over_mpi"):
        program = os.environ.get("MPI_PYTHON", sys.executable)  # one that has mpi4py
        command = [str(launcher()), "-n", "2", program, __file__, role]
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # in containers
        text = subprocess.run(
            command, capture_output=True, text=True, check=True, env=os.environ | as_root
        ).stdout
    else:
        text = two_processes(role)
    return {
        name: value
        for line in text.splitlines()
        if line.startswith("{")
        for name, value in json.loads(line).items()
    }


def candidates() -> dict[str, str]:
    from importlib.util import find_spec

    found = {"in_process": "infiniccl, one process", "in_processes": "infiniccl, two processes"}
    if launcher() and (find_spec("mpi4py") or "MPI_PYTHON" in os.environ):
        found |= {"over_mpi": "infiniccl over MPI", "mpi": "mpi4py"}
    if find_spec("torch"):
        found["gloo"] = "PyTorch, gloo"
    return found


def reason_of(failed: subprocess.CalledProcessError) -> str:
    """The last error that was written; what started the processes says more behind it, in frames of lines."""
    lines = [line for line in (failed.stderr or "").splitlines() if any(map(str.isalpha, line))]
    errors = [line for line in lines if "Error" in line]
    return [str(failed), *lines[-1:], *errors[-1:]][-1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    chosen = candidates()
    times: dict[str, dict[str, list[float]]] = {role: {name: [] for name in SIZES} for role in chosen}
    for _ in range(rounds):
        for role in [*chosen]:
            try:
                measured = run(role)
            except subprocess.CalledProcessError as failed:
                if role in ("in_process", "in_processes"):
                    raise
                print(f"{chosen.pop(role)} did not run: {reason_of(failed)}")
                continue
            for name, value in measured.items():
                times[role][name].append(value)
    print(f"{'':28}" + "".join(f"{name:>22}" for name in SIZES))
    for role, title in chosen.items():
        cells = []
        for name, size in SIZES.items():
            median = statistics.median(times[role][name])
            cells.append(f"{median * 1e6:10.1f} us {size / median / 1e9:5.2f} GB/s")
        print(f"{title:28}" + "".join(f"{cell:>22}" for cell in cells))


if __name__ == "__main__":
    roles = {each.__name__: each for each in (in_process, in_processes, over_mpi, mpi, gloo)}
    if len(sys.argv) == 2 and sys.argv[1] in roles:
        measured = roles[sys.argv[1]]()
        if measured:
            print(json.dumps(measured))
    else:
        main()
