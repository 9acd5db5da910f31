"""What C takes beside tensors for operators in space: lists that may be null, names, and pointers of which only null counts."""

from __future__ import annotations

import ctypes
from typing import Any

from op_support import BAD_SHAPE, create_tensor, handle, library, message, ok, pointer


def create(name: str, owner: Any, *arguments: Any) -> int:
    made = ctypes.c_void_p()
    status = getattr(library(), f"infiniopCreate{name}Descriptor")(owner, ctypes.byref(made), *arguments)
    if status == 0:
        ok(getattr(library(), f"infiniopDestroy{name}Descriptor")(made))
    return int(status)


def sizes(*numbers: int) -> Any:
    return (ctypes.c_size_t * len(numbers))(*numbers)


def tensors(*shapes: tuple[int, ...]) -> list[ctypes.c_void_p]:
    return [create_tensor("F32", shape)[1] for shape in shapes]


def test_lists_of_a_convolution() -> None:
    two, three = ctypes.c_size_t(2), ctypes.c_size_t(3)
    with handle() as owner:
        plain, padded, x, w, line = tensors((1, 4, 3, 4), (1, 4, 3, 6), (1, 2, 5, 6), (4, 2, 3, 3), (1, 2, 5))
        none = pointer(None)
        # Without lists: no padding, and steps of one.
        ok(create("Conv", owner, plain, x, w, none, none, none, none, two))
        ok(create("Conv", owner, padded, x, w, none, sizes(0, 1), none, sizes(1, 1), two))
        assert create("Conv", owner, plain, x, w, none, sizes(0, 1), none, none, two) == BAD_SHAPE
        assert "y must have (size + 2 * pad" in message()
        assert create("Conv", owner, plain, x, w, none, none, sizes(0, 1), none, two) == BAD_SHAPE
        assert "strides, dilations and the sizes of the kernel must be at least 1" in message()
        # A list is longer than there are dimensions: what it says of the missing one has to be nothing.
        ok(create("Conv", owner, plain, x, w, none, sizes(0, 0, 0), none, none, three))
        assert create("Conv", owner, plain, x, w, none, none, none, none, ctypes.c_size_t(4)) == BAD_SHAPE
        assert "n must be from 1 to 3" in message()
        assert create("Conv", owner, plain, line, w, none, none, none, none, two) == BAD_SHAPE
        assert "with as many dimensions missing as in the others" in message()


def test_names_and_what_is_only_given() -> None:
    with handle() as owner:
        y, x = tensors((1, 1, 9), (1, 1, 6))
        none, corners, scale = pointer(None), ctypes.c_int(0), ctypes.byref(ctypes.c_double(1.5))
        size = ctypes.byref(ctypes.c_int64(9))
        ok(create("Interpolate", owner, y, x, b"linear", size, none, corners))
        ok(create("Interpolate", owner, y, x, b"nearest", none, scale, corners))
        assert create("Interpolate", owner, y, x, b"best", size, none, corners) == BAD_SHAPE
        assert "mode must be one of nearest, linear" in message()
        assert create("Interpolate", owner, y, x, None, size, none, corners) == BAD_SHAPE
        assert create("Interpolate", owner, y, x, b"linear", none, none, corners) == BAD_SHAPE
        assert "size or scale_factor must be given" in message()


def test_windows_lie_side_by_side_without_a_stride() -> None:
    with handle() as owner:
        y, x = tensors((1, 1, 2, 3, 4), (1, 1, 4, 6, 8))
        ok(create("AvgPool3d", owner, y, x, sizes(2, 2, 2), pointer(None), pointer(None)))
        assert create("AvgPool3d", owner, y, x, sizes(2, 2, 2), sizes(1, 1, 1), pointer(None)) == BAD_SHAPE
        assert create("AdaptiveAvgPool3D", owner, y, x, sizes(2, 3, 5)) == BAD_SHAPE
        assert "output_size must be the size of the output" in message()
        ok(create("AdaptiveAvgPool3D", owner, y, x, sizes(2, 3, 4)))
