"""How a process with runtimes ends, and what its forked children find."""

from __future__ import annotations

import sys
from textwrap import dedent

import pytest

import infinicore
from installed import output_of


def run(code: str, **environment: str) -> str:
    return output_of(
        sys.executable, "-c", dedent(code), INFINIRT_DEVICE="cpu", INFINIRT_CPU_MIN="1", **environment
    )


def test_parts_close_in_order_and_all_of_them_whatever_fails() -> None:
    runtime = infinicore.Runtime("cpu")
    order: list[str] = []

    def failing(what: str, close: object) -> object:
        def call() -> None:
            order.append(what)
            close()  # type: ignore[operator]
            raise OSError(f"{what} is broken")

        return call

    runtime._parts = [(what, failing(what, close)) for what, close in runtime._parts]  # type: ignore[misc]
    with pytest.raises(infinicore.CloseError, match="operator handle: operator handle is broken") as caught:
        runtime.close()
    assert order == ["device memory allocator", "operator handle", "stream"]
    assert [what for what, _ in caught.value.failures] == order
    assert runtime.is_closed


def test_a_context_closes_every_runtime() -> None:
    context = infinicore.Context()
    first, second = context.runtime("cpu"), infinicore.Runtime("cpu")
    context._runtimes[infinicore.device("cpu:1")] = second

    def broken() -> None:
        raise OSError("broken")

    second._parts.append(("part", broken))
    with pytest.raises(infinicore.CloseError, match="part of cpu:0: broken"):
        context.close()
    assert first.is_closed
    assert second.is_closed
    assert context.runtimes() == []


def test_the_process_ends_well_with_everything_in_use() -> None:
    said = run(
        """
        import threading, infinicore
        infinicore.set_device("cpu")
        kept = [infinicore.allocate_memory(1 << 20) for _ in range(8)]
        infinicore.start_graph_recording()
        pinned = infinicore.allocate_memory(4096)
        runtime = infinicore.get_runtime()
        for memory in kept:
            runtime.add_graph_operator(lambda memory=memory: runtime.set_device_memory_async(memory, 1, 1 << 20))
        graph = infinicore.stop_graph_recording()
        graph.run()
        infinicore.start_graph_recording()   # never ended
        event = infinicore.DeviceEvent()
        event.record()
        print("end")
        """
    )
    assert said.split() == ["end"]


def test_failures_at_the_end_are_reported_each() -> None:
    said = run(
        """
        import infinicore
        def broken():
            raise OSError("broken")
        for name in ("cpu", "cpu-min"):
            infinicore.get_runtime(name)._parts.append(("part", broken))
        """
    )
    assert "closing the part of cpu:0 failed: broken" in said
    assert "closing the part of cpu-min:0 failed: broken" in said


def test_a_forked_child_works_on_the_cpu_and_is_told_about_others() -> None:
    said = run(
        """
        import os, sys, threading, infinicore
        infinicore.set_device("cpu")
        other = infinicore.get_runtime("cpu-min")
        runtime = infinicore.get_runtime()
        memory = runtime.allocate_memory(64)
        runtime.set_device_memory(memory, 3, 64)
        infinicore.get_context()._lock.acquire()    # as a thread of the parent might, when it forks
        child = os.fork()
        if child == 0:
            runtime.set_device_memory(memory, 5, 64)
            out = bytearray(1)
            runtime.memcpy_d2h(out, memory, 1)
            print("child", out[0], infinicore.get_runtime("cpu") is runtime)
            try:
                other.allocate_memory(1)
            except RuntimeError as error:
                print("told:", "forked" in str(error) and "spawn" in str(error))
            sys.stdout.flush()
            sys.exit(0)
        infinicore.get_context()._lock.release()
        _, status = os.waitpid(child, 0)
        runtime.memcpy_d2h(out := bytearray(1), memory, 1)
        print("parent", out[0], status, other.allocate_memory(1).size())
        """
    )
    assert "child 5 True\n" in said
    assert "told: True\n" in said
    assert "parent 3 0 1\n" in said
