"""Operators on rows in Python: softmaxes, norms, reductions; their arguments, their errors, and their place in recorded graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.nn import functional


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def tensors(*arrays: Any) -> list[infinicore.Tensor]:
    return [infinicore.from_numpy(array) for array in arrays]


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x.astype("f8") - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def rms(x: Any, eps: float = 1e-5) -> Any:
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)


def close(made: infinicore.Tensor, expected: Any) -> None:
    assert made.shape == list(np.shape(expected))
    np.testing.assert_allclose(made.numpy(), expected, rtol=3e-5, atol=2e-6)


def test_softmax_along_any_dimension() -> None:
    x = numbers(3, 4, 5)
    (t,) = tensors(x)
    close(functional.softmax(t), softmax(x))
    for dim in (0, 1, 2, -3):
        close(functional.softmax(t, dim), softmax(x, dim))
        close(infinicore.log_softmax(t, dim=dim), np.log(softmax(x, dim)))
    out = infinicore.empty([3, 4, 5])
    assert infinicore.softmax(t, -2, out=out) is out
    close(out, softmax(x, -2))
    assert infinicore.softmax(t, 1, out=t) is t  # in place
    close(t, softmax(x, 1))


def test_causal_softmax() -> None:
    x = numbers(2, 3, 5)
    seen = np.arange(5) <= np.arange(3)[:, None] + 2
    close(functional.causal_softmax(*tensors(x)), softmax(np.where(seen, x, -np.inf)))


def test_norms_with_and_without_weights() -> None:
    x, w, b = numbers(6, 40), numbers(40, seed=1), numbers(40, seed=2)
    t, weight, bias = tensors(x, w, b)
    close(functional.rms_norm(t, [40], weight), rms(x) * w)
    close(functional.rms_norm(t, (40,), weight, 0.5), rms(x, 0.5) * w)
    close(functional.rms_norm(t, [40], None, eps=0.25), rms(x, 0.25))
    centred = x - x.mean(axis=-1, keepdims=True)
    close(functional.layer_norm(t, [40], weight, bias), rms(centred) * w + b)
    close(functional.layer_norm(t, [40], bias=bias, weight=None), rms(centred) + b)
    close(functional.layer_norm(t, [40]), rms(centred))
    half = functional.rms_norm(t.to(infinicore.float16), [40], weight)
    assert half.dtype is infinicore.float16
    np.testing.assert_allclose(half.numpy(), rms(x) * w, rtol=3e-3, atol=2e-3)


def test_lp_norm() -> None:
    x = numbers(6, 40)
    (t,) = tensors(x)
    close(infinicore.lp_norm(t), x / np.sqrt((x * x).sum(axis=-1, keepdims=True)))
    close(infinicore.lp_norm(t, 0, p=1), x / np.abs(x).sum(axis=0))


def test_reductions_of_integers_and_truth() -> None:
    array = np.random.default_rng(3).integers(-100, 100, (4, 30))
    for dtype in ("i1", "i4", "i8", "u1", "u2"):
        x = array.astype(dtype)
        (t,) = tensors(x)
        for made, expected in (
            (infinicore.sum(t, 1), x.sum(axis=1)), (infinicore.sum(t), x.sum()), (infinicore.prod(t[:, :5], 1), x[:, :5].prod(axis=1).astype("i8")),
        ):  # fmt: skip
            assert made.dtype is infinicore.int64
            assert made.tolist() == expected.tolist()
        for made, expected in (
            (infinicore.amax(t, 0), x.max(axis=0)),
            (infinicore.amin(t, 0), x.min(axis=0)),
        ):
            assert made.dtype is t.dtype
            assert made.tolist() == expected.tolist()
        assert infinicore.all(t, 1).tolist() == x.all(axis=1).tolist()
        mask = t > 0
        assert infinicore.sum(mask, 1).tolist() == (x > 0).sum(axis=1).tolist()
        assert infinicore.any(mask, 1).tolist() == (x > 0).any(axis=1).tolist()
        assert infinicore.amax(mask).dtype is infinicore.bool
    (t,) = tensors(array.astype("i4"))
    out = infinicore.empty([4], dtype=infinicore.int64)
    assert infinicore.sum(t, 1, out=out) is out
    with pytest.raises(TypeError, match="out is int32; possible are int64"):
        infinicore.sum(t, 1, out=infinicore.empty([4], dtype=infinicore.int32))
    with pytest.raises(TypeError, match="out is int64, but input is int32"):
        infinicore.amax(t, 1, out=out)


def test_sums_of_linear_algebra() -> None:
    x, y = numbers(200), numbers(200, seed=1)
    a, b = tensors(x, y)
    close(infinicore.asum(a), np.abs(x).sum())
    close(infinicore.nrm2(a), np.linalg.norm(x))
    close(infinicore.blas_dot(a, b), x @ y)
    close(infinicore.dot(a, b), x @ y)
    out = infinicore.empty([1])
    assert infinicore.asum(x=a, out=out) is out
    close(out, [np.abs(x).sum()])
    with pytest.raises(ValueError, match="y has shape"):
        infinicore.blas_dot(a, b[:100])


def test_add_rms_norm_gives_two_tensors() -> None:
    x, y, w = numbers(4, 30), numbers(4, 30, seed=1), numbers(30, seed=2)
    a, b, weight = tensors(x, y, w)
    normed, total = infinicore.add_rms_norm(a, b, weight)
    close(normed, rms(x + y) * w)
    close(total, x + y)
    out, residual = infinicore.empty([4, 30]), infinicore.empty([4, 30])
    made = infinicore.add_rms_norm(a, b, weight, 0.5, out=out, residual=residual)
    assert made[0] is out
    assert made[1] is residual
    close(out, rms(x + y, 0.5) * w)
    out, residual = infinicore.empty([4, 30]), infinicore.empty([4, 30])
    assert infinicore.add_rms_norm(a, b, weight, out=(out, residual))[1] is residual
    close(residual, x + y)
    # As a model has it: over its own inputs, and over memory that lies otherwise.
    infinicore.add_rms_norm(a, b, weight, out=a, residual=b)
    close(a, rms(x + y) * w)
    close(b, x + y)
    wide = infinicore.from_numpy(np.concatenate([x, y]))
    infinicore.add_rms_norm(wide[:4], wide[4:], weight, out=wide[2:6])
    close(wide[2:6], rms(x + y) * w)


@pytest.mark.parametrize("dim", [None, 0, -1, [1], (0, 2), [2, 1, 0], []])
@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions_over_dimensions(dim: Any, keepdim: bool) -> None:
    x = numbers(3, 4, 5)
    (t,) = tensors(x)
    axes = tuple(dim) if isinstance(dim, (list, tuple)) and len(dim) else None if dim in (None, []) else dim
    for name, expected in (
        ("sum", np.sum), ("mean", np.mean), ("amax", np.max), ("amin", np.min), ("prod", np.prod),
    ):  # fmt: skip
        close(
            getattr(infinicore, name)(t, dim, keepdim), expected(x.astype("f8"), axis=axes, keepdims=keepdim)
        )
    close(infinicore.var(t, dim, True, keepdim), np.var(x, axis=axes, ddof=1, keepdims=keepdim))
    var, mean = infinicore.var_mean(t, dim, unbiased=False, keepdim=keepdim)
    close(var, np.var(x, axis=axes, keepdims=keepdim))
    close(mean, np.mean(x, axis=axes, keepdims=keepdim))
    positive = t > 0
    for name in ("all", "any"):
        made = getattr(infinicore, name)(positive, dim, keepdim=keepdim)
        assert made.dtype is infinicore.bool
        assert made.tolist() == getattr(np, name)(x > 0, axis=axes, keepdims=keepdim).tolist()


X, W = infinicore.from_numpy(numbers(3, 4)), infinicore.from_numpy(numbers(4))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: infinicore.softmax(X, 2), IndexError, "softmax(): dim is 2, but input has 2 dimensions"),
        (lambda: infinicore.softmax(X, -(10**30)), IndexError, "but input has 2 dimensions"),
        (lambda: infinicore.softmax(X, 0.5), TypeError, "dim must be a dimension's number, not float"),
        (lambda: infinicore.softmax(X, [0]), TypeError, "dim must be a dimension's number, not list"),
        (lambda: infinicore.sum(X, [0, -2]), ValueError, "sum(): dim has dimension 0 twice"),
        (lambda: infinicore.sum(X, 1.5), TypeError, "several of them, or None, not float"),
        (lambda: infinicore.sum(3.0), TypeError, "input must be a Tensor, not float"),
        (lambda: infinicore.add_rms_norm(X, 2.0), TypeError, "b must be a Tensor, not float"),
        (lambda: functional.rms_norm(X, [4], 2.0), TypeError, "weight must be a Tensor or None, not float"),
        (lambda: functional.rms_norm(X), TypeError, "needs the argument 'normalized_shape'"),
        (
            lambda: functional.rms_norm(X, [3], W),
            ValueError,
            "normalized_shape is [3], but weight has shape [4]",
        ),
        (
            lambda: functional.rms_norm(X, [3]),
            ValueError,
            "normalized_shape is [3], but input has shape [3, 4]",
        ),
        (
            lambda: functional.rms_norm(X, 4, W),
            TypeError,
            "normalized_shape must be a list of integers, not int",
        ),
        (
            lambda: functional.layer_norm(X, 4),
            TypeError,
            "normalized_shape must be a list of integers, not int",
        ),
        (
            lambda: functional.rms_norm(X.permute([1, 0]), [4], W),
            ValueError,
            "weight has shape [4]; with input of shape [4, 3] it must have [3]",
        ),
        (
            lambda: infinicore.add_rms_norm(X, X[:2]),
            ValueError,
            "b has shape [2, 4]; with a of shape [3, 4] it must have [3, 4]",
        ),
        (
            lambda: infinicore.sum(X, 0, out=infinicore.empty([3])),
            ValueError,
            "out has shape [3]; with input of shape [3, 4] it must have [4]",
        ),
        (lambda: infinicore.causal_softmax(W), ValueError, "a matrix or more was expected"),
        (lambda: infinicore.softmax(infinicore.ones([])), ValueError, "at least one dimension was expected"),
        (lambda: infinicore.amax(infinicore.empty([3, 0]), 1), ValueError, "its rows have no elements"),
        (
            lambda: infinicore.mean(X.to(infinicore.int32)),
            TypeError,
            "mean(): input is int32; possible are float16",
        ),
        (
            lambda: functional.rms_norm(X, [4], W.to(infinicore.float64)),
            TypeError,
            "weight is float64, but input is float32",
        ),
        (
            lambda: infinicore.lp_norm(X, -1, 2.5),
            ValueError,
            "p is 2.5; a whole number of 32 bits was expected",
        ),
        (lambda: infinicore.lp_norm(X, -1, 2**40), ValueError, "a whole number of 32 bits was expected"),
        (lambda: infinicore.var_mean(X, out=(X,)), TypeError, "a tuple of two"),
        (
            lambda: infinicore.add_rms_norm(X, X, out=X, residual=3),
            TypeError,
            "residual must be a Tensor, not int",
        ),
        (
            lambda: infinicore.softmax(X, out=infinicore.ones([1, 4]).broadcast_to([3, 4])),
            ValueError,
            "out has one element for all 3 of dimension 0",
        ),
    ],
)
def test_a_wrong_call_says_what_is_wrong(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        call()
    assert words in str(raised.value)


def test_descriptors_differ_by_dimensions() -> None:
    (t,) = tensors(np.ones((4, 4), np.float32) * np.arange(4, dtype=np.float32))
    for _ in range(2):
        assert infinicore.sum(t, 0).tolist() == [0, 4, 8, 12]
        assert infinicore.sum(t, 1).tolist() == [6, 6, 6, 6]
        assert infinicore.sum(t).tolist() == 24
        assert infinicore.sum(t, 1, True).shape == [4, 1]


# ---- recorded graphs


@pytest.mark.parametrize("optimised", [True, False])
def test_recorded_graphs_take_them(optimised: bool) -> None:
    """Element-wise calls before and after, a result that is read twice, and two results of one call."""
    x, y, w = numbers(8, 50), numbers(8, 50, seed=1), numbers(50, seed=2)
    a, b, weight = tensors(x, y, w)
    wanted = dict.fromkeys(("remove_unused", "fuse", "share_memory"), optimised)
    with infinicore.record(**wanted) as recorder:
        scaled = a * 2.0 + b
        normed, total = infinicore.add_rms_norm(scaled, b, weight)
        made = functional.softmax(normed * total, -1) * 3.0
        largest = infinicore.amax(made, -1)
        del scaled, normed
    for factor in (1.0, -0.5):
        a.copy_(infinicore.from_numpy(x * np.float32(factor)))
        recorder.graph.run()
        sums = x * factor * 2 + y + y
        expected = softmax(rms(sums) * w * sums) * 3
        np.testing.assert_allclose(total.numpy(), sums, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(made.numpy(), expected, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(largest.numpy(), expected.max(axis=-1), rtol=1e-3, atol=1e-5)
    text = str(recorder.graph.explain())
    assert "add_rms_norm" in text
    assert "softmax" in text


def test_a_result_that_nobody_reads_is_not_computed_unless_it_is_one_of_two() -> None:
    a, weight = tensors(numbers(4, 6), numbers(6))
    with infinicore.record() as recorder:
        infinicore.softmax(a)
        _, total = infinicore.add_rms_norm(a, a, weight)
    recorder.graph.run()
    close(total, 2 * a.numpy())
    text = str(recorder.graph.explain())
    assert "nobody reads its result" in text
