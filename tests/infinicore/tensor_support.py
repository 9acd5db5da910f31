"""Tensors for tests, and NumPy's word for what they should be."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from hypothesis import strategies as st

import infinicore
import infinirt
from infinicore import _core

SHAPES = st.lists(st.integers(0, 4), max_size=4)
TYPES = st.sampled_from(["bool", "int8", "int32", "int64", "uint8", "float16", "float32", "float64"])


def numbers(shape: Any, dtype: Any = "float32") -> np.ndarray[Any, Any]:
    """Different numbers, small enough for every type."""
    return (np.arange(int(np.prod(shape)), dtype="int64") % 101).reshape(shape).astype(dtype)


def new_place(ordinal: int = 0) -> _core.Place:
    """A place of its own, on the CPU device."""
    device = infinirt.Device(f"cpu:{ordinal}")
    return _core.Place(
        infinicore.device("cpu", ordinal), device.create_stream(), infinirt.CachingPool(device)
    )


def keep_busy(place: _core.Place) -> None:
    """Gives the stream something that takes long: what does not wait for it reads too early."""
    place.stream.launch_host_func(time.sleep, 0.05)


@st.composite
def indices(draw: st.DrawFn, shape: list[int]) -> tuple[Any, ...]:
    """An index that NumPy and we take for such a shape."""
    parts: list[Any] = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        whole = st.slices(size)
        parts.append(draw(st.one_of(st.integers(-size, size - 1), whole) if size else whole))
        if draw(st.integers(0, 5)) == 0:
            parts.append(None)
    if draw(st.booleans()):
        # Positions before the ellipsis stay; there is nothing after it, so any index is valid there.
        parts.append(Ellipsis)
    return tuple(parts)


@st.composite
def strided(draw: st.DrawFn, dtype: str = "float32") -> tuple[infinicore.Tensor, np.ndarray[Any, Any]]:
    """A tensor of any shape and strides, and the same in NumPy."""
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    array = numbers(shape, dtype)
    tensor = infinicore.from_numpy(array)
    key = draw(indices(shape))
    array, tensor = np.asarray(array[key]), tensor[key]
    order = draw(st.permutations(range(array.ndim)))
    return tensor.permute(list(order)), array.transpose(order)


def same(tensor: infinicore.Tensor, array: Any) -> None:
    """Equal in shape, type and every element."""
    assert tensor.shape == list(np.shape(array))
    assert tensor.tolist() == np.asarray(array).tolist()
    # numpy() makes later calls on the memory wait, which would hide a missing order: another tensor's.
    copied = tensor.clone().numpy()
    assert copied.dtype == np.asarray(array).dtype
    np.testing.assert_array_equal(copied, array)
