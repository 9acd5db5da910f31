"""Small programs with one synchronisation left out: how many schedules out of COUNT show it. And the same programs, complete.

usage: planted_races_main.py COUNT     prints one line per program: its name, exposed, exposed in the complete program
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from random_programs import check

from infinirt import runtime as rt

SIZE = 64
TO_DEVICE, TO_HOST, WITHIN = (
    rt.infinirtMemcpyKind.infinirtMemcpyHostToDevice,
    rt.infinirtMemcpyKind.infinirtMemcpyDeviceToHost,
    rt.infinirtMemcpyKind.infinirtMemcpyDeviceToDevice,
)


class World:
    """Two streams, an event, page-locked memory for input and output, and two pieces of device memory. Output is 0."""

    def __init__(self) -> None:
        self.first = check(rt.infinirtStreamCreateWithFlags(1))
        self.second = check(rt.infinirtStreamCreateWithFlags(1))
        self.event = check(rt.infinirtEventCreateWithFlags(2))
        self.pinned = [check(rt.infinirtHostAlloc(SIZE, 0)) for _ in range(2)]
        self.input, self.output = (int(pointer) for pointer in self.pinned)
        self.left, self.right = (int(check(rt.infinirtMalloc(SIZE))) for _ in range(2))
        for memory in (self.left, self.right):
            check(rt.infinirtMemset(memory, 0, SIZE))
        self._host(self.input)[:] = 7
        self._host(self.output)[:] = 0
        check(rt.infinirtDeviceSynchronize())

    @staticmethod
    def _host(pointer: int) -> np.ndarray:
        import ctypes

        return np.frombuffer((ctypes.c_uint8 * SIZE).from_address(pointer), np.uint8)

    def other_calls(self) -> None:
        """What programs do in between: a schedule must not have made up for it by then."""
        for _ in range(3):
            check(rt.infinirtGetDevice())
            check(rt.infinirtMemGetInfo())

    def is_wrong(self) -> bool:
        """As the host sees it now; later nothing can tell any more."""
        return bool((self._host(self.output) != 7).any())

    def close(self) -> None:
        check(rt.infinirtDeviceSynchronize())
        for stream in (self.first, self.second):
            check(rt.infinirtStreamDestroy(stream))
        check(rt.infinirtEventDestroy(self.event))
        for memory in (self.left, self.right):
            check(rt.infinirtFree(memory))
        for memory in (self.input, self.output):
            check(rt.infinirtFreeHost(memory))


def missing_wait(world: World, complete: bool) -> None:
    """One stream copies in, another computes; the second should wait for the first."""
    check(rt.infinirtMemcpyAsync(world.left, world.input, SIZE, TO_DEVICE, world.first))
    if complete:
        check(rt.infinirtEventRecord(world.event, world.first))
        check(rt.infinirtStreamWaitEvent(world.second, world.event, 0))
    world.other_calls()
    check(rt.infinirtMemcpyAsync(world.right, world.left, SIZE, WITHIN, world.second))
    check(rt.infinirtMemcpyAsync(world.output, world.right, SIZE, TO_HOST, world.second))
    check(rt.infinirtStreamSynchronize(world.second))


def missing_sync(world: World, complete: bool) -> None:
    """The host reads what was copied out; it should synchronise first."""
    check(rt.infinirtMemcpyAsync(world.left, world.input, SIZE, TO_DEVICE, world.first))
    check(rt.infinirtMemcpyAsync(world.output, world.left, SIZE, TO_HOST, world.first))
    world.other_calls()
    if complete:
        check(rt.infinirtStreamSynchronize(world.first))


def wrong_sync(world: World, complete: bool) -> None:
    """The host synchronises with a stream, but not with the one that copied out."""
    check(rt.infinirtMemcpyAsync(world.left, world.input, SIZE, TO_DEVICE, world.first))
    check(rt.infinirtMemsetAsync(world.right, 1, SIZE, world.second))
    check(rt.infinirtMemcpyAsync(world.output, world.left, SIZE, TO_HOST, world.first))
    check(rt.infinirtStreamSynchronize(world.first if complete else world.second))


def early_event(world: World, complete: bool) -> None:
    """The event that the second stream waits for is recorded before the copy it should cover."""
    if not complete:
        check(rt.infinirtEventRecord(world.event, world.first))
    check(rt.infinirtMemcpyAsync(world.left, world.input, SIZE, TO_DEVICE, world.first))
    if complete:
        check(rt.infinirtEventRecord(world.event, world.first))
    world.other_calls()
    check(rt.infinirtStreamWaitEvent(world.second, world.event, 0))
    check(rt.infinirtMemcpyAsync(world.output, world.left, SIZE, TO_HOST, world.second))
    check(rt.infinirtStreamSynchronize(world.second))


def early_event_of_plain_memory(world: World, complete: bool) -> None:
    """The same for a source that is not page-locked, and larger than what is copied aside in any schedule."""
    source = np.full(1 << 17, 7, np.uint8)
    target = int(check(rt.infinirtMalloc(source.nbytes)))
    check(rt.infinirtMemset(target, 0, source.nbytes))
    check(rt.infinirtDeviceSynchronize())
    if not complete:
        check(rt.infinirtEventRecord(world.event, world.first))
    check(rt.infinirtMemcpyAsync(target, source.ctypes.data, source.nbytes, TO_DEVICE, world.first))
    source[:] = 9  # the call has taken it
    if complete:
        check(rt.infinirtEventRecord(world.event, world.first))
    world.other_calls()
    check(rt.infinirtStreamWaitEvent(world.second, world.event, 0))
    check(rt.infinirtMemcpyAsync(world.output, target, SIZE, TO_HOST, world.second))
    check(rt.infinirtStreamSynchronize(world.second))
    check(rt.infinirtFree(target))


def early_reuse(world: World, complete: bool) -> None:
    """A second stream overwrites memory that the first has yet to read."""
    check(rt.infinirtMemcpyAsync(world.left, world.input, SIZE, TO_DEVICE, world.first))
    check(rt.infinirtMemcpyAsync(world.output, world.left, SIZE, TO_HOST, world.first))
    if complete:
        check(rt.infinirtEventRecord(world.event, world.first))
        check(rt.infinirtStreamWaitEvent(world.second, world.event, 0))
    world.other_calls()
    check(rt.infinirtMemsetAsync(world.input, 9, SIZE, world.second))
    check(rt.infinirtStreamSynchronize(world.second))
    check(rt.infinirtStreamSynchronize(world.first))


def late_input(world: World, complete: bool) -> None:
    """The host writes the input after it gave it to a copy: here haste shows the mistake, where delay hides it."""
    world._host(world.input)[:] = 5
    if complete:
        world._host(world.input)[:] = 7
    check(rt.infinirtMemcpyAsync(world.left, world.input, SIZE, TO_DEVICE, world.first))
    world.other_calls()
    world._host(world.input)[:] = 7
    check(rt.infinirtMemcpyAsync(world.output, world.left, SIZE, TO_HOST, world.first))
    check(rt.infinirtStreamSynchronize(world.first))


PROGRAMS: tuple[Callable[[World, bool], None], ...] = (
    missing_wait,
    missing_sync,
    wrong_sync,
    early_event,
    early_event_of_plain_memory,
    early_reuse,
    late_input,
)


def exposed(program: Callable[[World, bool], None], seed: int, complete: bool) -> bool:
    world = World()
    check(rt.infinirtXSeedSchedule(seed))
    program(world, complete)
    wrong = world.is_wrong()
    world.close()
    return wrong


def main(count: int) -> None:
    for program in PROGRAMS:
        found = [exposed(program, seed, complete=False) for seed in range(count)]
        if found != [exposed(program, seed, complete=False) for seed in range(count)]:
            raise SystemExit(f"{program.__name__}: the same seeds did not give the same schedules")
        print(
            program.__name__, sum(found), sum(exposed(program, seed, complete=True) for seed in range(count))
        )


if __name__ == "__main__":
    main(int(sys.argv[1]))
