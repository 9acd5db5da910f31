"""What a call of an operator in Python costs beside what its function does: here the function does nothing.

The least over the rounds, in turns, of calls whose signature was seen before; and of calls that are looked at in full, as the first with new shapes is.
Without Triton the rows of operators with kernels are empty: entering their block is what differs. For the device, nothing is enqueued.

    python benchmarks/python_operator_bench.py
"""

from __future__ import annotations

import importlib.util
import timeit
from collections.abc import Callable

import infinicore
from infinicore.languages import PythonOperator
from infinicore.nn import functional
from infiniop.schema import Attribute, Tensor

ROUNDS, CALLS = 21, 1000
HAS_TRITON = importlib.util.find_spec("triton") is not None


def operator(devices: tuple[str, ...]) -> PythonOperator:
    @infinicore.operator(
        tensors=(Tensor("y", "out"), Tensor("x"), Tensor("weight", place="column", default=1.0)),
        attributes=(Attribute("eps", "float", "Added.", default=1e-5),),
        dtypes=("F32",),
        reference=lambda np, x, weight, eps: x,
        kind="rows",
        devices=devices,
    )
    def nothing(y: infinicore.Tensor, x: infinicore.Tensor, weight: infinicore.Tensor, eps: float) -> None:
        """Nothing."""

    return nothing if devices else nothing.on("cpu")(nothing.__wrapped__)


def in_full(called: PythonOperator, *args: infinicore.Tensor) -> None:
    called._plans.clear()
    called(*args)


def main() -> None:
    x, weight, y = (infinicore.ones(shape, device="cpu") for shape in ([4, 8], [8], [4, 8]))
    calls: dict[str, Callable[[], object]] = {
        "functional.rms_norm, built in": lambda: functional.rms_norm(x, [8], weight)
    }
    for what, devices in (("of other operators", ()), ("with kernels", ("cpu",))):
        if devices and not HAS_TRITON:
            continue
        called = operator(devices)
        calls[what] = lambda called=called: called(x, weight)
        calls[f"{what}, out= and eps="] = lambda called=called: called(x, weight, eps=1e-6, out=y)
        calls[f"{what}, looked at in full"] = lambda called=called: in_full(called, x, weight)
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            least[name] = min(least[name], timeit.timeit(call, number=CALLS) / CALLS)
        infinicore.sync_device()
    for name, seconds in least.items():
        print(f"{name:40} {seconds * 1e6:8.1f} µs")


if __name__ == "__main__":
    main()
