"""One communicator for the whole program, and functions named as in torch.distributed.

Whatever started the processes has told each its rank: `infinirt run`, `torchrun`, `paddle.distributed.launch`, an MPI launcher,
or a few lines of shell.

>>> import infiniccl, numpy
>>> comm = infiniccl.init_process_group(rank=0, size=1, name="only this one", device="cpu")
>>> array = numpy.ones(3)
>>> infiniccl.all_reduce(array)
>>> infiniccl.get_rank(), infiniccl.get_world_size()
(0, 1)
>>> infiniccl.destroy_process_group()
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import infinirt

from . import _core
from .communicator import Communicator, ReduceOp, init_rank, mpi_id, named_id, unique_id

__all__ = [
    "all_gather_into_tensor",
    "all_reduce",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "default_communicator",
    "destroy_process_group",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "recv",
    "reduce",
    "reduce_scatter_tensor",
    "send",
]


class _Launcher(NamedTuple):
    """The variables in which a launcher tells a process who it is."""

    rank: str
    size: str
    name: tuple[str, ...]


_LAUNCHERS = (
    _Launcher("INFINICCL_RANK", "INFINICCL_SIZE", ("INFINICCL_NAME",)),  # infinirt run
    _Launcher("RANK", "WORLD_SIZE", ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT")),  # torchrun
    _Launcher("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", ("PADDLE_MASTER", "MASTER_PORT")),
    _Launcher("PMI_RANK", "PMI_SIZE", ("PMI_ID", "HYDI_CONTROL_FD", "PMI_PORT")),  # MPICH
    _Launcher("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid")),
)

_default: Communicator | None = None


def _from_environment(environment: Mapping[str, str]) -> tuple[int, int, str]:
    for launcher in _LAUNCHERS:
        if launcher.rank in environment and launcher.size in environment:
            told = [environment[name] for name in launcher.name if name in environment]
            return (
                int(environment[launcher.rank]),
                int(environment[launcher.size]),
                "-".join([launcher.size, environment[launcher.size], *told])[:76],
            )
    names = ", ".join(f"{each.rank} and {each.size}" for each in _LAUNCHERS)
    raise ValueError(
        f"nothing says which rank this process is: start it with `infinirt run`, or give rank and size; looked for {names}"
    )


def init_process_group(
    *wrong: object,
    rank: int | None = None,
    size: int | None = None,
    name: str | None = None,
    device: infinirt.Device | str | None = None,
    transport: str | None = None,
) -> Communicator:
    """Makes the program's communicator. Rank, size and a name come from the launcher's environment unless they are given.

    All processes give the same name; it stands for this communicator until all ranks have joined. `transport` is "shared"
    (memory of one machine) or "mpi", for processes that MPI's launcher has started, on any number of machines; by default what
    `infinirt run` has chosen. Device types with collectives of their own use these, all ranks the same; the ranks of others may
    be of any such types, CPUs among them.
    """
    if wrong:
        raise TypeError(
            f"init_process_group() takes no argument by position, such as {wrong[0]!r}: collectives go by the device's type (device=), and"
            ' what carries them is chosen by transport="shared" or "mpi"'
        )
    transport = transport or os.environ.get("INFINICCL_TRANSPORT", "shared")
    if transport not in ("shared", "mpi"):
        raise ValueError(f"transport is {transport!r}; it must be 'shared' (memory) or 'mpi'")
    global _default
    if _default is not None:
        raise RuntimeError("there is a process group already; destroy_process_group() ends it")
    if rank is None or size is None or name is None:
        told_rank, told_size, told_name = (
            _from_environment(os.environ) if rank is None or size is None else (rank, size, "process group")
        )
        rank = told_rank if rank is None else rank
        size = told_size if size is None else size
        name = told_name if name is None else name
    place = device if isinstance(device, infinirt.Device) else infinirt.Device(device)
    id = mpi_id() if transport == "mpi" else named_id(name)
    if _core.has_own_collectives(place.type):
        id = _vendor_id(size, id, rank, place)
    _default = init_rank(size, id, rank, place)
    return _default


def _vendor_id(size: int, id: bytes, rank: int, device: infinirt.Device) -> bytes:
    """The id that rank 0's vendor made, brought to all ranks by a communicator of their hosts."""
    with init_rank(size, id, rank, "cpu") as hosts:
        buffer = hosts.device.allocate(len(id))
        if rank == 0:
            buffer.copy_from(unique_id(device))
        hosts.broadcast(buffer)
        hosts.device.sync()
        return bytes(buffer)


def default_communicator() -> Communicator:
    """The communicator that `init_process_group` made."""
    if _default is None:
        raise RuntimeError("there is no process group; init_process_group() makes one")
    return _default


def destroy_process_group() -> None:
    """Destroys the communicator; operations that were issued are still done. Without one nothing happens."""
    global _default
    comm, _default = _default, None
    if comm is not None:
        comm.close()


def get_rank() -> int:
    """This process's number, from 0 on."""
    return default_communicator().rank


def get_world_size() -> int:
    """How many processes there are."""
    return default_communicator().size


def all_reduce(tensor: Any, op: ReduceOp | str | int = ReduceOp.SUM) -> None:
    """`tensor` becomes the reduction of those of all ranks."""
    default_communicator().all_reduce(tensor, op=op)


def reduce(tensor: Any, dst: int = 0, op: ReduceOp | str | int = ReduceOp.SUM) -> None:
    """`tensor` of rank `dst` becomes the reduction of those of all ranks."""
    default_communicator().reduce(tensor, root=dst, op=op)


def broadcast(tensor: Any, src: int = 0) -> None:
    """`tensor` becomes that of rank `src`."""
    default_communicator().broadcast(tensor, root=src)


def all_gather_into_tensor(output: Any, input: Any) -> None:
    """`output` becomes the inputs of all ranks, one behind the other."""
    default_communicator().all_gather(input, output)


def reduce_scatter_tensor(output: Any, input: Any, op: ReduceOp | str | int = ReduceOp.SUM) -> None:
    """`output` of rank i becomes part i of the reduction of all inputs."""
    default_communicator().reduce_scatter(input, output, op=op)


def all_to_all_single(output: Any, input: Any) -> None:
    """Part i of `input` becomes part `rank` of the output of rank i."""
    default_communicator().all_to_all(input, output)


def send(tensor: Any, dst: int) -> None:
    """Sends to rank `dst`, which receives."""
    default_communicator().send(tensor, dst)


def recv(tensor: Any, src: int) -> None:
    """Receives what rank `src` sends."""
    default_communicator().recv(tensor, src)


def barrier() -> None:
    """Waits until all ranks are here."""
    comm = default_communicator()
    stream = comm.device.create_stream()
    comm.barrier(stream=stream)
    stream.sync()
