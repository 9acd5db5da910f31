"""An operator in Triton with two outputs, weights and an attribute: a sum and its RMS norm, in one pass over memory."""

import triton
import triton.language as tl

import infinicore
from infinicore.languages import check
from infiniop.schema import Attribute, Tensor


@triton.jit
def add_rms_norm_row(y, total, a, b, weight, n, eps, HAS_WEIGHT: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    inside = column < n
    first = tl.program_id(0).to(tl.int64) * n
    left = tl.load(a + first + column, mask=inside, other=0.0).to(tl.float32)
    right = tl.load(b + first + column, mask=inside, other=0.0).to(tl.float32)
    s = left + right
    tl.store(total + first + column, s, mask=inside)
    s *= 1.0 / tl.sqrt(tl.sum(s * s, axis=0) / n + eps)
    if HAS_WEIGHT:
        s *= tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + first + column, s, mask=inside)


def reference(np, a, b, weight, eps):
    s = a + b
    return s / np.sqrt((s * s).mean(axis=-1, keepdims=True) + eps) * weight, s


@infinicore.operator(
    tensors=(
        Tensor("y", "out"),
        Tensor("total", "out"),
        Tensor("a"),
        Tensor("b"),
        Tensor("weight", place="column", default=1.0),  # may be None
    ),
    attributes=(Attribute("eps", "float", "Added to the mean of the squares.", default=1e-5),),
    dtypes=("F16", "BF16", "F32"),
    reference=reference,
    kind="rows",
    ulps=16,
)
def fused_add_rms_norm(y, total, a, b, weight, eps):
    """The RMS norm of `a + b` times `weight`, and the sum itself."""
    n = a.size(-1)
    add_rms_norm_row[(a.numel() // n,)](
        y, total, a, b, weight, n, eps, HAS_WEIGHT=weight is not None, BLOCK=triton.next_power_of_2(n)
    )


if __name__ == "__main__":
    here = infinicore.get_device()
    a, b = infinicore.ones([2, 8], device=here), infinicore.full([2, 8], 3.0, device=here)
    y, total = fused_add_rms_norm(a, b, eps=1e-6)
    print(y[0, 0].item(), total[0, 0].item())
    fused_add_rms_norm(a, b, out=(a, b))  # over the inputs
    print(b[0, 0].item())
    print(check(fused_add_rms_norm))
