"""Pieces of memory in the ways in which operands can lie in it, and the verdict over what an operator left there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from ..schema import Operator
from ..schema.model import FLOATS

Array = Any
Shape = tuple[int, ...]

# Complex numbers of two narrow halves are only copied and filled: their bytes are all that matters.
NUMPY: dict[str, Any] = {
    "BYTE": np.uint8, "BOOL": np.bool_, "I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64,
    "U8": np.uint8, "U16": np.uint16, "U32": np.uint32, "U64": np.uint64, "F8": ml_dtypes.float8_e4m3fn,
    "F16": np.float16, "BF16": ml_dtypes.bfloat16, "F32": np.float32, "F64": np.float64, "C16": np.uint16,
    "C32": np.uint32, "C64": np.complex64, "C128": np.complex128,
}  # fmt: skip


@dataclass(frozen=True)
class Operand:
    """A view of a piece of memory that is brought to the device as a whole, with what lies between the elements."""

    root: Array
    view: Array

    def __getitem__(self, index: Any) -> Operand:
        return Operand(self.root, self.view[index])

    @property
    def turned(self) -> Operand:
        return Operand(self.root, self.view.T)

    def repeated(self, shape: Shape) -> Operand:
        return Operand(self.root, np.broadcast_to(self.view, shape))

    @property
    def offset(self) -> int:
        return int(self.view.ctypes.data - self.root.ctypes.data)

    @property
    def strides(self) -> list[int]:
        return [stride // self.view.itemsize for stride in self.view.strides]

    def over(self, root: Array) -> Array:
        """The same view of other memory of the root's size."""
        flat = np.frombuffer(root, dtype=np.uint8)
        return np.ndarray(
            self.view.shape, self.view.dtype, flat.data, offset=self.offset, strides=self.view.strides
        )


@dataclass(frozen=True)
class Trial:
    """One call, and its result."""

    what: str
    operands: dict[str, Operand | None]
    dtypes: dict[str, str]
    expected: Array
    limit: Array | None = None
    """How far a finite element may be off; None: the bytes are the same."""

    values: dict[str, Any] = field(default_factory=dict)
    element: bytes = b""
    further: dict[str, tuple[Array, Array | None]] = field(default_factory=dict)
    """Outputs beside the first, with what they have to hold and how far that may be off."""


def whole(array: Array) -> Operand:
    # Contiguous, and with dimensions as they are: ascontiguousarray would give a scalar one.
    copied = array.copy(order="C")
    return Operand(copied, copied)


# ---- elements


def ordinary(operator: Operator, dtype: str, shape: Shape, seed: int) -> Operand:
    random = np.random.default_rng(seed)
    if dtype in FLOATS:
        return whole(np.asarray(random.uniform(*operator.domain, shape)).astype(NUMPY[dtype]))
    if dtype == "BOOL":
        return whole(np.asarray(random.random(shape) < 0.5))
    low = -9 if np.iinfo(NUMPY[dtype]).min < 0 else 0
    return whole(np.asarray(random.integers(low, 9, shape)).astype(NUMPY[dtype]))


def facts_of(dtype: str) -> Any:
    """Of a floating-point type, as numpy.finfo() has them."""
    finfo: Any = ml_dtypes.finfo  # typed in some versions only
    return finfo(NUMPY[dtype])


def special(dtype: str, extremes: bool) -> list[Any]:
    if dtype == "BOOL":
        return [False, True]
    if dtype not in FLOATS:
        limits = np.iinfo(NUMPY[dtype])
        signed = [limits.min, limits.min + 1, -3, -1] if limits.min < 0 else []
        return [*signed, 0, 1, 2, 7, limits.max - 1, limits.max]
    facts = facts_of(dtype)
    ends = [facts.max, facts.min, facts.smallest_subnormal, facts.smallest_normal] if extremes else []
    return [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 20.0, -20.0, np.inf, -np.inf, np.nan, *map(float, ends)]


def raw(dtype: str, shape: Shape, seed: int = 9) -> Operand:
    """Elements of any bytes: what is only moved is not looked at."""
    size = np.dtype(NUMPY[dtype]).itemsize
    bytes_ = np.random.default_rng(seed).integers(0, 256, (*shape, size), dtype=np.uint8)
    if dtype == "BOOL":
        bytes_ &= 1
    return whole(bytes_.view(NUMPY[dtype]).reshape(shape))


# ---- layouts

Make = Callable[[Shape, int], Operand]
Layout = tuple[str, Shape, list[Operand]]


def input_layouts(make: Make, count: int) -> Iterator[Layout]:
    """Shapes of the output, with inputs in one of the ways in which they can lie in memory."""
    yield "no dimensions", (), [make((), i) for i in range(count)]
    yield "empty", (3, 0, 2), [make((3, 0, 2), i) for i in range(count)]
    yield "one element", (1, 1), [make((1, 1), i) for i in range(count)]
    yield "transposed", (5, 7), [make((7, 5), i).turned for i in range(count)]
    yield "backwards", (4, 6), [make((8, 6), i)[::-2, ::-1] for i in range(count)]
    yield "columns", (9, 3), [make((9, 7), i)[:, 1::2] for i in range(count)]
    yield (
        "in different orders",
        (4, 3, 5),
        [make((5, 3, 4), i).turned if i % 2 else make((4, 3, 5), i) for i in range(count)],
    )
    yield "rows and columns", (30, 50), [make([(30, 1), (1, 50), (50,)][i % 3], i) for i in range(count)]
    yield "a scalar", (2, 150), [make(() if i == count - 1 else (2, 150), i) for i in range(count)]
    yield (
        "stride 0",
        (3, 4),
        [make((4,), i).repeated((3, 4)) if i % 2 == 0 else make((3, 4), i) for i in range(count)],
    )


def half_layouts(make: Make) -> Iterator[Layout]:
    """The same for one input whose last dimension is twice the output's."""
    yield "empty", (3, 0), [make((3, 0), 0)]
    yield "one dimension", (5,), [make((10,), 0)]
    yield "transposed", (5, 7), [make((14, 5), 0).turned]
    yield "backwards", (4, 3), [make((8, 6), 0)[::-2, ::-1]]
    yield "columns", (9, 2), [make((9, 9), 0)[:, 1::2]]
    yield "repeated rows", (6, 7), [make((1, 14), 0)]
    yield "stride 0", (3, 4), [make((8,), 0).repeated((3, 8))]


def output_layouts(make: Callable[[Shape], Operand]) -> Iterator[tuple[str, Operand]]:
    """Ways in which an output of shape (6, 4) can lie in memory."""
    yield "output transposed", make((4, 6)).turned
    yield "output with gaps, backwards", make((12, 9))[10::-2, 1:8:2]


# ---- the verdict


def units(expected: Array, dtype: str) -> Array:
    """The distance between neighbouring numbers of the type at each value."""
    facts = facts_of(dtype)
    with np.errstate(all="ignore"):
        size = np.abs(np.where(np.isfinite(expected) & (expected != 0), expected, 1e-300))
        exponents = np.maximum(np.floor(np.log2(size)) - facts.nmant, -1100)
        return np.maximum(np.exp2(exponents), float(facts.smallest_subnormal))


def wrong_elements(trial: Trial, out: Operand, seen: Array) -> str:
    """What is wrong with a result, or nothing."""
    if trial.limit is None:
        good = np.asarray(
            [a == b for a, b in zip(elements(seen), elements(trial.expected), strict=True)], dtype=bool
        ).reshape(seen.shape)
    else:
        got = seen.astype(np.float64)
        with np.errstate(all="ignore"):
            rounded = trial.expected.astype(out.view.dtype).astype(np.float64)
            same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
            near = np.abs(got - trial.expected) <= trial.limit
        good = np.where(np.isfinite(rounded), near, same)
    if good.all():
        return ""
    at = tuple(int(i) for i in np.argwhere(~good)[0])
    return f"{seen[at]!s} at {list(at)}, not {trial.expected[at]!s}; {int((~good).sum())} of {good.size} are wrong"


def elements(array: Array) -> list[bytes]:
    raw_bytes, size = np.ascontiguousarray(array).tobytes(), array.itemsize
    return [raw_bytes[i : i + size] for i in range(0, len(raw_bytes), size)]
