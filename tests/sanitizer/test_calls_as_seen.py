"""Calls in orders, and of functions, that a program would not show every time: told to the checker one by one."""

from __future__ import annotations

import ctypes

from infinirt.sanitizer.calls import Call, Calls
from infinirt.sanitizer.checker import Checker

STREAM, CACHE, BLOCK, OTHER = 100, 200, 0x1000, 0x2000
CPU = ("cpu", 0)


class Seen:
    def __init__(self) -> None:
        self.checker = Checker()
        self._calls = Calls(self.checker, lambda *_: None, lambda *_: "")

    def __call__(
        self, function: str, *, thread: int = 1, created: int = 0, result: int = 0, **arguments: int
    ) -> None:
        stack = (f"program.py:{len(self.checker.findings)} in work",)
        self._calls.take(Call("infinirt" + function, arguments, result, created, CPU, thread, stack))

    @property
    def found(self) -> list[str]:
        return [finding.kind for finding in self.checker.findings]


def test_a_free_that_is_seen_after_the_block_is_another_threads() -> None:
    seen = Seen()
    seen("XCacheAllocate", created=BLOCK, size=256, cache=CACHE, stream=STREAM)
    seen("XCacheAllocate", thread=2, created=BLOCK, size=256, cache=CACHE, stream=STREAM)
    seen("XCacheFree", ptr=BLOCK, cache=CACHE, stream=STREAM)
    seen("MemsetAsync", thread=2, devPtr=BLOCK, value=0, count=256, stream=STREAM)
    seen("XCacheFree", thread=2, ptr=BLOCK, cache=CACHE, stream=STREAM)
    seen.checker.end()
    assert seen.found == []
    seen("XCacheFree", thread=2, ptr=BLOCK, cache=CACHE, stream=STREAM)
    assert seen.found == ["double free"]


def test_a_batch_of_boxes_may_write_anything_and_is_taken_to_be_waited_for() -> None:
    seen = Seen()
    seen("Malloc", created=BLOCK, size=256)
    seen("Malloc", created=OTHER, size=256)
    seen("Memcpy3DBatchAsync", numOps=1, opList=0, failIdx=0, flags=0, stream=STREAM)
    seen("MemcpyAsync", dst=OTHER, src=BLOCK, count=256, kind=3, stream=STREAM)
    assert seen.found == []


def test_a_refused_copy_may_have_waited() -> None:
    """It tells of work that failed before it."""
    seen = Seen()
    seen("Malloc", created=BLOCK, size=256)
    seen("MallocHost", created=OTHER, size=256)
    seen("MemsetAsync", devPtr=BLOCK, value=0, count=256, stream=STREAM)
    seen("Memcpy", dst=OTHER, src=BLOCK, count=256, kind=2, result=719)
    seen("MemsetAsync", devPtr=BLOCK, value=0, count=256, stream=STREAM + 1)
    assert seen.found == []


def test_nodes_that_several_threads_captured_are_not_told_apart() -> None:
    seen = Seen()
    for address in (BLOCK, OTHER):
        seen("Malloc", created=address, size=256)
    seen("StreamBeginCapture", stream=STREAM, mode=2)
    for thread in (1, 2):
        seen("MemsetAsync", thread=thread, devPtr=BLOCK, value=0, count=256, stream=STREAM)
    graph, count = ctypes.c_uint64(300), ctypes.c_uint64(2)
    nodes = (ctypes.c_uint64 * 2)(301, 302)
    seen("StreamEndCapture", stream=STREAM, pGraph=ctypes.addressof(graph))
    seen("GraphGetNodes", graph=300, nodes=ctypes.addressof(nodes), numNodes=ctypes.addressof(count))
    seen("GraphInstantiate", created=400, graph=300, flags=0)
    seen("GraphExecMemcpyNodeSetParams1D", hGraphExec=400, node=301, dst=OTHER, src=OTHER, count=1, kind=3)
    seen("Free", devPtr=BLOCK)
    seen("GraphLaunch", graphExec=400, stream=STREAM)
    assert seen.found == []
