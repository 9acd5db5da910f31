"""Operators on an NVIDIA GPU: bytes moved per second beside a copy's of the runtime, and products, by the GPU's own events.

Without a GPU it says so and ends well.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ["INFINIRT_DEVICE"] = "nvidia"

from infiniop.schema import OPERATORS, Operator
from infinirt import runtime as rt
from infinirt.__main__ import part_path

ROUNDS = int(os.environ.get("INFINIRT_BENCH_ROUNDS", "11"))
REPEATS = 20
DTYPES = {"F8": (11, 1), "F16": (12, 2), "BF16": (19, 2), "F32": (13, 4), "F64": (14, 8), "I64": (6, 8)}
BY_NAME = {operator.name: operator for operator in OPERATORS}


def ok(result: tuple[Any, ...]) -> Any:
    assert int(result[0]) == 0, rt.infinirtXGetLastErrorMessage()[1]
    return None if len(result) == 1 else result[1]


class Bench:
    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(part_path("--lib-dir") / "libinfiniop.so.1"))
        self.stream = ok(rt.infinirtStreamCreateWithFlags(1))
        self.begin, self.end = ok(rt.infinirtEventCreate()), ok(rt.infinirtEventCreate())
        self.handle = ctypes.c_void_p()
        self.call("infiniopCreateHandle", ctypes.byref(self.handle))

    def call(self, name: str, *arguments: Any) -> None:
        assert getattr(self.library, name)(*arguments) == 0, rt.infinirtXGetLastErrorMessage()[1]

    def tensor(self, dtype: str, shape: list[int], strides: list[int] | None = None) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        sizes = (ctypes.c_size_t * len(shape))(*shape)
        steps = None if strides is None else (ctypes.c_ssize_t * len(strides))(*strides)
        self.call(
            "infiniopCreateTensorDescriptor",
            ctypes.byref(made),
            ctypes.c_size_t(len(shape)),
            sizes,
            steps,
            DTYPES[dtype][0],
        )
        return made

    def create(self, operator: Operator, tensors: list[Any]) -> tuple[ctypes.c_void_p, float]:
        """The descriptor, and how many seconds making it took."""
        made = ctypes.c_void_p()
        begin = time.perf_counter()
        self.call(f"infiniopCreate{operator.name}Descriptor", self.handle, ctypes.byref(made), *tensors)
        return made, time.perf_counter() - begin

    def seconds(self, work: Callable[[], None]) -> float:
        """The median over rounds."""
        return statistics.median(self.round(work, REPEATS) for _ in range(ROUNDS))

    def round(self, work: Callable[[], None], repeats: int) -> float:
        """Seconds of one of so many calls in a row, by the GPU's clock."""
        ok(rt.infinirtEventRecord(self.begin, self.stream))
        for _ in range(repeats):
            work()
        ok(rt.infinirtEventRecord(self.end, self.stream))
        ok(rt.infinirtEventSynchronize(self.end))
        return float(ok(rt.infinirtEventElapsedTime(self.begin, self.end))) / 1e3 / repeats


def element_wise(bench: Bench, memory: list[int]) -> None:
    n = 8192
    size = n * n * 2
    copy = bench.seconds(lambda: rt.infinirtMemcpyAsync(memory[0], memory[1], size, 3, bench.stream))
    copied = 2 * size / copy / 1e12
    print(f"{'operator, 8192 x 8192':34}{'TB/s':>8}{'of a copy':>11}{'ms to make':>12}")
    print(f"{'copy, bf16':34}{copied:8.2f}{1:11.2f}")
    stream = ctypes.c_void_p(int(bench.stream))
    for name, dtype, layout in (
        ("Add", "BF16", "rows"), ("Add", "F16", "rows"), ("Add", "F32", "rows"), ("Add", "F8", "rows"),
        ("Add", "BF16", "bias"), ("Add", "BF16", "transposed"), ("Silu", "BF16", "rows"), ("Gelu", "BF16", "rows"),
        ("SwiGLU", "BF16", "rows"), ("Tanh", "F32", "rows"), ("Rearrange", "BF16", "rows"), ("Rearrange", "BF16", "transposed"),
    ):  # fmt: skip
        operator = BY_NAME[name]
        rows = bench.tensor(dtype, [n, n])
        last = {
            "rows": rows,
            "bias": bench.tensor(dtype, [n]),
            "transposed": bench.tensor(dtype, [n, n], [1, n]),
        }[layout]
        count = len(operator.inputs)
        made, seconds = bench.create(operator, [rows, *[rows] * (count - 1), last])
        workspace = [None, ctypes.c_size_t(0)] if operator.has_workspace else []
        given = [ctypes.c_void_p(address) for address in memory[: 1 + count]]
        function = getattr(bench.library, f"infiniop{name}")
        moved = (1 + count - (layout == "bias")) * n * n * DTYPES[dtype][1]
        rate = moved / bench.seconds(lambda f=function, a=(made, *workspace, *given, stream): f(*a)) / 1e12
        print(
            f"{f'{name}, {dtype.lower()}, {layout}':34}{rate:8.2f}{rate / copied:11.2f}{seconds * 1e3:12.1f}"
        )


def rows(bench: Bench, memory: list[int]) -> None:
    """Operators on rows: each element read once and written once is the least that has to be moved."""
    stream = ctypes.c_void_p(int(bench.stream))
    size = 8192 * 8192 * 2
    copy = bench.seconds(lambda: rt.infinirtMemcpyAsync(memory[0], memory[1], size, 3, bench.stream))
    copied = 2 * size / copy / 1e12
    print(f"\n{'rows':34}{'TB/s':>8}{'of a copy':>11}{'ms to make':>12}")
    for name, dtype, length in (
        ("RMSNorm", "BF16", 4096), ("RMSNorm", "BF16", 8192), ("RMSNorm", "F32", 4096), ("AddRMSNorm", "BF16", 4096),
        ("LayerNorm", "BF16", 4096), ("LayerNorm", "BF16", 8192), ("Softmax", "BF16", 4096), ("Softmax", "BF16", 8192),
        ("Softmax", "F32", 4096), ("Softmax", "BF16", 16384), ("Softmax", "BF16", 131072),
        ("Softmax", "BF16", 128), ("CausalSoftmax", "BF16", 4096), ("Sum", "BF16", 4096), ("Sum", "F32", 65536),
    ):  # fmt: skip
        operator = BY_NAME[name]
        assert operator.rows is not None
        count = 8192 * 8192 // length
        shapes = {"element": [count, length], "column": [length], "row": [count]}
        given = [None if t.optional else bench.tensor(dtype, shapes[t.place]) for t in operator.tensors]
        last = (ctypes.c_size_t * 1)(1)
        early: list[Any] = [ctypes.c_float(1e-5) for _ in operator.attributes]
        listed = [last, ctypes.c_size_t(1), ctypes.c_bool(False)] if operator.rows.along == "dims" else []
        axis = [ctypes.c_int(-1)] if operator.rows.along == "axis" else []
        made, seconds = bench.create(operator, [*given, *axis, *early, *listed])
        places = iter(memory)
        addresses = [ctypes.c_void_p(None if t.optional else next(places)) for t in operator.tensors]
        function = getattr(bench.library, f"infiniop{name}")
        arguments = (made, None, ctypes.c_size_t(0), *addresses, *listed, stream)
        elements = sum(t.place == "element" and not t.optional for t in operator.tensors)
        moved = elements * count * length * DTYPES[dtype][1]
        rate = moved / bench.seconds(lambda f=function, a=arguments: f(*a)) / 1e12
        what = f"{name}, {dtype.lower()}, {count} x {length}"
        print(f"{what:34}{rate:8.2f}{rate / copied:11.2f}{seconds * 1e3:12.1f}")


def rotations(bench: Bench, memory: list[int]) -> None:
    """RoPE of 8192 positions of 64 heads; the tables of angles are small beside them."""
    stream = ctypes.c_void_p(int(bench.stream))
    positions, heads, size = 8192, 64, 128
    copy = bench.seconds(
        lambda: rt.infinirtMemcpyAsync(memory[0], memory[1], positions * heads * size * 2, 3, bench.stream)
    )
    given = bench.tensor("BF16", [positions, heads, size])
    ids, table = bench.tensor("I64", [positions]), bench.tensor("F32", [positions, size // 2])
    places = (ctypes.c_int64 * positions)(*range(positions))
    ok(rt.infinirtMemcpy(memory[2], ctypes.addressof(places), ctypes.sizeof(places), 1))
    for algorithm, what in ((1, "halves"), (0, "neighbours")):
        made, _ = bench.create(BY_NAME["RoPE"], [given, given, ids, table, table, algorithm])
        addresses = [ctypes.c_void_p(memory[at]) for at in (0, 1, 2, 3, 4)]
        arguments = (made, None, ctypes.c_size_t(0), *addresses, stream)
        took = bench.seconds(lambda a=arguments: bench.library.infiniopRoPE(*a))
        moved = 2 * positions * heads * size * 2 + 2 * positions * size // 2 * 4
        what = f"RoPE, bf16, {positions} x {heads} x {size}, {what}"
        print(
            f"{what:42}{moved / took / 1e12:8.2f}{copy / took * moved / (2 * positions * heads * size * 2):11.2f}"
        )


WORKSPACE = 64 << 20


class SquareProduct:
    """n x n times n x n, by the descriptor that the environment asks for now."""

    def __init__(self, bench: Bench, memory: list[int], workspace: int, dtype: str, n: int) -> None:
        square = bench.tensor(dtype, [n, n])
        made, self.seconds_to_make = bench.create(BY_NAME["Gemm"], [square] * 3)
        size = ctypes.c_size_t()
        bench.call("infiniopGetGemmWorkspaceSize", made, ctypes.byref(size))
        assert size.value <= WORKSPACE
        self.function = bench.library.infiniopGemm
        self.arguments = (
            made, ctypes.c_void_p(workspace), size, *(ctypes.c_void_p(address) for address in memory[:3]),
            ctypes.c_float(1), ctypes.c_float(0), ctypes.c_void_p(int(bench.stream)),
        )  # fmt: skip

    def __call__(self) -> None:
        self.function(*self.arguments)


def products(bench: Bench, memory: list[int]) -> None:
    print(f"\n{'product':34}{'TFLOP/s':>8}{'ms to make':>23}")
    workspace = int(ok(rt.infinirtMalloc(WORKSPACE)))
    for dtype, n in (("BF16", 4096), ("BF16", 8192), ("F16", 8192), ("F32", 4096), ("F64", 4096)):
        product = SquareProduct(bench, memory, workspace, dtype, n)
        rate = 2 * n**3 / bench.seconds(product) / 1e12
        print(f"{f'{dtype.lower()}, {n} x {n} x {n}':34}{rate:8.1f}{product.seconds_to_make * 1e3:23.1f}")
    proposals(bench, memory, workspace)
    ok(rt.infinirtFree(workspace))


def proposals(bench: Bench, memory: list[int], workspace: int) -> None:
    """Ours beside everything that cuBLASLt proposes for the same product, in turns: clocks and power change by the minute."""
    n, most, rounds, repeats = 8192, 32, 7, 4
    ours = SquareProduct(bench, memory, workspace, "BF16", n)
    theirs = []
    for number in range(most):
        os.environ["INFINIOP_GEMM_PROPOSAL"] = str(number)
        theirs.append(SquareProduct(bench, memory, workspace, "BF16", n))
    del os.environ["INFINIOP_GEMM_PROPOSAL"]
    taken: list[list[float]] = [[] for _ in range(1 + most)]
    for _ in range(rounds):
        for product, times in zip((ours, *theirs), taken, strict=True):
            times.append(bench.round(product, repeats))
    rates = [2 * n**3 / statistics.median(times) / 1e12 for times in taken]
    best = max(rates[1:])
    print(
        f"\nbf16, {n} x {n} x {n}, in turns with {most} proposals of cuBLASLt: ours {rates[0]:.0f} TFLOP/s, "
        f"its first {rates[1]:.0f}, its best {best:.0f} (number {rates.index(best, 1) - 1}): ratio {rates[0] / best:.3f}"
    )


def main() -> int:
    error, *_ = rt.infinirtXSetDeviceType("nvidia")
    if int(error) != 0:
        print(rt.infinirtXGetLastErrorMessage()[1])
        return 0
    bench = Bench()
    memory = [int(ok(rt.infinirtMalloc(8192 * 8192 * 4))) for _ in range(5)]
    for address in memory:
        ok(rt.infinirtMemset(address, 0, 8192 * 8192 * 4))
    element_wise(bench, memory)
    rows(bench, memory)
    rotations(bench, memory)
    products(bench, memory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
