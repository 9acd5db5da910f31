"""Snapshots: what they show is what is there, and the page carries all of it."""

from __future__ import annotations

import gc
import json
import re
import threading
import weakref
from pathlib import Path

import pytest

import infinicore
from infinicore.memory import record_history, save_html, snapshot
from infinirt import caching

MIB = 1 << 20


@pytest.fixture
def allocator() -> infinicore.PinnableBlockAllocator:
    return infinicore.PinnableBlockAllocator("cpu")


def data_of(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data = json.loads(found.group(1))
    assert isinstance(data, dict)
    return data


def ask_for_memory(allocator: infinicore.PinnableBlockAllocator, size: int) -> infinicore.Memory:
    return allocator.allocate(size)


def test_a_snapshot_shows_every_block(allocator: infinicore.PinnableBlockAllocator) -> None:
    device = allocator.pool.device
    first, second = device.create_stream(), device.create_stream()
    used = [allocator.allocate(size, first) for size in (3 * MIB, 700, 100_000)]
    freed = allocator.allocate(5 * MIB, first)
    with allocator.pin() as reserve:
        pinned = allocator.allocate(MIB, first)
    pending = allocator.allocate(2 * MIB, first)
    gate = threading.Event()
    second.launch_host_func(gate.wait, 30)
    pending.buffer.fill(1, stream=second)
    address = {"free": freed.data(), "pending": pending.data(), "pinned": pinned.data()}
    del freed, pending
    shot = snapshot(allocator)
    blocks = {block.address: block for block in shot.blocks()}
    assert shot.device == "cpu:0"
    assert shot.statistics["reserved"] == sum(segment.size for segment in shot.segments)
    for memory in used:
        block = blocks[memory.data()]
        assert (block.state, block.requested, block.stream) == ("used", memory.size(), first.handle)
        assert block.stack == ()
    assert {b.state for b in shot.blocks() if b.address == address["pending"]} == {"pending"}
    assert blocks[address["pinned"]].is_reserved
    assert len(shot.blocks("used")) == 4
    for segment in shot.segments:
        end = segment.address
        for block in segment.blocks:
            assert block.address >= end
            end = block.address + block.size
        assert end <= segment.address + segment.size
    covering = [b for b in shot.blocks("free") if b.address <= address["free"] < b.address + b.size]
    assert len(covering) == 1
    gate.set()
    device.sync()
    reserve.close()


def test_history_says_who_asked(allocator: infinicore.PinnableBlockAllocator) -> None:
    early = allocator.allocate(100)
    record_history(source=allocator)
    mine = ask_for_memory(allocator, 5000)
    again = ask_for_memory(allocator, 5000)
    address = again.data()
    del again
    again = allocator.pool.allocate(5000)  # the same block, asked for by somebody else
    assert again.ptr == address
    shot = snapshot(allocator)
    blocks = {block.address: block for block in shot.blocks("used")}
    assert "ask_for_memory" in blocks[mine.data()].stack[0]
    assert __file__ in blocks[mine.data()].stack[0]
    assert "test_history_says_who_asked" in blocks[address].stack[0]
    assert blocks[early.data()].stack == ()
    assert [event.kind for event in shot.events] == ["allocate", "allocate", "free", "allocate"]
    assert len(snapshot(allocator).events) == 4
    record_history(False, allocator)
    ask_for_memory(allocator, 1)
    assert snapshot(allocator).events == ()
    record_history(source=allocator, stacks=False)
    ask_for_memory(allocator, 1)
    assert [event.stack for event in snapshot(allocator).events] == [(), ()]
    record_history(False, allocator)


def test_history_tells_threads_apart(allocator: infinicore.PinnableBlockAllocator) -> None:
    record_history(source=allocator)
    stop = threading.Event()

    def first(size: int) -> None:
        allocator.allocate(size)

    def second(size: int) -> None:
        allocator.allocate(size)

    calls = {5000: 0, 5001: 0}

    def work(function: object, size: int) -> None:
        while not stop.is_set():
            function(size)  # type: ignore[operator]
            calls[size] += 1

    # On one stream, so that they take turns at the same addresses.
    threads = [threading.Thread(target=work, args=args) for args in ((first, 5000), (second, 5001))]
    for thread in threads:
        thread.start()
    while min(calls.values()) < 50:
        snapshot(allocator)
    stop.set()
    for thread in threads:
        thread.join()
    shot = snapshot(allocator)
    record_history(False, allocator)
    told = [event for event in shot.events if event.kind == "allocate" and event.stack]
    assert len(told) > 20
    for event in told:
        assert event.stack[0].endswith(" first" if event.size == 5000 else " second")


def test_recorded_allocators_are_let_go_of(allocator: infinicore.PinnableBlockAllocator) -> None:
    del allocator
    other = infinicore.PinnableBlockAllocator("cpu")
    record_history(source=other)
    ask_for_memory(other, 100)
    gone = weakref.ref(other)
    observers = len(caching._observers)
    del other
    gc.collect()
    assert gone() is None
    assert len(caching._observers) == observers - 1
    closed = infinicore.PinnableBlockAllocator("cpu")
    record_history(source=closed)
    closed.close()
    record_history(False, closed)


def test_the_page_carries_the_data_and_needs_nothing_else(
    allocator: infinicore.PinnableBlockAllocator, tmp_path: Path
) -> None:
    record_history(source=allocator)
    kept = [ask_for_memory(allocator, size) for size in (MIB, 2 * MIB, 300)]
    exec(compile("kept.append(allocator.allocate(64))", "</script><b>.py", "exec"))
    del kept[1]
    path = tmp_path / "memory.html"
    save_html(path, allocator)
    page = path.read_text(encoding="utf-8")
    data = data_of(page)
    assert data == json.loads(json.dumps(snapshot(allocator).to_dict()))
    assert len(data["events"]) == 5  # type: ignore[arg-type]
    assert "</script><b>" not in page
    assert not re.search(r"""(src|href)\s*=|@import|https?://""", page)
    json_path = tmp_path / "memory.json"
    snapshot(allocator).save(json_path)
    assert json.loads(json_path.read_text(encoding="utf-8")) == data
    record_history(False, allocator)


def test_the_threads_runtime_is_what_is_meant_by_default(tmp_path: Path) -> None:
    runtime = infinicore.Runtime("cpu").activate()
    memory = runtime.allocate_memory(12345)
    assert [block.requested for block in snapshot().blocks("used")] == [12345]
    assert snapshot(runtime).statistics["live_blocks"] == 1
    save_html(tmp_path / "page.html")
    assert data_of((tmp_path / "page.html").read_text(encoding="utf-8"))["events"] == []
    with pytest.raises(TypeError, match="Runtime"):
        snapshot(3)  # type: ignore[arg-type]
    del memory
    runtime.close()


def test_a_failing_observer_changes_nothing(
    allocator: infinicore.PinnableBlockAllocator, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys

    def broken(_: object) -> None:
        raise OSError("observer")

    seen: list[object] = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda what: seen.append(what.exc_value)
    try:
        allocator.pool.observe(broken)
        assert allocator.allocate(100).size() == 100
    finally:
        allocator.pool.observe(None)
        sys.unraisablehook = hook
    assert [str(each) for each in seen] == ["observer"]
    assert allocator.allocate(100).size() == 100
