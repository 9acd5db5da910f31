"""Operators whose signature is not output and inputs alone: inputs that may be null, and halves of one tensor."""

from __future__ import annotations

import numpy as np
import pytest
from op_support import (
    BAD_SHAPE,
    BY_NAME,
    NULL_POINTER,
    NUMPY,
    Array,
    check,
    compute,
    create,
    create_tensor,
    destroy,
    handle,
    library,
    message,
    ok,
    pointer,
    run,
)

POWER, LERP, SILU_AND_MUL, RELU = (BY_NAME[name] for name in ("FloatPower", "Lerp", "SiluAndMul", "Relu"))
on_devices = pytest.mark.usefixtures("device")


def numbers(dtype: str, *shape: int) -> Array:
    return np.random.default_rng(len(shape)).uniform(0.1, 2, shape).astype(NUMPY[dtype])


@on_devices
@pytest.mark.parametrize("dtype", POWER.dtypes)
def test_an_attribute_in_place_of_a_tensor(dtype: str) -> None:
    x, end = numbers(dtype, 30, 50), numbers(dtype, 50)
    out = np.zeros_like(x)
    wide, wide_end = x.astype(np.float64), end.astype(np.float64)
    run(POWER, {"y": out, "x": x, "exponent": None}, {"y": dtype, "x": dtype}, scalar_exponent=1.5)
    check(POWER, out, wide**1.5, dtype, "FloatPower")
    arrays = {"output": out, "start": x, "end": end, "weight": None}
    run(LERP, arrays, dict.fromkeys(arrays, dtype), weight_scalar=0.25)
    check(LERP, out, wide + 0.25 * (wide_end - wide), dtype, "Lerp")


@on_devices
@pytest.mark.parametrize("dtype", SILU_AND_MUL.dtypes)
def test_halves(dtype: str) -> None:
    for whole in (
        numbers(dtype, 7, 5, 34),
        numbers(dtype, 34),
        numbers(dtype, 34, 6).T,
        numbers(dtype, 3, 70)[::-1, ::-1][:, 2:36],
        np.broadcast_to(numbers(dtype, 1, 34), (4, 34)),
    ):
        out = np.zeros((*whole.shape[:-1], 17), dtype=whole.dtype)
        arrays = {"output": out, "input": whole}
        run(SILU_AND_MUL, arrays, dict.fromkeys(arrays, dtype))
        wide = whole.astype(np.float64)
        expected = SILU_AND_MUL.reference(np, wide[..., :17], wide[..., 17:])
        check(SILU_AND_MUL, out, expected, dtype, f"{whole.shape} {whole.strides}")


def test_what_is_refused() -> None:
    with handle() as owner:
        shapes = {"out": [3, 4], "odd": [3, 9], "long": [3, 10], "none": []}
        made = {name: create_tensor("F32", shape)[1] for name, shape in shapes.items()}
        for name in ("odd", "long", "none"):
            status, _ = create(SILU_AND_MUL, owner, {"output": made["out"], "input": made[name]})
            assert status == BAD_SHAPE
            assert "the last dimension of input must be twice that of output" in message()
        # Only the last one may be missing.
        tensors = {"y": made["out"], "x": pointer(None), "exponent": made["out"]}
        status, _ = create(POWER, owner, tensors, scalar_exponent=1)
        assert status == NULL_POINTER
        assert "x:" in message()
        # A descriptor with a tensor needs its address.
        tensors["x"] = made["out"]
        status, with_tensor = create(POWER, owner, tensors, scalar_exponent=1)
        ok(status)
        assert compute(POWER, with_tensor, {"y": 8, "x": 8, "exponent": None}) == NULL_POINTER
        assert "exponent is null" in message()
        assert destroy(RELU, with_tensor) != 0
        ok(destroy(POWER, with_tensor))
        for tensor in made.values():
            ok(library().infiniopDestroyTensorDescriptor(tensor))
