"""Random sequences of allocations, on many streams and threads, against a model."""

from __future__ import annotations

import contextlib
import gc
import random
import sys
import threading
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest
from allocator_model import Program, Step
from hypothesis import given, settings
from hypothesis import strategies as st

import infinicore
import infinirt
from installed import output_of

STEPS = st.lists(
    st.one_of(
        st.builds(Step, st.just("allocate"), st.integers(0, 2), st.integers(1, 5 << 20)),
        st.builds(Step, st.just("allocate"), st.integers(0, 2), st.integers(1, 70_000)),
        st.builds(
            Step,
            st.sampled_from(["free", "free", "use", "sync", "trim"]),
            st.integers(0, 2),
            st.integers(0, 50),
        ),
    ),
    max_size=60,
)


@settings(max_examples=200)
@given(STEPS)
def test_random_programs(steps: list[Step]) -> None:
    device = infinirt.Device("cpu")
    program = Program(infinicore.PinnableBlockAllocator("cpu"), [device.create_stream() for _ in range(3)])
    for step in steps:
        program.step(step)
    program.check_statistics()
    program.finish()


def run_seeds(first: int, last: int) -> None:
    main = Path(__file__).with_name("random_allocations_main.py")
    said = output_of(sys.executable, main, str(first), str(last), INFINIRT_CPU_SCHEDULE="random:1")
    assert said.endswith("all well\n")


def test_random_programs_under_random_schedules() -> None:
    run_seeds(0, 200)


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, 20_000, 2000))
def test_random_programs_under_many_random_schedules(first: int) -> None:
    run_seeds(first, first + 2000)


def test_the_model_finds_memory_that_is_given_away_too_early() -> None:
    """A block in use by a stream that nobody was told of: what the allocator must never do by itself, done on purpose."""
    device = infinirt.Device("cpu")
    allocator = infinicore.PinnableBlockAllocator("cpu")
    own, hidden = device.create_stream(), device.create_stream()
    program = Program(allocator, [own])
    program.step(Step("allocate", 0, 4096))
    own.sync()
    gate = threading.Event()
    hidden.launch_host_func(gate.wait, 30)
    block = program.live.pop()
    hidden.launch_host_func(program._check, block.memory.data(), block.size, block.mark)
    address = block.memory.data()
    del block
    program.step(Step("allocate", 0, 4096))
    assert program.live[0].memory.data() == address
    own.sync()
    gate.set()
    hidden.sync()
    assert len(program.wrong) == 2


def work(
    allocator: infinicore.PinnableBlockAllocator,
    seed: int,
    rounds: int,
    wrong: list[object],
    given: SimpleQueue[object],
) -> None:
    """Allocates, checks and frees on streams of its own; some memory is left for other threads to let go of."""
    try:
        chance = random.Random(seed)
        device = infinirt.Device("cpu")
        program = Program(allocator, [device.create_stream() for _ in range(2)])
        for _ in range(rounds):
            kind = chance.choice(["allocate"] * 4 + ["free"] * 4 + ["use", "sync", "give", "take"])
            if kind == "give" and program.live:
                block = program.live.pop()
                program._check_later(block, block.stream)
                given.put(block)
                del block
            elif kind == "take":
                with contextlib.suppress(Empty):
                    given.get_nowait()
            elif kind not in ("give", "take"):
                size = chance.choice((700, 9_000, 50_000, 400_000, 2 << 20)) + chance.randrange(999)
                program.step(
                    Step(kind, chance.randrange(2), size if kind == "allocate" else chance.randrange(99))
                )
        program.live.clear()
        for stream in program.streams:
            stream.sync()
        wrong += program.wrong
    except BaseException as error:
        wrong.append(error)


def run_threads(count: int, rounds: int) -> None:
    allocator = infinicore.PinnableBlockAllocator("cpu")
    wrong: list[object] = []
    given: SimpleQueue[object] = SimpleQueue()
    threads = [
        threading.Thread(target=work, args=(allocator, seed, rounds, wrong, given)) for seed in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while not given.empty():
        given.get()
    gc.collect()
    allocator.pool.device.sync()
    assert wrong == []
    now = allocator.statistics
    assert (now.live_blocks, now.used, now.requested) == (0, 0, 0)
    assert now.allocations == now.frees
    allocator.trim()
    assert allocator.statistics.reserved == 0


def test_threads_on_one_allocator() -> None:
    run_threads(4, 150)


@pytest.mark.full
def test_many_threads_on_one_allocator() -> None:
    run_threads(16, 1500)
