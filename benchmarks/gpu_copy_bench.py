"""Copy bandwidth on an NVIDIA GPU through this runtime, beside the real library's own calls on the same memory, in one run.

Pinned and device copies pass through; pageable ones are staged by several threads; copies to and from the CPU device count as
pageable for the GPU. Ratios above 1 are faster than the real call. Without a GPU it says so and ends well.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

os.environ["INFINIRT_DEVICE"] = "nvidia"

from infinirt import runtime as rt

ROUNDS = int(os.environ.get("INFINIRT_BENCH_ROUNDS", "11"))
MIB = 1 << 20
H2D, D2H, D2D, DEFAULT = 1, 2, 3, 4


def ok(result: tuple[Any, ...]) -> Any:
    assert int(result[0]) == 0, rt.infinirtXGetLastErrorMessage()[1]
    return None if len(result) == 1 else result[1]


def real_library() -> ctypes.CDLL:
    for i in range(ok(rt.infinirtXGetDeviceTypeCount())):
        info = ok(rt.infinirtXGetDeviceTypeInfo(i))
        if info.name == "nvidia":
            library = ctypes.CDLL(str(info.origin).split(" (")[0])
            library.cudaMemcpyAsync.argtypes = [ctypes.c_void_p] * 2 + [
                ctypes.c_size_t,
                ctypes.c_int,
                ctypes.c_void_p,
            ]
            library.cudaStreamSynchronize.argtypes = [ctypes.c_void_p]
            return library
    raise AssertionError


@dataclass
class Calls:
    """The same copies by either route, waited for."""

    library: ctypes.CDLL
    stream: Any
    dst: int
    src: int
    size: int
    kind: int
    repeats: int

    def real(self) -> None:
        handle = int(self.stream)
        for _ in range(self.repeats):
            self.library.cudaMemcpyAsync(self.dst, self.src, self.size, self.kind, handle)
        self.library.cudaStreamSynchronize(handle)

    def ours(self) -> None:
        for _ in range(self.repeats):
            rt.infinirtMemcpyAsync(self.dst, self.src, self.size, self.kind, self.stream)
        ok(rt.infinirtStreamSynchronize(self.stream))


def main() -> int:
    error, *_ = rt.infinirtXSetDeviceType("nvidia")
    if int(error) != 0:
        print(rt.infinirtXGetLastErrorMessage()[1])
        return 0
    c = real_library()
    stream = ok(rt.infinirtStreamCreateWithFlags(1))
    print(f"{'copy':26}{'size':>9}{'C':>9}{'ours':>9}   (GB/s)   ours/C")
    for size in (MIB, 16 * MIB, 256 * MIB):
        one, two, pinned = (
            ok(rt.infinirtMalloc(size)),
            ok(rt.infinirtMalloc(size)),
            ok(rt.infinirtMallocHost(size)),
        )
        block = ctypes.create_string_buffer(size)
        pageable = ctypes.addressof(block)
        ctypes.memset(pageable, 1, size)
        ok(rt.infinirtXSetDeviceType("cpu"))
        cpu = ok(rt.infinirtMalloc(size))
        ok(rt.infinirtMemset(cpu, 1, size))
        ok(rt.infinirtDeviceSynchronize())
        ok(rt.infinirtXSetDeviceType("nvidia"))
        rows = {
            "device to device": (one, two, D2D),
            "pinned to device": (one, pinned, H2D),
            "device to pinned": (pinned, one, D2H),
            "pageable to device": (one, pageable, H2D),
            "device to pageable": (pageable, one, D2H),
            "cpu:0 to nvidia:0": (one, cpu, DEFAULT),
            "nvidia:0 to cpu:0": (cpu, one, DEFAULT),
        }
        for name, (dst, src, kind) in rows.items():
            repeats = max(1, (256 if kind == D2D else 32) * MIB // size)

            calls = Calls(c, stream, int(dst), int(src), size, kind, repeats)
            times: dict[str, list[float]] = {"real": [], "ours": []}
            routes: dict[str, Callable[[], None]] = {"real": calls.real, "ours": calls.ours}
            for _ in range(ROUNDS):
                for label, call in routes.items():
                    begin = time.perf_counter()
                    call()
                    times[label].append((time.perf_counter() - begin) / repeats)
            a, b = (size / statistics.median(times[label]) / 1e9 for label in ("real", "ours"))
            print(f"{name:26}{size // MIB:5} MiB{a:9.1f}{b:9.1f}{'':12}{b / a:6.2f}")
        for pointer in (one, two, cpu):
            ok(rt.infinirtFree(pointer))
        ok(rt.infinirtFreeHost(pinned))
    return 0


if __name__ == "__main__":
    sys.exit(main())
