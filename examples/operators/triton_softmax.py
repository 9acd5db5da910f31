"""An operator in Triton: softmax of rows. One program has a whole row in registers.

On the CPU device Triton's interpreter runs it; on an NVIDIA GPU it is compiled. PyTorch is not needed for either.
"""

import triton
import triton.language as tl

import infinicore
from infinicore.languages import check
from infiniop.schema import Tensor


@triton.jit
def softmax_row(y, x, n, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    first = tl.program_id(0).to(tl.int64) * n
    row = tl.load(x + first + column, mask=column < n, other=float("-inf")).to(tl.float32)
    e = tl.exp(row - tl.max(row, axis=0))
    tl.store(y + first + column, e / tl.sum(e, axis=0), mask=column < n)


def reference(np, x):
    e = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
    return e / e.sum(axis=-1, keepdims=True)


@infinicore.operator(
    tensors=(Tensor("y", "out"), Tensor("x")),
    dtypes=("F16", "BF16", "F32"),
    reference=reference,
    kind="rows",
    ulps=16,
)
def softmax(y, x):
    """`exp(x)` over the sum of `exp(x)` in each row; rows are the last dimension."""
    n = x.size(-1)
    softmax_row[(x.numel() // n,)](y, x, n, BLOCK=triton.next_power_of_2(n))


if __name__ == "__main__":
    x = infinicore.from_list([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], dtype=infinicore.float32)
    x = x.to(infinicore.get_device())
    print(softmax(x))

    with infinicore.record() as recorded:
        y = softmax(x * 2.0)
    recorded.graph.run()
    print(recorded.graph.explain())

    print(check(softmax))
