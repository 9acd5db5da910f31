"""Convolution, pooling and other sizes from Python: PyTorch's results where it is installed, shapes, `out`, recording, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import Tensor
from infinicore.nn import functional


def tensor(*shape: int, seed: int = 1) -> Tensor:
    return infinicore.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def agrees(name: str, *arguments: Any, **options: Any) -> None:
    """The function gives what PyTorch's of that name does."""
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.nn.functional, name)(
        *(torch.from_numpy(each.numpy()) if isinstance(each, Tensor) else each for each in arguments),
        **options,
    )
    ours = getattr(functional, name)(*arguments, **options)
    pairs = zip(ours, theirs, strict=True) if isinstance(ours, tuple) else [(ours, theirs)]
    for mine, other in pairs:
        assert mine.shape == list(other.shape), name
        assert np.allclose(mine.numpy(), other.numpy(), atol=2e-5), name


@pytest.mark.peer("torch")
def test_convolutions() -> None:
    agrees("conv1d", tensor(2, 3, 20), tensor(5, 3, 4, seed=2), tensor(5, seed=3), stride=2, padding=1)
    agrees("conv1d", tensor(3, 20), tensor(6, 1, 5, seed=2), groups=3, padding="same")
    agrees("conv2d", tensor(2, 4, 9, 11), tensor(6, 2, 3, 3, seed=2), None, (2, 1), (1, 2), (1, 2), 2)
    agrees("conv2d", tensor(1, 16, 14, 14), tensor(32, 16, 1, 1, seed=2), tensor(32, seed=3))
    agrees("conv2d", tensor(8, 5, 5), tensor(8, 1, 3, 3, seed=2), groups=8, padding=1)
    agrees("conv3d", tensor(1, 2, 5, 6, 7), tensor(4, 2, 2, 3, 3, seed=2), padding=(0, 1, 1))


@pytest.mark.peer("torch")
def test_pooling() -> None:
    for n, kernel, stride, padding in ((1, 3, 2, 1), (2, (3, 2), (2, 3), (1, 0)), (3, 2, None, 1)):
        x = tensor(2, 3, *(9, 10, 8)[:n])
        for ceil in (False, True):
            agrees(f"avg_pool{n}d", x, kernel, stride, padding, ceil, False)
            agrees(f"avg_pool{n}d", x, kernel, stride, padding, ceil)
            agrees(f"max_pool{n}d", x, kernel, stride, padding, 1, ceil)
        agrees(f"max_pool{n}d", x, kernel, stride, padding, dilation=2, return_indices=True)
        agrees(f"max_pool{n}d", tensor(3, *(9, 10, 8)[:n]), 2, return_indices=True)
        size: Any = 4 if n == 1 else (4, *(None, 5)[: n - 1])
        agrees(f"adaptive_avg_pool{n}d", x, size)
        agrees(f"adaptive_max_pool{n}d", x, size, return_indices=True)
        agrees(f"adaptive_max_pool{n}d", x, size)
    agrees("avg_pool2d", tensor(1, 2, 6, 6), 3, divisor_override=5)


@pytest.mark.peer("torch")
def test_other_sizes() -> None:
    for mode, n in (("linear", 1), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3)):
        x = tensor(2, 3, *(5, 6, 7)[:n])
        for corners in (False, True):
            agrees("interpolate", x, size=(9, 4, 11)[:n], mode=mode, align_corners=corners)
        agrees("interpolate", x, scale_factor=1.7, mode=mode)
        agrees("interpolate", x, scale_factor=(1.7, 0.6, 2.0)[:n], mode=mode)
        agrees("interpolate", x, scale_factor=1.7, mode=mode, recompute_scale_factor=True)
    for mode in ("nearest", "nearest-exact", "area"):
        agrees("interpolate", tensor(1, 2, 5, 7), size=(11, 3), mode=mode)
        agrees("interpolate", tensor(1, 2, 5, 7), scale_factor=2.3, mode=mode)
    agrees("affine_grid", tensor(2, 2, 3), (2, 4, 5, 6), align_corners=False)
    agrees("affine_grid", tensor(2, 3, 4), (2, 4, 5, 6, 3), align_corners=True)


def test_results_go_where_they_are_wanted() -> None:
    x, w = tensor(1, 2, 6), tensor(3, 2, 3, seed=2)
    out = infinicore.empty([1, 3, 4])
    made = functional.conv1d(x, w)
    assert functional.conv1d(x, w, out=out) is out
    assert np.array_equal(out.numpy(), made.numpy())
    alone = infinicore.empty([3, 4])
    assert functional.conv1d(x.squeeze(0), w, out=alone) is alone
    assert np.array_equal(alone.numpy(), made.numpy()[0])
    with infinicore.record() as recorder:
        pooled = functional.max_pool1d(functional.conv1d(x, w), 2)
    recorder.graph.run()
    assert np.array_equal(pooled.numpy(), made.numpy().reshape(1, 3, 2, 2).max(-1))


def test_what_is_refused() -> None:
    x, w = tensor(1, 2, 6, 6), tensor(3, 2, 3, 3)
    with pytest.raises(ValueError, match=r"conv2d\(\): input has shape .* and groups is 2"):
        functional.conv2d(x, w, groups=2)
    with pytest.raises(ValueError, match="stride must be at least 1"):
        functional.conv2d(x, w, stride=0)
    with pytest.raises(ValueError, match="is smaller than the kernel"):
        functional.conv2d(x, tensor(3, 2, 7, 7))
    with pytest.raises(ValueError, match="padding must be a number, or 2 of them"):
        functional.conv2d(x, w, padding=(1, 1, 1))
    with pytest.raises(ValueError, match="padding 'full'"):
        functional.conv2d(x, w, padding="full")
    with pytest.raises(ValueError, match="bias has shape"):
        functional.conv2d(x, w, tensor(4))
    with pytest.raises(TypeError, match="float64"):
        functional.conv2d(x, infinicore.from_numpy(np.ones((3, 2, 3, 3))))
    with pytest.raises(ValueError, match="out has shape"):
        functional.conv2d(x, w, out=infinicore.empty([1, 3, 5, 5]))
    with pytest.raises(ValueError, match="more than half of kernel_size"):
        functional.max_pool2d(x, 2, padding=2)
    with pytest.raises(ValueError, match="no window of size"):
        functional.avg_pool2d(x, 7)
    with pytest.raises(ValueError, match="channels and 1 dimensions of space were expected"):
        functional.avg_pool1d(x, 2)
    with pytest.raises(ValueError, match="mode bilinear is for 2 dimensions"):
        functional.interpolate(tensor(1, 1, 4), 8, mode="bilinear")
    with pytest.raises(ValueError, match="has no align_corners"):
        functional.interpolate(x, 8, align_corners=True)
    with pytest.raises(ValueError, match="either size or scale_factor"):
        functional.interpolate(x)
    with pytest.raises(ValueError, match="mode is 'best'"):
        functional.interpolate(x, 8, mode="best")
    with pytest.raises(ValueError, match="theta has shape"):
        functional.affine_grid(tensor(1, 2, 3), (1, 1, 2, 2, 2))
