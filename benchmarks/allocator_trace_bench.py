"""How much memory real programs' allocations take: traces replayed through our allocator and through PyTorch's.

The traces beside it (traces/, and how they were made) are replayed without any work on the memory. Columns: the most bytes that were
asked for at one time, the most that each allocator held, and ours over theirs. With a GPU and PyTorch, PyTorch's caching
allocator is asked itself; a model of its policy (torch_policy.py) stands in otherwise, and is shown beside it in any case.

    python allocator_trace_bench.py [--device cuda:0] [trace.json ...]
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from torch_policy import TorchPolicy

import infinicore
from infinicore.memory import AllocationTrace, replay

MIB = 1 << 20


def ours(trace: AllocationTrace, device: str) -> int:
    allocator = infinicore.PinnableBlockAllocator(device)
    peak = replay(trace, allocator).peak_reserved
    infinicore.device(device).resolve().sync()
    allocator.trim()
    return peak


def model(trace: AllocationTrace) -> int:
    policy = TorchPolicy()
    blocks = {}
    for event in trace.events:
        if event.kind == "allocate":
            blocks[event.block] = policy.allocate(event.size, event.stream)
        elif event.kind == "free":
            policy.free(blocks.pop(event.block))
    return policy.peak_reserved


def torch_itself(trace: AllocationTrace) -> int | None:
    """On the first GPU; None where there is no PyTorch or no GPU. Uses on other streams are left out: nothing runs there."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    torch.cuda.init()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_reserved()
    streams = [torch.cuda.Stream() for _ in range(trace.stream_count)]
    blocks = {}
    for event in trace.events:
        if event.kind == "allocate":
            blocks[event.block] = torch.cuda.caching_allocator_alloc(event.size, stream=streams[event.stream])
        elif event.kind == "free":
            torch.cuda.caching_allocator_delete(blocks.pop(event.block))
    peak = torch.cuda.max_memory_reserved() - before
    for block in blocks.values():
        torch.cuda.caching_allocator_delete(block)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return int(peak)


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", help="for our allocator; by default the first GPU, else the CPU")
    parser.add_argument("traces", nargs="*", type=Path)
    options = parser.parse_args()
    device = options.device or ("cuda:0" if infinicore.get_device_count("cuda") else "cpu")
    paths = options.traces or sorted((Path(__file__).parent / "traces").glob("*.json"))

    print(f"our allocator on {device}; peaks in MiB")
    print(
        f"{'trace':16} {'asked for':>10} {'ours':>10} {'model':>10} {'/model':>7} {'PyTorch':>10} {'/PyTorch':>8}"
    )
    ratios: dict[str, list[float]] = {"model": [], "torch": []}
    for path in paths:
        trace = AllocationTrace.load(path)
        own, modelled, real = ours(trace, device), model(trace), torch_itself(trace)
        ratios["model"].append(own / modelled)
        line = f"{trace.name or path.stem:16} {trace.peak_requested / MIB:10.1f} {own / MIB:10.1f}"
        line += f" {modelled / MIB:10.1f} {own / modelled:7.3f}"
        if real is None:
            line += f" {'-':>10} {'-':>8}"
        else:
            ratios["torch"].append(own / real)
            line += f" {real / MIB:10.1f} {own / real:8.3f}"
        print(line)
    means = [f"{geometric_mean(ratios['model']):.3f} of the model"]
    if ratios["torch"]:
        means.append(f"{geometric_mean(ratios['torch']):.3f} of PyTorch")
    print(f"geometric mean: {', '.join(means)}")


if __name__ == "__main__":
    main()
