"""Which stream gets a block of stream-ordered memory again, and when."""

from __future__ import annotations

from ..bench import DISABLE_TIMING, Bench, download
from ..case import Register
from ..check import fails, holds, ok, rt, same
from .pool import MIB, attribute, new_pool, set_value

case = Register("pool", "full")
RULE = "Stream-ordered memory: reuse across streams"


@case("pool.reuse.own-stream", about="MallocAsync FreeAsync", rule=RULE)
def own(t: Bench) -> None:
    """A stream gets its own freed block again at once, though it is busy."""
    pool, stream = new_pool(t), t.stream()
    gate = t.gate(stream)
    first = int(ok(rt.MallocFromPoolAsync(3 * MIB, pool, stream)))
    ok(rt.FreeAsync(first, stream))
    second = int(ok(rt.MallocFromPoolAsync(3 * MIB, pool, stream)))
    ok(rt.FreeAsync(second, stream))
    gate.open()
    same(second, first, "the address of the second block")


@case("pool.reuse.not-before-the-free", about="MallocFromPoolAsync FreeAsync", rule=RULE)
def not_before(t: Bench) -> None:
    """Another stream does not get a block while work before its free is pending."""
    pool, busy, other = new_pool(t), t.stream(), t.stream()
    gate = t.gate(busy)
    first = int(ok(rt.MallocFromPoolAsync(MIB, pool, busy)))
    ok(rt.FreeAsync(first, busy))
    second = int(ok(rt.MallocFromPoolAsync(MIB, pool, other)))
    holds(second != first, "another block", f"the block at {first:#x}, which is still in use")
    gate.open()
    ok(rt.FreeAsync(second, other))


@case("pool.reuse.data-is-safe", about="MallocFromPoolAsync FreeAsync MemsetAsync", rule=RULE)
def data_is_safe(t: Bench) -> None:
    """What a stream still reads from a freed block is not overwritten by another stream's block."""
    pool, slow, fast = new_pool(t), t.stream(), t.stream()
    result = t.memory(MIB, fill=0)
    gate = t.gate(slow)
    first = ok(rt.MallocFromPoolAsync(MIB, pool, slow))
    ok(rt.MemsetAsync(first, 5, MIB, slow))
    ok(rt.MemcpyAsync(result, first, MIB, 3, slow))
    ok(rt.FreeAsync(first, slow))
    for _ in range(8):
        block = ok(rt.MallocFromPoolAsync(MIB, pool, fast))
        ok(rt.MemsetAsync(block, 6, MIB, fast))
        ok(rt.FreeAsync(block, fast))
    gate.open()
    ok(rt.DeviceSynchronize())
    same(download(result, MIB).count(5), MIB, "bytes that the slow stream read right")


@case(
    "pool.reuse.follows-events",
    about="MallocFromPoolAsync StreamWaitEvent MemPoolSetAttribute",
    rule="Stream-ordered memory: ReuseFollowEventDependencies",
)
def follows_events(t: Bench) -> None:
    """A stream that waits for the free gets the block, and does not when that policy is off."""
    pool, busy, other, event = new_pool(t), t.stream(), t.stream(), t.event(DISABLE_TIMING)
    for follow in (1, 0):
        ok(rt.MemPoolSetAttribute(pool, attribute("ReuseFollowEventDependencies"), follow))
        gate = t.gate(busy)
        first = int(ok(rt.MallocFromPoolAsync(40 * MIB, pool, busy)))
        ok(rt.FreeAsync(first, busy))
        ok(rt.EventRecord(event, busy))
        ok(rt.StreamWaitEvent(other, event, 0))
        second = int(ok(rt.MallocFromPoolAsync(40 * MIB, pool, other)))
        gate.open()
        same(second == first, bool(follow), f"whether the block is used again with the policy {follow}")
        ok(rt.FreeAsync(second, other))
        ok(rt.DeviceSynchronize())


@case(
    "pool.reuse.opportunistic",
    about="MallocFromPoolAsync FreeAsync",
    rule="Stream-ordered memory: ReuseAllowOpportunistic",
)
def opportunistic(t: Bench) -> None:
    """When the free has run, another stream gets the block."""
    pool, one, other = new_pool(t), t.stream(), t.stream()
    ok(set_value(pool, "AttrReleaseThreshold", 1 << 40))
    first = int(ok(rt.MallocFromPoolAsync(16 * MIB, pool, one)))
    ok(rt.FreeAsync(first, one))
    ok(rt.StreamSynchronize(one))
    later = [int(ok(rt.MallocFromPoolAsync(16 * MIB, pool, other))) for _ in range(6)]
    for block in later:
        ok(rt.FreeAsync(block, other))
    holds(first in later, "the block among the next ones", "six others")


@case(
    "pool.reuse.internal-dependencies",
    about="MallocFromPoolAsync",
    rule="Stream-ordered memory: ReuseAllowInternalDependencies",
)
def internal(t: Bench) -> None:
    """In a full pool a stream is made to wait for the free of another instead of running out of memory."""
    pool, busy, other = new_pool(t, 32 * MIB), t.stream(), t.stream()
    gate = t.gate(busy)
    first = int(ok(rt.MallocFromPoolAsync(24 * MIB, pool, busy)))
    ok(rt.FreeAsync(first, busy))
    second = int(ok(rt.MallocFromPoolAsync(24 * MIB, pool, other)))
    same(second, first, "the address of the second block")
    ok(rt.MemsetAsync(second, 1, 64, other))
    fails(rt.StreamQuery(other), "NotReady")
    ok(rt.FreeAsync(second, other))
    gate.open()
    ok(rt.DeviceSynchronize())


@case(
    "pool.reuse.legacy-free",
    about="FreeAsync",
    rule="measured: FreeAsync on the legacy stream is ordered after blocking streams",
)
def legacy_free(t: Bench) -> None:
    """A free on the legacy stream waits for blocking streams before others get the block."""
    pool, blocking, exempt = new_pool(t), t.blocking_stream(), t.stream()
    first = int(ok(rt.MallocFromPoolAsync(40 * MIB, pool, 0)))
    gate = t.gate(blocking)
    ok(rt.MemsetAsync(first, 1, 40 * MIB, blocking))
    ok(rt.FreeAsync(first, 0))
    second = int(ok(rt.MallocFromPoolAsync(40 * MIB, pool, exempt)))
    gate.open()
    holds(second != first, "another block while a blocking stream uses the first")
    ok(rt.FreeAsync(second, exempt))
