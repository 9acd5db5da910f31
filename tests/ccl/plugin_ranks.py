"""Ranks on devices of a plugin that has collectives of its own; what they do is named by the first argument. Run by
test_plugin_collectives.py, with the plugin in INFINIRT_PLUGIN_PATH."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collective_support import (
    OPERATIONS,
    REDUCING,
    REDUCTIONS,
    agree,
    allocate,
    expected,
    issue,
    numpy_dtype,
    on_device,
    random_array,
    read,
    send_count,
    varied_counts,
)

import infiniccl
import infinirt
from infiniccl import Communicator

Job = tuple[Communicator, infinirt.Stream]


def check(ranks: list[Job], operation: str, count: int, dtype: str, op: str) -> None:
    """The threads' own ranks all at once, or those of this thread; equal to NumPy's answer."""
    rng = np.random.default_rng(count)
    size = len(ranks)
    root = size // 2
    counts = varied_counts(count, size) if operation.endswith("_v") else [count] * size
    sends = [random_array(rng, send_count(operation, count, counts, r), dtype) for r in range(size)]
    answers = expected(operation, sends, op, root, counts)
    kind = numpy_dtype(dtype)
    given, got = [], []
    for rank, (comm, stream) in enumerate(ranks):
        given.append(on_device(sends[rank], comm.device, stream))
        elements = (
            count if operation == "reduce" else count * size if operation == "gather" else answers[rank].size
        )
        got.append(allocate(comm.device, elements * kind.itemsize))
    with infiniccl.group():
        for rank, (comm, stream) in enumerate(ranks):
            options: dict[str, Any] = {
                "op": op,
                "root": root,
                "counts": counts,
                "dtype": dtype,
                "stream": stream,
            }
            issue(comm, operation, given[rank], got[rank], **options)
    for rank, (_, stream) in enumerate(ranks):
        stream.sync()
        if operation not in ("reduce", "gather") or rank == root:
            assert agree(read(got[rank], kind), answers[rank]), (
                f"{operation} of {count} {dtype}, {op}, rank {rank}"
            )


def wait_until_all_left() -> None:
    """The plugin's communicators go soon, on a thread of their own; the plugin notes it where it was told to."""
    if "TOY_LOG" not in os.environ:
        return
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        said = Path(os.environ["TOY_LOG"]).read_text().splitlines()
        if said.count("left") == sum(line.startswith("joined") for line in said):
            return
        time.sleep(0.01)


def matrix() -> None:
    for size in (1, 2, 3):
        comms = infiniccl.init_all([f"toy:{rank % 2}" for rank in range(size)])
        ranks = [(comm, comm.device.create_stream()) for comm in comms]
        for operation in OPERATIONS:
            for count in (0, 1, 7, 1000, 70_001):
                check(ranks, operation, count, "float32", "sum")
            for dtype in ("int8", "int64", "uint16", "float64"):
                for op in REDUCTIONS if operation in REDUCING else ("sum",):
                    check(ranks, operation, 100, dtype, op)
            if operation not in REDUCING:
                check(ranks, operation, 100, "bfloat16", "sum")
                check(ranks, operation, 100, "float8_e4m3fn", "sum")
        for comm in comms:
            comm.close()
    wait_until_all_left()
    print("agrees")


def threads() -> None:
    """Every rank joins on a thread of its own, as processes would."""
    size = 3
    id = infiniccl.unique_id("toy:1")
    failures: list[BaseException] = []

    def work(rank: int) -> None:
        try:
            comm = infiniccl.init_rank(size, id, rank, f"toy:{rank}")
            stream = comm.device.create_stream()
            for step in range(20):
                buffer = on_device(np.full(500, rank + step, np.int32), comm.device, stream)
                comm.all_reduce(buffer, dtype="int32", op="sum", stream=stream)
                stream.sync()
                assert set(read(buffer, np.dtype(np.int32))) == {3 + size * step}
                comm.barrier(stream=stream)
                given = on_device(np.full(9, rank, np.int32), comm.device, stream)
                got = on_device(np.full(9, -1, np.int32), comm.device, stream)
                with infiniccl.group():
                    comm.send(given, (rank + 1) % size, dtype="int32", stream=stream)
                    comm.recv(got, (rank - 1) % size, dtype="int32", stream=stream)
                stream.sync()
                assert set(read(got, np.dtype(np.int32))) == {(rank - 1) % size}
            # Its own thread's alone: a global capture would bar the other ranks from waiting meanwhile.
            capture = infinirt.capture(stream, mode="thread_local")
            with pytest.raises(infinirt.InfiniRTError, match="cannot be captured"), capture:
                comm.barrier(stream=stream)
            if rank == 0:  # the others do not come
                comm.timeout = 0.3
                comm.barrier(stream=stream)
                with pytest.raises(infinirt.InfiniRTError, match="s inside the plugin of device type 'toy'"):
                    stream.sync()
        except BaseException as error:
            failures.append(error)

    members = [threading.Thread(target=work, args=(rank,)) for rank in range(size)]
    for member in members:
        member.start()
    for member in members:
        member.join(60)
        assert not member.is_alive(), failures
    assert not failures, failures
    print("agrees")


def refusals() -> None:
    """What the plugin, or the type, does not have, and what the plugin says when it fails."""
    stream = infinirt.Device("toy:0").create_stream()
    comm = infiniccl.init_all(["toy:0"])[0]
    buffer = comm.device.allocate(64)
    calls: list[Callable[[], object]] = [
        lambda: comm.all_reduce(np.ones(4), stream=stream),
        lambda: comm.all_reduce(infinirt.Device("cpu").allocate(4), dtype="uint8", stream=stream),
        lambda: comm.all_reduce(buffer, dtype="float8", stream=stream),
        lambda: infiniccl.init_all(["toy:0", "cpu:0"]),
        lambda: infiniccl.init_all(["toy:7"]),
    ]
    for call in calls:
        try:
            call()
        except (infinirt.InfiniRTError, ValueError) as error:
            print(error)
    comm.all_reduce(buffer, dtype="float16", stream=stream)  # the plugin knows only when it is called
    try:
        stream.sync()
    except infinirt.InfiniRTError as error:
        print(error)
    print(comm.error)


def alone() -> None:
    """As a launcher would start it: the plugin's id comes through a communicator of the hosts."""
    comm = infiniccl.init_process_group(rank=0, size=1, name=f"plugin {os.getpid()}", device="toy:1")
    stream = comm.device.create_stream()
    buffer = on_device(np.arange(5, dtype=np.int32), comm.device, stream)
    comm.all_reduce(buffer, dtype="int32", stream=stream)
    stream.sync()
    assert read(buffer, np.dtype(np.int32)).tolist() == [0, 1, 2, 3, 4]
    library = ctypes.CDLL(str(Path(infinirt.__file__).parent / "lib" / "libinfiniccl.so.1"))
    handle = ctypes.c_void_p(comm.handle)
    name, number, device = ctypes.c_char_p(), ctypes.c_int(-1), ctypes.c_int(-1)
    assert library.infinicclCommGetDeviceType(handle, ctypes.byref(name)) == 0
    assert library.infinicclCommGetDevice(handle, ctypes.byref(number), ctypes.byref(device)) == 0
    print(comm, name.value, number.value, device.value)


if __name__ == "__main__":
    {each.__name__: each for each in (matrix, threads, refusals, alone)}[sys.argv[1]]()
