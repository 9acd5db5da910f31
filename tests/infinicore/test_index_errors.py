"""Indices that are out of range, on the CPU device: the error of the stream says which one, and what could be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import infinicore
import infinirt
from infinicore.nn import functional

Call = Callable[[infinicore.Tensor, infinicore.Tensor], object]
CALLS: dict[str, tuple[Call, str]] = {
    "embedding": (lambda w, i: functional.embedding(i, w), "input has the index 12, and only 0 to 9 can be"),
    "gather": (lambda w, i: infinicore.gather(w, 0, i.view(3, 1)), "index has the index 12, and only 0 to 9"),
    "index_select": (
        lambda w, i: infinicore.index_select(w, 0, i),
        "index has the index 12, and only 0 to 9",
    ),
    "take": (lambda w, i: infinicore.take(w, i * 10), "indices has the index 120, and only 0 to 39 can be"),
    "take from the end": (
        lambda w, i: infinicore.take(w, i * -10),
        "indices has the index -120, and only 0 to 39",
    ),
    "index_add": (
        lambda w, i: infinicore.index_add(w, 0, i, infinicore.zeros([3, 4], device="cpu")),
        "index has the index 12, and only 0 to 9 can be",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_error_names_the_index(name: str) -> None:
    call, said = CALLS[name]
    weight = infinicore.zeros([10, 4], device="cpu")
    index = infinicore.from_numpy(np.array([1, 12, 3]))

    def call_and_wait() -> None:
        call(weight, index)
        weight.numpy()

    with pytest.raises(infinirt.InvalidValueError, match=said):
        call_and_wait()
    weight.numpy()  # told once
