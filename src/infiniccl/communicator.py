"""Communicators: one rank among several."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import infinirt

from . import _core
from ._groups import in_group, issued
from ._operands import Operand, operand

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Communicator", "ReduceOp", "init_all", "init_rank", "mpi_id", "named_id", "unique_id"]


class ReduceOp(enum.IntEnum):
    """How elements of several ranks become one."""

    SUM = 0
    PROD = 1
    MAX = 2
    MIN = 3
    AVG = 4


def _reduction(op: ReduceOp | str | int) -> int:
    if isinstance(op, str):
        try:
            return ReduceOp[op.upper()].value
        except KeyError:
            names = ", ".join(each.name.lower() for each in ReduceOp)
            raise ValueError(f"op is {op!r}; it must be one of {names}") from None
    return int(op)


class Communicator:
    """One rank among several, on one device.

    All ranks call the same operations in the same order. Operations are work of a stream: of the tensors' own, else of the
    device's default stream, unless `stream` is given (ranks on one device need a stream each, or a group). They return before they are done, except on memory of the host (NumPy
    arrays, CPU tensors of PyTorch's, tensors that share their memory): that is complete when the call returns, or, inside
    `group()`, when the group has ended.

    Memory is a tensor, a `Buffer` (then `dtype` says what is in it; reductions must be told, others move bytes), or an array of the
    host's.

    >>> import infiniccl, infinirt
    >>> comms = infiniccl.init_all([0, 0])
    >>> comms[1]
    Communicator(rank=1, size=2, device='cpu:0')
    """

    __slots__ = ("_device", "_handle", "_in_process", "_own_stream", "_rank", "_size")

    def __init__(self, handle: int, device: infinirt.Device, in_process: bool) -> None:
        """Takes a handle of infiniccl.h; `init_all` is the usual way to get a communicator."""
        self._handle = handle
        self._device = device
        self._in_process = in_process
        # For memory of the host, which is in no stream's order: threads that are ranks do not wait for one another there.
        self._own_stream: infinirt.Stream | None = None
        self._rank = _core.rank(handle)
        self._size = _core.size(handle)

    @property
    def rank(self) -> int:
        """This communicator's number, from 0 on."""
        return self._rank

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self._size

    @property
    def device(self) -> infinirt.Device:
        """The device of this rank."""
        return self._device

    @property
    def handle(self) -> int:
        """The infinicclComm_t, for C functions; 0 once it is closed."""
        return self._handle

    @property
    def timeout(self) -> float:
        """Seconds that an operation waits for other ranks before the communicator fails; 0 is for ever."""
        return _core.timeout(self._open()) / 1000

    @timeout.setter
    def timeout(self, seconds: float) -> None:
        handle = self._open()
        if not 0 <= seconds <= 2_000_000:
            raise ValueError(f"timeout is {seconds}; it must be 0 (none) to 2,000,000 seconds")
        _core.set_timeout(handle, max(int(seconds * 1000), 1 if seconds > 0 else 0))

    @property
    def error(self) -> str | None:
        """Why the communicator has failed; None if it works."""
        status, message = _core.async_error(self._open())
        return message if status else None

    def abort(self) -> None:
        """Ends everything that waits, on all ranks, with an error. Afterwards the communicator can only be closed."""
        _core.abort(self._open())

    def _open(self) -> int:
        """The handle of a communicator that was not closed."""
        if not self._handle:
            raise ValueError("the communicator was closed; make another one")
        return self._handle

    def close(self) -> None:
        """Destroys the communicator; operations that were issued are still done. More than once is no error."""
        handle, self._handle = self._handle, 0
        if handle:
            _core.destroy(handle)

    def __enter__(self) -> Communicator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", 0):
            self.close()

    def __getattr__(self, name: str) -> Any:
        hints = {
            "world_size": "size",
            "get_rank": "rank",
            "get_world_size": "size",
            "allreduce": "all_reduce",
            "allgather": "all_gather",
        }
        hint = f"; it is called {hints[name]} here" if name in hints else ""
        raise AttributeError(f"a Communicator has no attribute {name!r}{hint}", name=name, obj=self)

    def __repr__(self) -> str:
        if not self._handle:
            return f"<closed Communicator of rank {self._rank} of {self._size}>"
        where = f"{self._device.type}:{self._device.ordinal}"
        return f"Communicator(rank={self._rank}, size={self._size}, device={where!r})"

    # ---- operations

    def all_reduce(
        self,
        send: Any,
        recv: Any = None,
        *,
        op: ReduceOp | str | int = ReduceOp.SUM,
        dtype: Any = None,
        stream: infinirt.Stream | None = None,
    ) -> None:
        """`recv` of all ranks becomes the reduction of all `send`; without `recv`, `send` itself.

        >>> import infiniccl, infinirt
        >>> comms = infiniccl.init_all([0, 0])
        >>> device = infinirt.Device("cpu")
        >>> buffers = [device.allocate(4), device.allocate(4)]
        >>> for comm, buffer in zip(comms, buffers):
        ...     buffer.copy_from(bytes([1, 2, 3, 4]))
        ...     comm.all_reduce(buffer, dtype="uint8")
        >>> bytes(buffers[0])
        b'\\x02\\x04\\x06\\x08'
        """
        source, target = _both(send, send if recv is None else recv, dtype, reduces=True)
        _check_sizes(source, target, source.elements, source.elements)
        self._issue(
            stream,
            (source, target),
            _core.all_reduce,
            source.pointer,
            target.pointer,
            source.elements,
            source.dtype,
            _reduction(op),
        )

    def broadcast(
        self,
        send: Any,
        recv: Any = None,
        *,
        root: int = 0,
        dtype: Any = None,
        stream: infinirt.Stream | None = None,
    ) -> None:
        """`recv` of all ranks becomes `send` of rank `root`, which only matters there; without `recv`, `send` itself."""
        source, target = _both(send, send if recv is None else recv, dtype)
        _check_sizes(source, target, source.elements, source.elements)
        self._issue(
            stream,
            (source, target),
            _core.broadcast,
            source.pointer,
            target.pointer,
            target.elements,
            target.dtype,
            root,
        )

    def reduce(
        self,
        send: Any,
        recv: Any = None,
        *,
        root: int = 0,
        op: ReduceOp | str | int = ReduceOp.SUM,
        dtype: Any = None,
        stream: infinirt.Stream | None = None,
    ) -> None:
        """`recv` of rank `root` becomes the reduction of all `send`; without `recv`, `send` of that rank."""
        source, target = _both(send, send if recv is None else recv, dtype, reduces=True)
        _check_sizes(source, target, source.elements, source.elements)
        self._issue(
            stream,
            (source, target),
            _core.reduce,
            source.pointer,
            target.pointer,
            source.elements,
            source.dtype,
            _reduction(op),
            root,
        )

    def all_gather(
        self, send: Any, recv: Any, *, dtype: Any = None, stream: infinirt.Stream | None = None
    ) -> None:
        """`recv` of all ranks becomes all `send`, one behind the other."""
        source, target = _both(send, recv, dtype)
        _check_sizes(source, target, source.elements, self._size * source.elements)
        self._issue(
            stream,
            (source, target),
            _core.all_gather,
            source.pointer,
            target.pointer,
            source.elements,
            source.dtype,
        )

    def all_gather_v(
        self,
        send: Any,
        recv: Any,
        counts: Sequence[int],
        *,
        dtype: Any = None,
        stream: infinirt.Stream | None = None,
    ) -> None:
        """As `all_gather`, with `counts[i]` elements from rank i."""
        source, target = _both(send, recv, dtype)
        self._check_counts(counts)
        _check_sizes(source, target, counts[self._rank], sum(counts))
        self._issue(
            stream, (source, target), _core.all_gather_v, source.pointer, target.pointer, counts, source.dtype
        )

    def reduce_scatter(
        self,
        send: Any,
        recv: Any,
        *,
        op: ReduceOp | str | int = ReduceOp.SUM,
        dtype: Any = None,
        stream: infinirt.Stream | None = None,
    ) -> None:
        """`recv` of rank i becomes the i-th part of the reduction of all `send`."""
        source, target = _both(send, recv, dtype, reduces=True)
        _check_sizes(source, target, self._size * target.elements, target.elements)
        self._issue(
            stream,
            (source, target),
            _core.reduce_scatter,
            source.pointer,
            target.pointer,
            target.elements,
            source.dtype,
            _reduction(op),
        )

    def reduce_scatter_v(
        self,
        send: Any,
        recv: Any,
        counts: Sequence[int],
        *,
        op: ReduceOp | str | int = ReduceOp.SUM,
        dtype: Any = None,
        stream: infinirt.Stream | None = None,
    ) -> None:
        """As `reduce_scatter`, with `counts[i]` elements for rank i."""
        source, target = _both(send, recv, dtype, reduces=True)
        self._check_counts(counts)
        _check_sizes(source, target, sum(counts), counts[self._rank])
        self._issue(
            stream,
            (source, target),
            _core.reduce_scatter_v,
            source.pointer,
            target.pointer,
            counts,
            source.dtype,
            _reduction(op),
        )

    def all_to_all(
        self, send: Any, recv: Any, *, dtype: Any = None, stream: infinirt.Stream | None = None
    ) -> None:
        """Part i of `send` becomes part `rank` of `recv` on rank i."""
        source, target = _both(send, recv, dtype)
        each = source.elements // self._size
        _check_sizes(source, target, each * self._size, each * self._size)
        self._issue(
            stream, (source, target), _core.all_to_all, source.pointer, target.pointer, each, source.dtype
        )

    def gather(
        self,
        send: Any,
        recv: Any = None,
        *,
        root: int = 0,
        dtype: Any = None,
        stream: infinirt.Stream | None = None,
    ) -> None:
        """`recv` of rank `root`, which only matters there, becomes all `send`, one behind the other."""
        source = operand(send, dtype, "send")
        target = None if recv is None or self._rank != root else operand(recv, dtype, "recv")
        if self._rank == root:
            if target is None:
                raise ValueError(f"recv is None on rank {root}, which gathers")
            _check_sizes(source, target, source.elements, self._size * source.elements)
        pointer = target.pointer if target else 0
        self._issue(
            stream,
            (source, target) if target else (source,),
            _core.gather,
            source.pointer,
            pointer,
            source.elements,
            source.dtype,
            root,
        )

    def scatter(
        self,
        send: Any,
        recv: Any,
        *,
        root: int = 0,
        dtype: Any = None,
        stream: infinirt.Stream | None = None,
    ) -> None:
        """`recv` of rank i becomes part i of `send` of rank `root`, which only matters there."""
        target = operand(recv, dtype, "recv")
        source = None if send is None or self._rank != root else operand(send, dtype, "send")
        if self._rank == root:
            if source is None:
                raise ValueError(f"send is None on rank {root}, which scatters")
            _check_sizes(source, target, self._size * target.elements, target.elements)
        pointer = source.pointer if source else 0
        self._issue(
            stream,
            (target, source) if source else (target,),
            _core.scatter,
            pointer,
            target.pointer,
            target.elements,
            target.dtype,
            root,
        )

    def send(self, send: Any, peer: int, *, dtype: Any = None, stream: infinirt.Stream | None = None) -> None:
        """Sends to rank `peer`, which receives. To itself only inside a group that receives it, too, or from a stream to another."""
        source = operand(send, dtype, "send")
        self._check_peer(source, peer, "send", "recv")
        self._issue(stream, (source,), _core.send, source.pointer, source.elements, source.dtype, peer)

    def recv(self, recv: Any, peer: int, *, dtype: Any = None, stream: infinirt.Stream | None = None) -> None:
        """Receives what rank `peer` sends."""
        target = operand(recv, dtype, "recv")
        self._check_peer(target, peer, "recv", "send")
        self._issue(stream, (target,), _core.recv, target.pointer, target.elements, target.dtype, peer)

    def barrier(self, *, stream: infinirt.Stream | None = None) -> None:
        """The stream goes on when the streams of all ranks have got here."""
        _core.barrier(self._open(), (stream or self._device.default_stream).handle)

    # ---- what all of them need

    def _check_peer(self, memory: Operand, peer: int, what: str, counterpart: str) -> None:
        if peer == self._rank and memory.host and not in_group():
            raise ValueError(
                f"{what}(): peer is {peer}, this rank itself, and the call would wait for its own {counterpart}(); put both into one "
                "`with infiniccl.group():`"
            )

    def _stream(self, stream: infinirt.Stream | None, operands: tuple[Operand, ...]) -> infinirt.Stream:
        host = any(each.host for each in operands)
        if host and self._in_process and self._size > 1 and not in_group():
            raise ValueError(
                "memory of the host is complete when the call returns, but this call would have to wait for the "
                "other ranks of this process; issue all ranks inside `with infiniccl.group():`, or use device memory"
            )
        if stream is not None:
            return stream
        usual = next((each.stream for each in operands if each.stream is not None), None)
        if usual is not None:
            return usual
        if not host:
            return self._device.default_stream
        if self._own_stream is None:
            self._own_stream = self._device.create_stream()
        return self._own_stream

    def _issue(
        self,
        stream: infinirt.Stream | None,
        operands: tuple[Operand, ...],
        function: Callable[..., None],
        *arguments: object,
    ) -> None:
        """Calls the function on the stream, now or whenever a recording is replayed."""
        handle = self._open()
        on = self._stream(stream, operands)
        call: Callable[[int], None] = partial(function, *arguments, handle)
        recording = next(
            (each.place for each in operands if each.place is not None and each.place.is_recording), None
        )
        if recording is None:
            call(on.handle)
            issued(on, operands)
            return
        if in_group():
            raise ValueError(
                "a group cannot be recorded by infinicore; capture it, or record its calls one by one"
            )

        def replay(on: infinirt.Stream) -> None:
            call(on.handle)
            issued(on, operands)

        recording.expect_others()
        recording.record_call(replay)

    def _check_counts(self, counts: Sequence[int]) -> None:
        if len(counts) != self._size:
            raise ValueError(f"counts has {len(counts)} entries; there are {self._size} ranks")


def _both(send: Any, recv: Any, dtype: Any, *, reduces: bool = False) -> tuple[Operand, Operand]:
    if isinstance(recv, int):
        raise TypeError(f"recv is {recv}, a number; a rank is given by name: root={recv}")
    source = operand(send, dtype, "send", reduces=reduces)
    return source, source if recv is send else operand(recv, dtype, "recv", reduces=reduces)


def _check_sizes(send: Operand, recv: Operand, send_count: int, recv_count: int) -> None:
    if send.dtype != recv.dtype:
        raise TypeError("send and recv have elements of different types")
    for name, each, expected in (("send", send, send_count), ("recv", recv, recv_count)):
        if each.elements != expected:
            raise ValueError(f"{name} has {each.elements} elements; {expected} were expected")


def init_all(devices: Sequence[infinirt.Device | str | int] | int | None = None) -> list[Communicator]:
    """Communicators for devices of this process: the i-th is rank i. Without an argument, for all devices of the current type.

    Devices are given as objects, names ("cpu:1") or numbers of the current type, or as how many from the first on; on the
    CPU one may be given more than once, and so may those of types that have no collectives of their own: their operations
    go through page-locked memory of the host.

    >>> import infiniccl
    >>> [comm.rank for comm in infiniccl.init_all([0, 0, 0])]
    [0, 1, 2]
    """
    if devices is None:
        devices = infinirt.devices(infinirt.Device().type)
    elif isinstance(devices, int):
        devices = range(devices)
    places = [each if isinstance(each, infinirt.Device) else infinirt.Device(each) for each in devices]
    types = sorted({each.type for each in places})
    if len(types) != 1:
        raise ValueError(
            f"devices must be one or more, of one type; they are of: {', '.join(types) or 'none'}"
        )
    handles = _core.init_all(types[0], [each.ordinal for each in places])
    return [Communicator(handle, place, True) for handle, place in zip(handles, places, strict=True)]


def unique_id(device: infinirt.Device | str | None = None) -> bytes:
    """A new id for `init_rank`, to be sent to the other processes. This process must live until all ranks have joined.

    Device types with collectives of their own have ids of their vendor's: `device` is one of their type, else the current
    device is. All types can join by `named_id` and `mpi_id`, also beside ranks of other types.
    """
    place = device if isinstance(device, infinirt.Device) else infinirt.Device(device)
    return _core.unique_id(place.type, place.ordinal)


def named_id(name: str) -> bytes:
    """The id that all processes of this machine get for the same name, with no message between them."""
    return _core.named_id(name)


def mpi_id() -> bytes:
    """The id of all processes that MPI's launcher started, on any number of machines; needs `pip install mpich`."""
    return _core.mpi_id()


def init_rank(size: int, id: bytes, rank: int, device: infinirt.Device | str | None = None) -> Communicator:
    """Joins as `rank` of `size`, from any process of this machine; returns when all ranks have joined.

    >>> import infiniccl
    >>> infiniccl.init_rank(1, infiniccl.unique_id(), 0, "cpu")
    Communicator(rank=0, size=1, device='cpu:0')
    """
    place = device if isinstance(device, infinirt.Device) else infinirt.Device(device)
    given: object = id
    if isinstance(given, str):
        raise TypeError(
            f"id is the string {given!r}; named_id({given!r}) makes the id that all processes of this machine get for it"
        )
    return Communicator(_core.init_rank(place.type, place.ordinal, size, id, rank), place, False)
