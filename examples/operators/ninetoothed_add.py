"""An operator in NineToothed: the sum of two tensors. The arrangement cuts tensors into tiles, the application computes one."""

from ninetoothed import Tensor as Tiled

import infinicore
from infinicore.languages import NineToothedKernel, check
from infiniop.schema import Tensor


def arrangement(a, b, c):
    return a.tile((1024,)), b.tile((1024,)), c.tile((1024,))


def application(a, b, c):
    c = a + b  # noqa: F841  # NineToothed makes a store of it


kernel = NineToothedKernel(
    arrangement, application, [Tiled(1), Tiled(1), Tiled(1)], num_warps=4, num_stages=1
)


@infinicore.operator(
    tensors=(Tensor("c", "out"), Tensor("a"), Tensor("b")),
    dtypes=("F16", "BF16", "F32", "I32"),
    reference=lambda np, a, b: a + b,
)
def tiled_add(c, a, b):
    """`a + b`, element by element; shapes are broadcast."""
    kernel(a.view(-1), b.view(-1), c.view(-1))


if __name__ == "__main__":
    here = infinicore.get_device()
    x = infinicore.arange(3000, dtype=infinicore.int32, device=here)
    print(tiled_add(x, 5)[-3:])
    print(tiled_add(infinicore.ones([2, 1], device=here), infinicore.zeros([3], device=here)).shape)
    print(check(tiled_add))
