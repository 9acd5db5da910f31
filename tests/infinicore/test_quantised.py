"""Numbers of 8 and 4 bits from Python: outputs that are made only where they are given, scales that are read and written."""

from __future__ import annotations

import numpy as np
import pytest

import infinicore
import infinirt

F32 = infinicore.float32


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).normal(size=shape).astype("float32") * 3


def test_a_zero_point_is_made_where_it_is_given() -> None:
    x = numbers(6, 50)
    packed, scale, zero = infinicore.per_channel_quant_i8(infinicore.from_numpy(x))
    assert zero is None
    assert (packed.dtype, packed.shape, scale.dtype, scale.shape) == (infinicore.int8, [6, 50], F32, [6, 1])
    assert np.abs(packed.numpy() * scale.numpy() - x).max() <= scale.numpy().max() / 2 * 1.001
    given = infinicore.empty([6, 1], dtype=F32)
    packed, scale, zero = infinicore.per_channel_quant_i8(infinicore.from_numpy(x), x_zero=given)
    assert zero is given
    assert [packed.numpy().min(), packed.numpy().max()] == [-128, 127]
    back = (packed.numpy().astype("float32") - zero.numpy()) * scale.numpy()
    assert np.abs(back - x).max() <= scale.numpy().max() / 2 * 1.001


def test_a_scale_is_read_or_written() -> None:
    x = infinicore.from_list([[1.0, -2.0], [0.5, 127.0]], dtype=F32)
    scale = infinicore.full([1], 0.5, dtype=F32)
    packed = infinicore.per_tensor_quant_i8(x, scale, is_static=True)
    assert (packed.tolist(), scale.tolist()) == ([[2, -4], [1, 127]], [0.5])
    packed = infinicore.per_tensor_quant_i8(x, scale)
    assert (packed.tolist(), scale.tolist()) == ([[1, -2], [0, 127]], [1.0])
    assert infinicore.per_tensor_dequant_i8(packed, scale).tolist() == [[1, -2], [0, 127]]
    narrow = infinicore.empty([2, 2], dtype=infinicore.bfloat16)
    assert infinicore.per_tensor_dequant_i8(packed, scale, out=narrow) is narrow


def test_a_recorded_layer_of_8_bits() -> None:
    x, weights, bias = numbers(9, 64), numbers(40, 64), numbers(40)
    packed_weights, weights_scale, _ = infinicore.per_channel_quant_i8(infinicore.from_numpy(weights))
    given, added = infinicore.from_numpy(x), infinicore.from_numpy(bias)
    out = infinicore.empty([9, 40], dtype=F32)
    with infinicore.record() as recorded:
        packed, scale, _ = infinicore.per_channel_quant_i8(given)
        infinicore.scaled_mm_i8(packed, scale, packed_weights.permute([1, 0]), weights_scale, added, out=out)
    for _ in range(2):
        recorded.graph.run()
        exact = x @ weights.T + bias
        assert np.abs(out.numpy() - exact).max() < 0.02 * np.abs(exact).max()
    assert "None" in str(recorded.graph.explain())


def test_what_does_not_fit_is_said() -> None:
    words = infinicore.zeros([2, 8], dtype=infinicore.int32)
    scales, zeros = infinicore.ones([2, 8], dtype=F32), infinicore.zeros([2, 1], dtype=infinicore.int32)
    with pytest.raises(ValueError, match=r"a row for each eight of the k rows.*k is 17"):
        infinicore.dequantize_gptq(words, scales, zeros, infinicore.zeros([17], dtype=infinicore.int32))
    with pytest.raises(ValueError, match="the k rows must be g groups"):
        infinicore.dequantize_awq(infinicore.zeros([5, 1], dtype=infinicore.int32), scales, zeros)
    eights = infinicore.zeros([4, 4], dtype=infinicore.int8)
    with pytest.raises(ValueError, match=r"x_scale has shape \(4, 2\); \(m 1\?\) was expected"):
        infinicore.scaled_mm_i8(eights, infinicore.ones([4, 2]), eights, infinicore.ones([4]))


def test_a_group_that_is_not_there_is_an_error_of_the_stream() -> None:
    words = infinicore.zeros([1, 8], dtype=infinicore.int32)
    scales, zeros = infinicore.ones([2, 8], dtype=F32), infinicore.zeros([2, 1], dtype=infinicore.int32)
    with pytest.raises(infinirt.InfiniRTError):
        infinicore.dequantize_gptq(
            words, scales, zeros, infinicore.from_list([0, 1, 2], dtype=infinicore.int32)
        ).numpy()
    assert infinicore.ones([2], dtype=F32).tolist() == [1, 1]
