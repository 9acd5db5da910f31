"""Attention and positions on an NVIDIA GPU: operations and bytes per second, by the GPU's own events, beside PyTorch where it is installed.

Without a GPU it says so and ends well.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable
from typing import Any

os.environ["INFINIRT_DEVICE"] = "nvidia"

import infinicore
from infinicore.nn import functional
from infinirt import runtime as rt

ROUNDS = int(os.environ.get("INFINIRT_BENCH_ROUNDS", "7"))


def ok(result: tuple[Any, ...]) -> Any:
    assert int(result[0]) == 0, rt.infinirtXGetLastErrorMessage()[1]
    return None if len(result) == 1 else result[1]


class Clock:
    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.begin, self.end = ok(rt.infinirtEventCreate()), ok(rt.infinirtEventCreate())

    def seconds(self, work: Callable[[], Any], repeats: int = 10) -> float:
        """Of one call, when several follow one another."""
        work()
        times = []
        for _ in range(ROUNDS):
            ok(rt.infinirtEventRecord(self.begin, self.stream))
            for _ in range(repeats):
                work()
            ok(rt.infinirtEventRecord(self.end, self.stream))
            ok(rt.infinirtEventSynchronize(self.end))
            times.append(float(ok(rt.infinirtEventElapsedTime(self.begin, self.end))) / 1e3 / repeats)
        return statistics.median(times)


def torch_module() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch


def torch_seconds(torch: Any, work: Callable[[], Any], repeats: int = 10) -> float:
    work()
    times = []
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(ROUNDS):
        begin.record()
        for _ in range(repeats):
            work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3 / repeats)
    return statistics.median(times)


def best_of_torch(torch: Any, shape: tuple[int, ...], is_causal: bool) -> tuple[str, float]:
    """PyTorch's fastest backend."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = (torch.randn(*shape, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    found = ("", float("inf"))
    for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION):
        try:
            with sdpa_kernel(backend):
                took = torch_seconds(
                    torch,
                    lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal),
                )
        except RuntimeError:
            continue
        found = min(found, (backend.name, took), key=lambda each: each[1])
    return found


def prefill(clock: Clock, torch: Any) -> None:
    print(f"{'attention, bf16':42}{'TFLOP/s':>9}{'PyTorch':>9}{'ratio':>7}")
    for shape, is_causal in (
        ((4, 32, 4096, 128), True),
        ((4, 32, 4096, 128), False),
        ((4, 32, 4096, 64), True),
        ((1, 32, 16384, 128), True),
        ((16, 32, 512, 128), True),
    ):
        batch, heads, length, size = shape
        q, k, v = (infinicore.zeros([*shape], dtype=infinicore.bfloat16) for _ in range(3))
        for tensor in (q, k, v):
            tensor += 0.5
        out = infinicore.empty([*shape], dtype=infinicore.bfloat16)
        took = clock.seconds(lambda: functional.flash_attention(q, k, v, is_causal=is_causal, out=out))  # noqa: B023
        work = 4 * batch * heads * length * length * size / (2 if is_causal else 1)
        what = f"{' x '.join(map(str, shape))}{', causal' if is_causal else ''}"
        line = f"{what:42}{work / took / 1e12:9.0f}"
        if torch is not None:
            name, theirs = best_of_torch(torch, shape, is_causal)
            line += f"{work / theirs / 1e12:9.0f}{theirs / took:7.2f}  {name.lower()}"
        print(line)


def decode(clock: Clock, copied: float) -> None:
    print(f"\n{'one query for each sequence, bf16':42}{'TB/s':>9}{'of a copy':>16}")
    for batch, heads, groups, length, size in (
        (64, 32, 8, 4096, 128), (64, 32, 32, 2048, 128), (1, 32, 8, 32768, 128), (256, 16, 16, 1024, 64),
    ):  # fmt: skip
        page = 16
        pages = batch * length // page
        moved = 2 * batch * groups * length * size * 2
        caches = [infinicore.zeros([pages, groups, page, size], dtype=infinicore.bfloat16) for _ in range(2)]
        q = infinicore.zeros([batch, heads, size], dtype=infinicore.bfloat16)
        out = infinicore.empty([batch, heads, size], dtype=infinicore.bfloat16)
        import numpy as np

        order = np.random.default_rng(1).permutation(pages).astype(np.int32).reshape(batch, -1)
        tables = infinicore.from_numpy(order).to("nvidia")
        lengths = infinicore.from_numpy(np.full(batch, length, np.int32)).to("nvidia")
        took = clock.seconds(
            lambda: infinicore.paged_attention(q, *caches, tables, lengths, scale=0.1, out=out)  # noqa: B023
        )
        what = f"pages, {batch} x {heads} ({groups}) x {length} x {size}"
        print(f"{what:42}{moved / took / 1e12:9.2f}{moved / took / copied:16.2f}")
        k, v = (infinicore.zeros([batch, groups, length, size], dtype=infinicore.bfloat16) for _ in range(2))
        query = q.view(batch, heads, 1, size)
        result = out.view(batch, heads, 1, size)
        took = clock.seconds(lambda: functional.flash_attention(query, k, v, lengths, out=result))  # noqa: B023
        what = f"rows, {batch} x {heads} ({groups}) x {length} x {size}"
        print(f"{what:42}{moved / took / 1e12:9.2f}{moved / took / copied:16.2f}")


def positions(clock: Clock, copied: float) -> None:
    import numpy as np

    print(f"\n{'positions and embeddings, bf16':42}{'TB/s':>9}{'of a copy':>16}")
    x = infinicore.zeros([8192, 64, 128], dtype=infinicore.bfloat16)
    out = infinicore.empty([8192, 64, 128], dtype=infinicore.bfloat16)
    ids = infinicore.from_numpy(np.arange(8192, dtype=np.int32)).to("nvidia")
    tables = [infinicore.zeros([8192, 64], dtype=infinicore.bfloat16) for _ in range(2)]
    moved = 2 * 8192 * 8192 * 2
    for name, algorithm in (("rope, halves", 1), ("rope, neighbours", 0)):
        took = clock.seconds(lambda: functional.rope(x, ids, *tables, algorithm, out=out))  # noqa: B023
        print(f"{f'{name}, 8192 x 64 x 128':42}{moved / took / 1e12:9.2f}{moved / took / copied:16.2f}")
    weight = infinicore.zeros([8192, 8192], dtype=infinicore.bfloat16)
    rows = infinicore.empty([8192, 8192], dtype=infinicore.bfloat16)
    took = clock.seconds(lambda: functional.embedding(ids, weight, out=rows))
    print(f"{'embedding, 8192 x 8192':42}{moved / took / 1e12:9.2f}{moved / took / copied:16.2f}")


def main() -> int:
    error, *_ = rt.infinirtXSetDeviceType("nvidia")
    if int(error) != 0:
        print(rt.infinirtXGetLastErrorMessage()[1])
        return 0
    infinicore.set_device(infinicore.device("nvidia", 0))
    clock = Clock(infinicore.get_stream())
    size = 8192 * 8192 * 2
    memory = [int(ok(rt.infinirtMalloc(size))) for _ in range(2)]
    copied = 2 * size / clock.seconds(lambda: rt.infinirtMemcpyAsync(*memory, size, 3, clock.stream))
    print(f"a copy of the runtime moves {copied / 1e12:.2f} TB/s\n")
    prefill(clock, torch_module())
    decode(clock, copied)
    positions(clock, copied)
    return 0


if __name__ == "__main__":
    sys.exit(main())
