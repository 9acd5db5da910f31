"""What replaying a recorded graph of 200 operators costs on an NVIDIA GPU: from Python, and from C with NVIDIA's own function.

Both launch executable graphs of the same nodes on the same stream, in turns, and wait for it between rounds. *To issue* is what the host
spends, *to the end* is until the stream is done. PyTorch's CUDA graph of the same operators stands beside them where it is installed.

    python benchmarks/gpu_graph_bench.py
"""

from __future__ import annotations

import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("INFINIRT_DEVICE", "nvidia")

import infinicore
import infinirt

OPERATORS, ELEMENTS, LAUNCHES, ROUNDS = 200, 4096, 20, 60

LOOP = """
typedef int (*launch_fn)(void*, void*);
int loop(launch_fn launch, void* exec, void* stream, int count) {
  for (int i = 0; i < count; ++i) {
    int error = launch(exec, stream);
    if (error) return error;
  }
  return 0;
}
"""


def program(x: Any, y: Any) -> None:
    """The operators, without memory of their own: y = x + y, again and again."""
    for _ in range(OPERATORS):
        infinicore.add(x, y, out=y)


def c_loop() -> ctypes.CDLL:
    folder = Path(tempfile.mkdtemp())
    (folder / "loop.c").write_text(LOOP, encoding="utf-8")
    subprocess.run(
        [
            os.environ.get("CC", "cc"),
            "-O2",
            "-shared",
            "-fPIC",
            "-o",
            str(folder / "loop.so"),
            str(folder / "loop.c"),
        ],
        check=True,
    )
    return ctypes.CDLL(str(folder / "loop.so"))


def with_torch() -> tuple[Callable[[], None], Callable[[], None]] | None:
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    a, b = (torch.zeros(ELEMENTS, device="cuda") for _ in range(2))
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(OPERATORS):
            torch.add(a, b, out=b)

    def run() -> None:
        with torch.cuda.stream(stream):
            for _ in range(LAUNCHES):
                graph.replay()

    return run, stream.synchronize


def main() -> int:
    if infinicore.get_device_count("nvidia") == 0:
        print("there is no NVIDIA GPU: nothing to measure")
        return 0
    infinicore.set_device("nvidia")
    runtime = infinicore.get_runtime()
    stream = runtime.stream
    x, y = infinicore.zeros([ELEMENTS]), infinicore.zeros([ELEMENTS])
    program(x, y)  # compiles
    runtime.sync_stream()
    with infinicore.record(fuse=False) as recorded:
        program(x, y)
    graph = recorded.graph
    with infinicore.record() as recorded:
        program(x, y)
    fused = recorded.graph
    with infinirt.capture(stream) as captured:  # the same nodes, for C
        program(x, y)
    exec_ = captured.graph.instantiate()
    library = next(info.origin for info in infinirt.device_types() if info.name == "nvidia").split(" (")[0]
    launch = ctypes.cast(ctypes.CDLL(library).cudaGraphLaunch, ctypes.c_void_p)
    loop = c_loop().loop
    loop.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    exec_handle, stream_handle = int(exec_.handle), int(stream.handle)

    def from_c() -> None:
        assert loop(launch, exec_handle, stream_handle, LAUNCHES) == 0

    def from_python() -> None:
        for _ in range(LAUNCHES):
            graph.run()

    def from_python_fused() -> None:
        for _ in range(LAUNCHES):
            fused.run()

    def eagerly() -> None:
        program(x, y)

    routes: dict[str, tuple[Callable[[], None], Callable[[], None], int]] = {
        "C, cudaGraphLaunch": (from_c, stream.sync, LAUNCHES),
        "Graph.run(), fuse=False": (from_python, stream.sync, LAUNCHES),
        "Graph.run(), fused": (from_python_fused, stream.sync, LAUNCHES),
        "one by one": (eagerly, stream.sync, 1),
    }
    torch_route = with_torch()
    if torch_route is not None:
        routes["PyTorch, replay()"] = (*torch_route, LAUNCHES)
    issued: dict[str, list[float]] = {name: [] for name in routes}
    done: dict[str, list[float]] = {name: [] for name in routes}
    for each_round in range(ROUNDS):
        first = each_round % len(routes)  # nobody always follows the same other
        for name, (work, wait, count) in [*routes.items()][first:] + [*routes.items()][:first]:
            wait()
            begin = time.perf_counter()
            work()
            middle = time.perf_counter()
            wait()
            issued[name].append((middle - begin) / count * 1e6)
            done[name].append((time.perf_counter() - begin) / count * 1e6)
    base = {
        "issue": statistics.median(issued["C, cudaGraphLaunch"]),
        "end": statistics.median(done["C, cudaGraphLaunch"]),
    }
    print(f"{OPERATORS} operators, us           to issue   of C   to the end   of C")
    for name in routes:
        a, b = statistics.median(issued[name]), statistics.median(done[name])
        print(f"{name:26} {a:9.1f} {a / base['issue']:6.2f} {b:12.1f} {b / base['end']:6.2f}")
    bandwidth_of_a_chain()
    return 0


def chain(a: Any, b: Any, c: Any, silu: Callable[[Any], Any]) -> Any:
    return silu(a * 2 + b) * c


def bandwidth_of_a_chain() -> None:
    """Four operators on a GiB of operands: a kernel each, and one."""
    elements = 1 << 27
    a, b, c = (infinicore.ones([elements], dtype=infinicore.bfloat16) for _ in range(3))
    functional = infinicore.nn.functional
    stream = infinicore.get_runtime().stream
    times: dict[str, list[float]] = {}

    def measure(name: str, run: Callable[[], object], wait: Callable[[], object]) -> None:
        run()
        wait()
        for _ in range(5):
            begin = time.perf_counter()
            for _ in range(5):
                run()
            wait()
            times.setdefault(name, []).append((time.perf_counter() - begin) / 5)

    graphs = []
    for name, fuse in (("apart", False), ("fused", True)):
        with infinicore.record(fuse=fuse) as recorded:
            out = chain(a, b, c, functional.silu)
        graphs.append((recorded.graph, out))
        measure(f"Graph.run(), {name}", recorded.graph.run, stream.sync)
    del graphs, out, recorded
    try:
        import torch

        x, y, z = (torch.ones(elements, dtype=torch.bfloat16, device="cuda") for _ in range(3))
        silu = torch.nn.functional.silu
        measure("PyTorch, eager", lambda: chain(x, y, z, silu), torch.cuda.synchronize)
        copy = torch.empty_like(x)
        measure("a copy", lambda: copy.copy_(x), torch.cuda.synchronize)
    except ImportError:
        pass
    print(
        f"\nsilu(a * 2 + b) * c, {elements >> 20} Mi elements of bf16      us   GB/s of what has to be read and written"
    )
    for name, measured in times.items():
        best = min(measured)
        moved = (2 if name == "a copy" else 4) * 2 * elements
        print(f"{name:40} {best * 1e6:10.0f} {moved / best / 1e9:8.0f}")


if __name__ == "__main__":
    sys.exit(main())
