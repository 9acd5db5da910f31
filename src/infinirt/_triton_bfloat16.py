"""bfloat16 in Triton's interpreter, as a GPU has it.

NumPy has no such type, so the interpreter keeps the bits in integers: it cuts float32 off to them instead of rounding, and adds,
multiplies and compares them as integers, and loses the smallest. Here numbers are made of them first, and the result is rounded to nearest even.
"""

from __future__ import annotations

from typing import Any


def repair(builder: Any, scope: Any) -> None:
    """Replaces methods of the interpreter's builder until the scope, one of Triton's own, is restored."""
    import numpy
    import triton.language as language
    from triton.runtime.interpreter import TensorHandle

    cast, binary, fma, dot = builder.cast_impl, builder.binary_op, builder.create_fma, builder.create_dot

    def is_narrow(handle: Any) -> bool:
        return bool(handle.dtype.scalar == language.bfloat16)

    def rounded(source: Any) -> Any:
        bits = numpy.ascontiguousarray(source.data).view(numpy.uint32).astype(numpy.uint64)
        nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
        kept = numpy.where(numpy.isnan(source.data), bits >> 16 | 0x40, nearest)
        return TensorHandle(kept.astype(numpy.uint16), language.bfloat16)

    def widened(source: Any) -> Any:
        if not is_narrow(source):
            return source
        return TensorHandle((source.data.astype(numpy.uint32) << 16).view(numpy.float32), language.float32)

    def cast_impl(source: Any, to: Any) -> Any:
        if source.dtype.scalar == language.float32 and to.scalar == language.bfloat16:
            return rounded(source)
        if is_narrow(source) and to.scalar != language.bfloat16:
            return cast(widened(source), to)
        if to.scalar == language.bfloat16 and not is_narrow(source):
            return rounded(cast(source, language.float32))
        return cast(source, to)

    def binary_op(left: Any, right: Any, operation: Any) -> Any:
        if not is_narrow(left):
            return binary(left, right, operation)
        result = binary(widened(left), widened(right), operation)
        # Comparisons keep their operands' type there, with truth values in it.
        return TensorHandle(result.data, language.bfloat16) if result.data.dtype == bool else rounded(result)

    def create_fma(x: Any, y: Any, z: Any) -> Any:
        return rounded(fma(widened(x), widened(y), widened(z))) if is_narrow(z) else fma(x, y, z)

    def create_dot(a: Any, b: Any, *more: Any) -> Any:
        return dot(widened(a), widened(b), *more)

    for name, method in (
        ("cast_impl", cast_impl),
        ("binary_op", binary_op),
        ("create_fma", create_fma),
        ("create_dot", create_dot),
    ):
        scope.set_attr(builder, name, method)
