"""Products of matrices."""

from __future__ import annotations

from .model import Attribute, Operator, Tensor

OPERATORS: tuple[Operator, ...] = (
    Operator(
        "Gemm",
        "`alpha * a * b + beta * c` of matrices, or of as many as the first of three dimensions says; `a` and `b` may have one for all "
        "of `c`'s. F16 and BF16 are summed up as float. With `beta` 0 what `c` held is not read, with `alpha` 0 neither `a` nor `b`.",
        (Tensor("c", "out"), Tensor("a"), Tensor("b")),
        ("F16", "BF16", "F32", "F64"),
        lambda np, c, a, b, alpha, beta: alpha * (a @ b) + (beta * c if beta else 0),
        kind="gemm",
        attributes=(
            Attribute("alpha", "float", "the factor of the product", at_compute=True),
            Attribute("beta", "float", "the factor of what c held", at_compute=True),
        ),
    ),
)
