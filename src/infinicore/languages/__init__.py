"""Operators written in Python: with Triton (`@triton.jit`), with NineToothed, or out of other operators.

`operator()` registers one under the schema that built-in operators have, and gives a function of tensors; `check()` compares it with its
reference on a device. The languages are imported when an operator that is written in them is first called.

>>> import infinicore
>>> from infiniop.schema import Tensor
>>> @infinicore.operator(
...     tensors=(Tensor("y", "out"), Tensor("x")), dtypes=("F32",), reference=lambda np, x: 2 * x + 1, devices=()
... )
... def twice_plus_one(y, x):
...     "`2 * x + 1`."
>>> @twice_plus_one.on("cpu")
... def _(y, x):
...     infinicore.add(x * 2.0, 1.0, out=y)
>>> twice_plus_one(infinicore.ones([2])).tolist()
[3.0, 3.0]
"""

from __future__ import annotations

from .checking import CheckFailed, check
from .kernels import NineToothedKernel
from .registering import PythonOperator, operator, registered

__all__ = ["CheckFailed", "NineToothedKernel", "PythonOperator", "check", "operator", "registered"]
