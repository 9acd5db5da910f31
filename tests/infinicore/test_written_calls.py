"""Written operators from Python: shapes and types of what is made, arguments that are written, recording, layers, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import Tensor
from infinicore.nn import functional


def tensor(*shape: int, seed: int = 1) -> Tensor:
    return infinicore.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def integers(*values: int) -> Tensor:
    return infinicore.from_numpy(np.array(values, dtype=np.int64))


def softmax(x: Any) -> Any:
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def test_an_embedding() -> None:
    weight, rows = tensor(6, 5), integers(3, 0, 3)
    made = functional.embedding(rows, weight)
    assert (made.shape, made.dtype) == ([3, 5], infinicore.float32)
    assert np.array_equal(made.numpy(), weight.numpy()[[3, 0, 3]])
    out = infinicore.empty([3, 5])
    assert functional.embedding(rows, weight, out=out) is out
    assert np.array_equal(out.numpy(), made.numpy())


def test_a_row_that_there_is_not_is_an_error_of_the_stream() -> None:
    made = functional.embedding(integers(6), tensor(6, 5))
    with pytest.raises(ValueError, match="infiniopEmbedding"):
        made.numpy()
    assert functional.embedding(integers(5), tensor(6, 5)).shape == [1, 5]


def test_positions_turn_in_place() -> None:
    x, table = tensor(4, 2, 6), tensor(9, 3, seed=2)
    expected = functional.rope(x, integers(0, 1, 2, 8), table, table)
    assert functional.rope(x, integers(0, 1, 2, 8), table, table, functional.RopeAlgo.GPT_NEOX, out=x) is x
    assert np.array_equal(x.numpy(), expected.numpy())
    other = functional.rope(tensor(4, 2, 6), integers(0, 1, 2, 8), table, table, functional.RopeAlgo.GPT_J)
    assert not np.array_equal(other.numpy(), expected.numpy())


def test_caches_are_written_and_given_back() -> None:
    k_cache, v_cache = infinicore.zeros([1, 2, 8, 4]), infinicore.zeros([1, 2, 8, 4])
    k, v = tensor(1, 2, 3, 4), tensor(1, 2, 3, 4, seed=2)
    given = infinicore.kv_caching(k_cache, v_cache, k, v, integers(5))
    assert given[0] is k_cache
    assert given[1] is v_cache
    assert np.array_equal(k_cache.numpy()[:, :, 5:], k.numpy())
    assert not k_cache.numpy()[:, :, :5].any()


def test_attention_gives_back_what_it_made() -> None:
    q, k, v = tensor(4, 2, 8), tensor(2, 2, 8, seed=2), tensor(2, 2, 8, seed=3)
    k_cache, v_cache = infinicore.zeros([2, 6, 8]), infinicore.zeros([2, 6, 8])
    out = infinicore.attention(q, k, v, k_cache, v_cache, 0)
    assert out.shape == [2, 4, 8]
    assert np.array_equal(k_cache.numpy()[:, :2], k.numpy())
    assert np.allclose(out.numpy()[0], v.numpy()[[0, 0, 1, 1], 0], atol=1e-6)  # the first query sees one key


@pytest.mark.parametrize("is_causal", [False, True])
def test_layers(is_causal: bool) -> None:
    q, k, v = (tensor(2, 3, 5, 8, seed=i) for i in range(3))
    made = functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
    scores = q.numpy() @ np.swapaxes(k.numpy(), -1, -2) / np.sqrt(8)
    if is_causal:
        scores = np.where(np.tri(5, dtype=bool), scores, -np.inf)
    assert np.allclose(made.numpy(), softmax(scores) @ v.numpy(), atol=1e-5)
    x, weight, bias = tensor(2, 3, 4), tensor(5, 4, seed=2), tensor(5, seed=3)
    expected = x.numpy() @ weight.numpy().T + bias.numpy()
    out = infinicore.empty([2, 3, 5])
    assert np.allclose(functional.linear(x, weight, bias).numpy(), expected, atol=1e-5)
    assert functional.linear(x, weight, bias, out=out) is out
    assert np.allclose(out.numpy(), expected, atol=1e-5)


def test_recorded_caches_are_read_again() -> None:
    """A call that reads what it writes is not taken for one whose earlier results nobody needs."""
    cache, other = infinicore.zeros([1, 1, 4, 2]), infinicore.zeros([1, 1, 4, 2])
    k, place = tensor(1, 1, 1, 2), integers(0)
    with infinicore.record() as recorder:
        infinicore.kv_caching(cache, other, k, k, place)
        place += 1
        infinicore.kv_caching(cache, other, k, k, place)
        total = infinicore.sum(cache)
    recorder.graph.run()
    assert np.array_equal(cache.numpy()[0, 0, 0], k.numpy()[0, 0, 0])
    assert np.array_equal(cache.numpy()[0, 0, 1], k.numpy()[0, 0, 0])
    assert total.item() == pytest.approx(2 * k.numpy().sum(), abs=1e-5)


def test_what_is_refused() -> None:
    x, table = tensor(4, 2, 6), tensor(9, 3)
    with pytest.raises(ValueError, match=r"sin_table has shape \(9, 2\); \(m d/2\) was expected: s is 4"):
        functional.rope(x, integers(0, 1, 2, 3), tensor(9, 2), table)
    with pytest.raises(TypeError, match="pos_ids has type float32"):
        functional.rope(x, tensor(4), table, table)
    with pytest.raises(TypeError, match=r"k_cache is written, and must be a Tensor, not NoneType"):
        infinicore.kv_caching(None, x, x, x, integers(0))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be a multiple of that of the keys"):
        functional.flash_attention(tensor(1, 3, 2, 4), tensor(1, 2, 2, 4), tensor(1, 2, 2, 4))
    with pytest.raises(ValueError, match="no masks"):
        functional.flash_attention(x, x, x, None, x)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"linear\(\): input has shape"):
        functional.linear(x, x)
