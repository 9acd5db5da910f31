"""Collective operations among devices: InfiniCCL.

>>> import infiniccl, infinirt
>>> comms = infiniccl.init_all([0, 0])
>>> device = infinirt.Device("cpu")
>>> buffers = [device.allocate(8) for comm in comms]
>>> for comm, buffer in zip(comms, buffers):
...     buffer.fill(comm.rank + 1)
...     comm.all_reduce(buffer, dtype="uint8", op="max")
>>> bytes(buffers[0])[:2]
b'\\x02\\x02'
"""

from __future__ import annotations

from ._groups import Group, group
from .communicator import Communicator, ReduceOp, init_all, init_rank, mpi_id, named_id, unique_id
from .process_group import (
    all_gather_into_tensor,
    all_reduce,
    all_to_all_single,
    barrier,
    broadcast,
    default_communicator,
    destroy_process_group,
    get_rank,
    get_world_size,
    init_process_group,
    recv,
    reduce,
    reduce_scatter_tensor,
    send,
)

__all__ = [
    "Communicator",
    "Group",
    "ReduceOp",
    "all_gather_into_tensor",
    "all_reduce",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "default_communicator",
    "destroy_process_group",
    "get_rank",
    "get_world_size",
    "group",
    "init_all",
    "init_process_group",
    "init_rank",
    "mpi_id",
    "named_id",
    "recv",
    "reduce",
    "reduce_scatter_tensor",
    "send",
    "unique_id",
]
