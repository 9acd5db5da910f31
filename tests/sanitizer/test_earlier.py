"""Memory, streams and graphs that were there before the checker looked: fixtures of tests have many."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable

from infinirt import runtime as rt
from infinirt.sanitizer.observer import Sanitizer

SIZE = 4096
TO_HOST, WITHIN, DEFAULT = 2, 3, 4  # infinirtMemcpyKind


def findings_of(program: Callable[[], None]) -> list[str]:
    sanitizer = Sanitizer()
    sanitizer.start()
    try:
        program()
    finally:
        gc.collect()
        sanitizer.stop()
    assert not sanitizer.problems
    return [finding.kind for finding in sanitizer.findings]


def two_streams() -> list[int]:
    return [rt.infinirtStreamCreateWithFlags(1)[1] for _ in range(2)]


def test_a_copy_to_page_locked_memory_from_before_is_not_waited_for() -> None:
    pinned = rt.infinirtMallocHost(SIZE)[1]

    def program() -> None:
        one, other = two_streams()
        data = rt.infinirtMalloc(SIZE)[1]
        rt.infinirtMemsetAsync(data, 1, SIZE, one)
        rt.infinirtMemcpyAsync(pinned, data, SIZE, TO_HOST, one)
        rt.infinirtMemsetAsync(data, 2, SIZE, other)
        rt.infinirtDeviceSynchronize()
        rt.infinirtFree(data)

    assert set(findings_of(program)) == {"race"}
    rt.infinirtFreeHost(pinned)


def test_copies_that_are_waited_for_are_known_to_be() -> None:
    """Where it cannot be known whether the host waits, it is taken to have waited."""
    pinned, there = rt.infinirtMallocHost(SIZE)[1], rt.infinirtMalloc(SIZE)[1]
    own = bytearray(SIZE)

    def program() -> None:
        one, other = two_streams()
        data, more = rt.infinirtMalloc(SIZE)[1], rt.infinirtMallocHost(SIZE)[1]
        rt.infinirtMemsetAsync(data, 1, SIZE, one)
        rt.infinirtMemcpyAsync(more, pinned, SIZE, DEFAULT, one)  # from the host to the host
        rt.infinirtMemsetAsync(data, 2, SIZE, other)
        rt.infinirtMemset(pinned, 3, SIZE)
        rt.infinirtMemcpyAsync(address_of(own), data, SIZE, TO_HOST, other)
        rt.infinirtMemsetAsync(data, 4, SIZE, one)
        rt.infinirtStreamSynchronize(one)
        rt.infinirtMemset(data, 5, SIZE)
        rt.infinirtMemcpy(pinned, data, SIZE, WITHIN)  # whatever kind it is said to be
        rt.infinirtMemsetAsync(data, 6, SIZE, one)
        rt.infinirtMemcpyAsync(there, data, SIZE, WITHIN, one)
        rt.infinirtFreeHost(more)
        rt.infinirtStreamSynchronize(one)
        rt.infinirtFree(data)

    assert findings_of(program) == []
    rt.infinirtFreeHost(pinned)
    rt.infinirtFree(there)


def address_of(memory: bytearray) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def test_a_graph_from_before_may_write_anything() -> None:
    stream = rt.infinirtStreamCreateWithFlags(1)[1]
    data = rt.infinirtMalloc(SIZE)[1]
    graph = rt.infinirtGraphCreate(0)[1]
    parameters = rt.infinirtMemsetParams()
    parameters.dst, parameters.elementSize, parameters.width, parameters.height = data, 1, SIZE, 1
    rt.infinirtGraphAddMemsetNode(graph, [], 0, parameters)
    executable = rt.infinirtGraphInstantiate(graph, 0)[1]

    def program() -> None:
        fresh, copy = (rt.infinirtMalloc(SIZE)[1] for _ in range(2))
        rt.infinirtGraphLaunch(executable, stream)
        rt.infinirtMemcpyAsync(copy, fresh, SIZE, WITHIN, stream)
        again = rt.infinirtGraphInstantiate(graph, 0)[1]
        rt.infinirtGraphLaunch(again, stream)
        rt.infinirtStreamSynchronize(stream)
        rt.infinirtFree(fresh)
        rt.infinirtFree(copy)

    assert findings_of(program) == []
    rt.infinirtFree(data)


def test_the_cost_of_a_call_does_not_grow_with_streams_that_are_gone() -> None:
    sanitizer = Sanitizer()
    sanitizer.start()
    data = rt.infinirtMalloc(SIZE)[1]
    for value in range(200):
        stream = rt.infinirtStreamCreateWithFlags(1)[1]
        rt.infinirtMemsetAsync(data, value % 256, SIZE, stream)
        rt.infinirtStreamSynchronize(stream)
        rt.infinirtStreamDestroy(stream)
    rt.infinirtFree(data)
    sanitizer.stop()
    assert not sanitizer.findings
    assert len(sanitizer._checker.streams) < 50
    assert len(sanitizer._checker.host.clock) < 50
