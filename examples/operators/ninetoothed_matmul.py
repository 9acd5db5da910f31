"""An operator in NineToothed with a rule of its own for shapes: the product of two matrices, of any strides."""

import ninetoothed.language as ntl
from ninetoothed import Tensor as Tiled

import infinicore
from infinicore.languages import NineToothedKernel, check
from infiniop.schema import Tensor


def arrangement(a, b, c, m=32, n=32, k=32):
    tiles = c.tile((m, n))
    rows = a.tile((m, k)).tile((1, -1)).expand((-1, tiles.shape[1]))
    rows.dtype = rows.dtype.squeeze(0)
    columns = b.tile((k, n)).tile((-1, 1)).expand((tiles.shape[0], -1))
    columns.dtype = columns.dtype.squeeze(1)
    return rows, columns, tiles


def application(a, b, c):
    total = ntl.zeros(c.shape, dtype=ntl.float32)
    for k in range(a.shape[0]):
        total += ntl.dot(a[k], b[k], input_precision="ieee")
    c = total  # NineToothed makes a store of it


tensors = [Tiled(2, other=0), Tiled(2, other=0), Tiled(2)]
kernel = NineToothedKernel(arrangement, application, tensors, num_warps=4, num_stages=2)


def product_shape(a, b):
    if len(a) != 2 or len(b) != 2 or a[1] != b[0]:
        raise ValueError("two matrices were expected, the first with as many columns as the second has rows")
    return a[0], b[1]


@infinicore.operator(
    tensors=(Tensor("c", "out"), Tensor("a"), Tensor("b")),
    dtypes=("F16", "BF16", "F32"),
    reference=lambda np, a, b: a @ b,
    kind="shaped",
    shape=product_shape,
    examples=[{"a": (33, 70), "b": (70, 40)}, {"a": (1, 5), "b": (5, 1)}, {"a": (0, 3), "b": (3, 2)}],
    strides=True,
    ulps=64,
)
def tiled_matmul(c, a, b):
    """The product of two matrices."""
    kernel(a, b, c)


if __name__ == "__main__":
    here = infinicore.get_device()
    print(tiled_matmul(infinicore.ones([40, 50], device=here), infinicore.ones([50, 3], device=here))[0])
    print(check(tiled_matmul))
