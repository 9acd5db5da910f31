"""The planted faults: what each breaks, where it is planted, and the cases that have to find it - these and no others.

Where a backend itself does the work, the fault is in a backend: `faulty_backend.py` (in Python) or the toy accelerator
(`tests/plugins/toy.c`, in C). What the runtime does for every backend, no backend can break: there `faulty_calls.py` stands
between the kit and `infinirt.runtime` on the CPU device, so that the kit meets a device with that fault; `faulty_operators.py`
between the operators' cases and their library.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    where: str  # "backend", "calls", "operators" or "toy"
    what: str
    cases: tuple[str, ...]
    hangs: bool = False
    by_chance: str = ""  # a group of cases that it breaks as well, now this one, now that


FAULTS = {
    # ---- in a backend written in Python
    "odd-tail": Fault(
        "backend", "an upload of an odd number of bytes loses the last one", ("copy.odd-sizes",)
    ),
    "set-signed": Fault("backend", "a set takes its value for a signed byte", ("memory.set.low-byte",)),
    "set-overruns": Fault("backend", "a set rounds its size up to words", ("memory.set.exact-range",)),
    "copy-aligned": Fault("backend", "a copy within the device begins at whole words", ("copy.odd-offsets",)),
    "devices-alias": Fault(
        "backend", "device 1's memory is device 0's", ("peer.memory-apart",), by_chance="collective"
    ),
    "leak": Fault("backend", "large blocks are not given back", ("memory.free.again-available",)),
    # ---- in the toy accelerator, in C
    "counted-twice": Fault("toy", "used memory is counted twice", ("memory.info.counts",)),
    # ---- between the kit and the runtime
    "lost-copy": Fault(
        "calls", "of many asynchronous copies on a busy stream the last are lost", ("copy.async.all-of-many",)
    ),
    "event-never-completes": Fault(
        "calls", "who sleeps for an event is not woken", ("event.synchronise.blocking-sync",), hangs=True
    ),
    "elapsed-in-seconds": Fault("calls", "elapsed time is in seconds", ("event.elapsed.positive",)),
    "wait-across-devices": Fault(
        "calls", "a stream does not wait for an event of another device", ("event.device.wait-crosses",)
    ),
    "free-twice": Fault(
        "calls",
        "memory that was freed is freed again with success",
        ("memory.free.twice", "memory.threads.shared", "stress.threads.double-free"),
    ),
    "not-ready-is-an-error": Fault(
        "calls",
        "not ready becomes the thread's last error",
        ("stream.query.is-no-error", "event.query.is-no-error", "error.not-ready-is-none"),
    ),
    "capture-runs": Fault("calls", "a set that is captured runs as well", ("capture.records",)),
    "large-copies-wait": Fault(
        "calls", "large copies of page-locked memory wait", ("copy.async.pinned-h2d-returns",)
    ),
    "limit-that-is-none": Fault(
        "calls", "a function that is declared unsupported works", ("device.persisting-cache",)
    ),
    # ---- between the kit and the operators
    "operator-loses-nan": Fault("operators", "tanh of what is not a number is 0", ("operator.tanh.values",)),
    "operator-writes-beside": Fault(
        "operators", "floor writes one element between those of its output", ("operator.floor.layouts",)
    ),
    "operator-takes-any-type": Fault(
        "operators", "tanh takes types that it has not", ("operator.tanh.refusals",)
    ),
    "operator-own-stream": Fault(
        "operators", "a sum runs on a stream of its own choice", ("operator.order", "operator.capture")
    ),
}
