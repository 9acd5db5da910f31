"""Operators of infinicore, by size, each until its result is there."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import infinirt

from .case import OURS, Case, Contenders, Setting
from .measure import Contender
from .memory_cases import by, torch_waited

ELEMENTS = (1 << 10, 1 << 16, 1 << 20, 1 << 24)
ROW = 1024
SIDES = (64, 256, 1024)


def infinicore_on(setting: Setting) -> Any:
    """infinicore with the device chosen, or None where the device type has no operators."""
    import infinicore

    infinicore.set_device(f"{setting.type}:{setting.device.ordinal}")
    try:
        infinicore.get_infiniop_handle()
    except infinirt.NotSupportedError:
        return None
    return infinicore


def values(*shape: int) -> Any:
    return np.random.default_rng(7).standard_normal(shape, dtype=np.float32)


def waited(core: Any, call: Callable[[], object]) -> Callable[[], object]:
    def run() -> None:
        call()
        core.sync_stream()

    return run


def with_torch(
    setting: Setting,
    found: Contenders,
    arrays: list[Any],
    call: Callable[[Any, list[Any]], Callable[[], object]],
) -> Contenders:
    """PyTorch, on as many threads as our device has workers."""
    torch = setting.torch()
    if torch is not None:
        if setting.type != "nvidia":
            torch.set_num_threads(len(os.sched_getaffinity(0)))
        tensors = [torch.from_numpy(array).to(setting.torch_device()) for array in arrays]
        found["PyTorch"] = Contender(torch_waited(torch, setting, call(torch, tensors)))
    return found


def add(setting: Setting, count: int) -> Contenders | None:
    core = infinicore_on(setting)
    if core is None or count * 12 > setting.largest * 3:
        return None
    arrays = [values(count), values(count), values(count)]
    x, y, z = (core.from_numpy(array).to(core.get_device()) for array in arrays)
    found = {OURS: Contender(waited(core, partial(core.add, x, y, out=z)))}
    if setting.type.startswith("cpu"):
        found["NumPy"] = Contender(partial(np.add, arrays[0], arrays[1], out=arrays[2]))
    return with_torch(setting, found, arrays, lambda torch, t: partial(torch.add, t[0], t[1], out=t[2]))


def softmax(setting: Setting, count: int) -> Contenders | None:
    core = infinicore_on(setting)
    if core is None or count * 8 > setting.largest * 2:
        return None
    array = values(max(count // ROW, 1), min(count, ROW))
    x = core.from_numpy(array).to(core.get_device())
    found = {OURS: Contender(waited(core, partial(core.nn.functional.softmax, x, -1)))}
    return with_torch(
        setting, found, [array], lambda torch, t: partial(torch.nn.functional.softmax, t[0], -1)
    )


def matmul(setting: Setting, side: int) -> Contenders | None:
    core = infinicore_on(setting)
    if core is None or side * side * 4 > setting.largest:
        return None
    arrays = [values(side, side), values(side, side), values(side, side)]
    a, b, c = (core.from_numpy(array).to(core.get_device()) for array in arrays)
    found = {OURS: Contender(waited(core, partial(core.matmul, a, b, out=c)))}
    if setting.type.startswith("cpu"):
        found["NumPy"] = Contender(partial(np.matmul, arrays[0], arrays[1], out=arrays[2]))
    return with_torch(setting, found, arrays, lambda torch, t: partial(torch.matmul, t[0], t[1], out=t[2]))


def chain(setting: Setting, count: int) -> Contenders | None:
    """Five element-wise operators: one by one, and recorded, which fuses them."""
    core = infinicore_on(setting)
    if core is None or count * 8 > setting.largest * 2:
        return None
    x = core.from_numpy(values(count)).to(core.get_device())

    def operators() -> Any:
        return core.nn.functional.silu(core.nn.functional.relu(x * 2.0 + 1.0) - 0.5)

    with core.record() as recording:
        kept = operators()
    graph = recording.graph

    def run() -> object:
        graph.run()
        return kept

    return {
        f"{OURS}, recorded": Contender(waited(core, run)),
        f"{OURS}, one by one": Contender(waited(core, operators)),
    }


CASES = (
    *(
        Case("operators.add", "operators", "add of float32", by(add, n), 12 * n, "elements", n)
        for n in ELEMENTS
    ),
    *(
        Case(
            "operators.softmax",
            "operators",
            f"softmax of rows of {ROW}, float32",
            by(softmax, n),
            8 * n,
            "elements",
            n,
        )
        for n in ELEMENTS
    ),
    *(
        Case("operators.chain", "operators", "five element-wise operators", by(chain, n), 0, "elements", n)
        for n in ELEMENTS
    ),
    *(
        Case(
            "operators.matmul",
            "operators",
            "product of square matrices, float32",
            by(matmul, n),
            0,
            "side",
            n,
        )
        for n in SIDES
    ),
)
