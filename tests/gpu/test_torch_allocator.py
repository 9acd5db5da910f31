"""PyTorch's CUDA memory from this runtime's caching allocator: eager, across streams, in CUDA graphs, at the limit."""

from __future__ import annotations

import pytest
from gpu_support import run_python

pytestmark = [pytest.mark.gpu, pytest.mark.peer("torch")]

# An interpreter each: PyTorch's allocator can be changed once, before its first allocation.
BEGIN = """
import gc
import infinirt.torch
infinirt.torch.use_allocator()
import torch
stats = infinirt.torch.memory_stats
"""


def test_a_network_trains_as_it_does_on_the_cpu() -> None:
    out = run_python(
        BEGIN
        + """
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 10))
import copy
twin = copy.deepcopy(model).cuda()
def train(net, device):
    step = torch.optim.Adam(net.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(2)
    losses = []
    for _ in range(20):
        x = torch.randn(32, 64, generator=generator).to(device)
        y = torch.randint(0, 10, (32,), generator=generator).to(device)
        loss = torch.nn.functional.cross_entropy(net(x), y)
        step.zero_grad()
        loss.backward()
        step.step()
        losses.append(loss.item())
    return losses
here, there = train(model, "cpu"), train(twin, "cuda")
assert all(abs(a - b) < 1e-3 * abs(a) for a, b in zip(here, there)), (here, there)
now = stats()
assert now.allocations > 300 and now.live_blocks > 0 and 0 < now.used <= now.reserved, now
assert now.segments_mapped < 20, now    # the rest came from the cache
del twin
gc.collect()
torch.cuda.synchronize()
torch.cuda.empty_cache()
left = stats()  # what is left is the workspace of cuBLAS
assert left.live_blocks < now.live_blocks and left.used < now.used and left.pending_blocks == 0, (now, left)
print("trained", now.allocations)
"""
    )
    assert out.startswith("trained")


def test_record_stream_keeps_memory_until_the_other_stream_is_done() -> None:
    run_python(
        BEGIN
        + """
side = torch.cuda.Stream()
torch.zeros(8, device="cuda").sum().item()  # loading a kernel may wait for the GPU
torch.cuda._sleep(1000)
torch.cuda.synchronize()
for use in (True, False):
    x = torch.ones(1 << 20, device="cuda")
    address = x.data_ptr()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(1_000_000_000)
        total = x.sum()
    if use:
        x.record_stream(side)
    del x
    y = torch.zeros(1 << 20, device="cuda")
    assert not side.query()
    assert (y.data_ptr() != address) == use, use
    torch.cuda.synchronize()
    if use:
        assert total.item() == 1 << 20, total
    del y, total
"""
    )


def test_graphs_keep_their_memory() -> None:
    run_python(
        BEGIN
        + """
static = torch.zeros(1 << 20, device="cuda")
def work():
    a = static * 2
    b = a + 1
    del a
    return b.sqrt() + b
warm = torch.cuda.Stream()
warm.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(warm):
    for _ in range(3):
        work()
torch.cuda.current_stream().wait_stream(warm)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    result = work()
second = torch.cuda.CUDAGraph()
with torch.cuda.graph(second, pool=graph.pool()):
    other = work() * 3
held = stats().live_blocks
for value in range(4):
    static.fill_(value)
    graph.replay()
    # Whatever else is allocated, the graph's memory is its own.
    noise = [torch.full((1 << 20,), -1.0, device="cuda") for _ in range(32)]
    expected = (2 * value + 1) ** 0.5 + (2 * value + 1)
    assert abs(result[0].item() - expected) < 1e-5 and abs(result[-1].item() - expected) < 1e-5, (value, result)
    del noise
    second.replay()
    assert abs(other[7].item() - 3 * expected) < 1e-4
    graph.replay()
    torch.cuda.synchronize()
    assert abs(result[3].item() - expected) < 1e-5
before = stats()
del result, other, graph, second
gc.collect()
torch.cuda.synchronize()
torch.cuda.empty_cache()
after = stats()
assert after.live_blocks < before.live_blocks and after.reserved < before.reserved, (before, after)
x = torch.ones(1 << 20, device="cuda")
assert x.sum().item() == 1 << 20
"""
    )


def test_running_out_of_memory_is_an_error_and_then_over() -> None:
    run_python(
        BEGIN
        + """
torch.cuda.set_per_process_memory_fraction(0.001)
kept = torch.ones(1 << 20, device="cuda")
try:
    torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
except RuntimeError as error:
    assert "1099511627776 bytes were asked for" in str(error), error
else:
    raise AssertionError("a terabyte was had")
assert stats().out_of_memory >= 1
assert kept.sum().item() == 1 << 20
infinirt.torch.reset_peak_memory_stats()
assert stats().used_peak == stats().used
infinirt.torch.empty_cache()
"""
    )


def test_too_late_says_so() -> None:
    run_python(
        """
import torch, infinirt.torch
x = torch.ones(8, device="cuda")
try:
    infinirt.torch.use_allocator()
except RuntimeError as error:
    assert "before the first tensor" in str(error), error
else:
    raise AssertionError("the allocator was changed under a live tensor")
"""
    )


def test_our_buffers_and_pytorchs_tensors_share_the_gpu() -> None:
    run_python(
        BEGIN
        + """
import infinirt
device = infinirt.Device("nvidia:0")
stream = torch.cuda.Stream()
ours = infinirt.CachingPool(device)
buffer = ours.allocate(1 << 20, stream=stream)
with torch.cuda.stream(stream):
    tensor = torch.from_dlpack(buffer)
    tensor.fill_(5)
    doubled = tensor * 2
assert doubled.sum().item() == 10 << 20
assert ours.statistics.live_blocks == 1 and stats().live_blocks >= 1
del tensor, doubled, buffer
"""
    )
