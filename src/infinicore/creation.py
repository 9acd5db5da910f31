"""Tensors from sizes, numbers, arrays and other libraries' memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core
from ._arguments import wrong_argument
from ._places import place_for
from ._transfer import copy_from_host
from ._views import _contiguous, sizes
from .dtype import checked, float32, from_numpy_dtype, from_torch_dtype, int64, to_numpy_dtype
from .tensor import Tensor, _encoded

__all__ = [
    "arange",
    "empty",
    "empty_like",
    "eye",
    "from_blob",
    "from_dlpack",
    "from_list",
    "from_list_by_numpy",
    "from_numpy",
    "from_torch",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "strided_empty",
    "strided_from_blob",
    "zeros",
    "zeros_like",
]

_Sizes = Sequence[int]
_Dtype = _core.dtype | None

# The bytes of an element that is 0, and of one that is 1; types are added when they are asked for.
_zero: dict[_core.dtype, bytes] = {}
_one: dict[_core.dtype, bytes] = {}


def empty(
    size: _Sizes | int, *more: int, dtype: _Dtype = None, device: Any = None, pin_memory: bool = False
) -> Tensor:
    """A contiguous tensor whose elements are whatever the memory holds; float32, on the thread's current device. Sizes are one sequence, or
    one by one.

    `pin_memory` puts it into page-locked memory of the host, which devices copy from and to fastest.

    >>> import infinicore
    >>> infinicore.empty([2, 3], dtype=infinicore.int8).stride()
    [3, 1]
    """
    wanted = float32 if dtype is None else dtype
    if pin_memory:
        return _pinned(sizes([size, *more], "empty", "size"), checked(wanted, "empty"), device)
    place = None if device is None else place_for(device)
    # As given, where it is a list already: reading it checks each size.
    shape = size if type(size) is list and not more else sizes([size, *more], "empty", "size")
    return _core.empty(place, wanted, shape)


def _pinned(size: list[int], dtype: _core.dtype, device: Any) -> Tensor:
    import infinirt

    place = place_for(device)
    if place.device.type_name != "cpu":
        raise ValueError("page-locked memory is the host's: pin_memory goes with device='cpu'")
    count = 1
    for each in size:
        count *= each
    # For the accelerator that is chosen first, if there is one; on the CPU device alone all memory is alike.
    buffer = infinirt.PinnedPool(infinirt.Device()).allocate(count * dtype.itemsize)
    return _core.wrap(place, dtype, size, _contiguous(size), buffer.ptr if count else 0, buffer, True, True)


def empty_like(input: Tensor, *, dtype: _Dtype = None, device: Any = None) -> Tensor:
    """As empty(), of the size, type and device of another tensor where nothing else is said."""
    try:
        place = input._place if device is None else place_for(device)
        return _core.empty(place, input.dtype if dtype is None else dtype, input.shape)
    except AttributeError as error:
        raise wrong_argument(empty_like, locals()) or error from None


def strided_empty(
    size: _Sizes, strides: _Sizes, *, dtype: _Dtype = None, device: Any = None, pin_memory: bool = False
) -> Tensor:
    """As empty(), with strides, in elements, that are 0 or more."""
    shape, steps = sizes([size], "strided_empty", "size"), sizes([strides], "strided_empty", "strides")
    if len(shape) != len(steps) or any(step < 0 for step in steps):
        raise ValueError(f"strides {steps}: one that is not negative was expected for each size of {shape}")
    reach = (
        0 if 0 in shape else 1 + sum((extent - 1) * step for extent, step in zip(shape, steps, strict=True))
    )
    memory = empty([reach], dtype=dtype, device=device, pin_memory=pin_memory)
    return memory.as_strided(shape, steps)


def zeros(
    size: _Sizes | int, *more: int, dtype: _Dtype = None, device: Any = None, pin_memory: bool = False
) -> Tensor:
    """A tensor of zeros; sizes as for `empty`."""
    if pin_memory:
        return empty(size, *more, dtype=dtype, device=device, pin_memory=True).zero_()
    wanted = float32 if dtype is None else dtype
    element = _zero.get(wanted) if type(wanted) is _core.dtype else None
    if element is None:
        element = _zero[wanted] = bytes(checked(wanted, "zeros").itemsize)
    place = None if device is None else place_for(device)
    shape = size if type(size) is list and not more else sizes([size, *more], "zeros", "size")
    return _core.filled(place, wanted, shape, element)


def ones(
    size: _Sizes | int, *more: int, dtype: _Dtype = None, device: Any = None, pin_memory: bool = False
) -> Tensor:
    """A tensor of ones; sizes as for `empty`."""
    if pin_memory:
        return empty(size, *more, dtype=dtype, device=device, pin_memory=True).fill_(1)
    wanted = float32 if dtype is None else dtype
    element = _one.get(wanted) if type(wanted) is _core.dtype else None
    if element is None:
        element = _one[wanted] = _encoded(1, checked(wanted, "ones"))
    place = None if device is None else place_for(device)
    shape = size if type(size) is list and not more else sizes([size, *more], "ones", "size")
    return _core.filled(place, wanted, shape, element)


def full(size: _Sizes, fill_value: float, *, dtype: _Dtype = None, device: Any = None) -> Tensor:
    """A tensor of one value; without a type that of the value: float32, int64 or bool.

    >>> import infinicore
    >>> infinicore.full([2], 7).tolist()
    [7, 7]
    """
    if dtype is None:
        dtype = from_numpy_dtype("bool") if isinstance(fill_value, bool) else None
        dtype = dtype or (int64 if isinstance(fill_value, int) else float32)
    try:
        return empty(size, dtype=dtype, device=device).fill_(fill_value)
    except TypeError as error:
        raise wrong_argument(full, locals()) or error from None


def zeros_like(input: Tensor, *, dtype: _Dtype = None, device: Any = None) -> Tensor:
    """Zeros, of the size, type and device of another tensor where nothing else is said."""
    return empty_like(input, dtype=dtype, device=device).zero_()


def ones_like(input: Tensor, *, dtype: _Dtype = None, device: Any = None) -> Tensor:
    """Ones, of the size, type and device of another tensor where nothing else is said."""
    return empty_like(input, dtype=dtype, device=device).fill_(1)


def full_like(input: Tensor, fill_value: float, *, dtype: _Dtype = None, device: Any = None) -> Tensor:
    """One value, in the size, type and device of another tensor where nothing else is said.

    >>> import infinicore
    >>> infinicore.full_like(infinicore.zeros([2]), 7).tolist()
    [7.0, 7.0]
    """
    return empty_like(input, dtype=dtype, device=device).fill_(fill_value)


def linspace(start: float, end: float, steps: int, *, dtype: _Dtype = None, device: Any = None) -> Tensor:
    """`steps` numbers at equal distances, from `start` to `end`, which is the last of them; float32.

    >>> import infinicore
    >>> infinicore.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    import numpy

    wanted = float32 if dtype is None else dtype
    return from_numpy(numpy.linspace(start, end, steps), dtype=wanted, device=device or place_for())


def eye(n: int, m: int | None = None, *, dtype: _Dtype = None, device: Any = None) -> Tensor:
    """Ones on the diagonal of a matrix of `n` rows, and zeros beside it; float32.

    >>> import infinicore
    >>> infinicore.eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    import numpy

    wanted = float32 if dtype is None else dtype
    return from_numpy(numpy.eye(n, m), dtype=wanted, device=device or place_for())


def arange(
    start: float, end: float | None = None, step: float = 1, *, dtype: _Dtype = None, device: Any = None
) -> Tensor:
    """From `start` up to but not including `end`; with one number, from 0 up to it."""
    import numpy

    first, last = (0, start) if end is None else (start, end)
    if step == 0:
        raise ValueError("arange: step must not be 0")
    if dtype is None:
        whole = all(isinstance(number, int) for number in (first, last, step))
        dtype = int64 if whole else float32
    return from_numpy(numpy.arange(first, last, step), dtype=dtype, device=device or place_for())


def from_numpy(np_array: Any, *, dtype: _Dtype = None, device: Any = None, copy: bool = True) -> Tensor:
    """A tensor with the elements of a NumPy array, on the CPU where no device is named.

    With copy=False in the array's own memory: then calls that touch it are complete when they return.

    >>> import infinicore, numpy
    >>> infinicore.from_numpy(numpy.eye(2), dtype=infinicore.float32).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    import numpy

    if not isinstance(np_array, numpy.ndarray):
        raise TypeError(f"from_numpy() takes a NumPy array, not {type(np_array).__name__}")
    place = place_for("cpu" if device is None else device)
    own = from_numpy_dtype(np_array.dtype)
    wanted = own if dtype is None else dtype
    if not copy:
        return _shared_with_numpy(np_array, place, own, wanted)
    array = numpy.ascontiguousarray(np_array, dtype=to_numpy_dtype(wanted)).reshape(np_array.shape)
    return copy_from_host(place, array, wanted)


def _shared_with_numpy(array: Any, place: _core.Place, own: _core.dtype, wanted: _core.dtype) -> Tensor:
    if wanted is not own or place.device.type_name != "cpu":
        raise ValueError("copy=False: another type or another device needs a copy")
    if not array.flags.writeable:
        raise ValueError("copy=False: the array is read-only, and tensors can be written; copy it")
    item = own.itemsize
    if any(stride % item for stride in array.strides):
        raise ValueError("copy=False: the array's strides are no multiples of its elements; copy it")
    steps = [stride // item for stride in array.strides]
    return _core.wrap(place, own, array.shape, steps, array.ctypes.data, array, True, False)


def from_list(data: Any, *, dtype: _Dtype = None, device: Any = None) -> Tensor:
    """A tensor of nested lists of numbers, on the CPU where no device is named. The type has to be named.

    >>> import infinicore
    >>> infinicore.from_list([1, 2], dtype=infinicore.int64).tolist()
    [1, 2]
    """
    if dtype is None:
        raise TypeError(
            "from_list() needs dtype=, the type of the elements, as in infinicore.from_list([1.0, 2.0], dtype=infinicore.float32)"
        )
    return _from_list("from_list", data, dtype, device)


def from_list_by_numpy(data: Any, *, dtype: _Dtype = None, device: Any = None) -> Tensor:
    """As from_list(), with NumPy's choice of the type where none is named."""
    return _from_list("from_list_by_numpy", data, dtype, device)


def _from_list(function: str, data: Any, dtype: _Dtype, device: Any) -> Tensor:
    import numpy

    if not isinstance(data, (list, tuple)):
        raise TypeError(f"{function}(): data must be a list or a tuple, not {type(data).__name__}")
    wanted = None if dtype is None else to_numpy_dtype(checked(dtype, function))
    try:
        array = numpy.array(data, dtype=wanted)
    except (OverflowError, TypeError, ValueError) as error:
        reason = "lists side by side differ in length" if "inhomogeneous" in str(error) else error
        kind = next(each for each in (OverflowError, TypeError, ValueError) if isinstance(error, each))
        raise kind(f"{function}(): data cannot become elements of {dtype or 'any type'}: {reason}") from None
    if dtype is None and array.dtype.kind in "MOSUm":
        raise TypeError(
            f"{function}(): data must be nested lists of numbers, and not such as become {array.dtype!r}"
        )
    return from_numpy(array, dtype=dtype, device=device)


def from_blob(data_ptr: int, size: _Sizes, *, dtype: _Dtype = None, device: Any = None) -> Tensor:
    """A contiguous tensor over memory at an address, which must stay valid as long as the tensor and its views."""
    shape = sizes([size], "from_blob", "size")
    return strided_from_blob(data_ptr, shape, _contiguous(shape), dtype=dtype, device=device)


def strided_from_blob(
    data_ptr: int, size: _Sizes, strides: _Sizes, *, dtype: _Dtype = None, device: Any = None
) -> Tensor:
    """As from_blob(), with strides in elements; negative ones reach before the address."""
    place = place_for("cpu" if device is None else device)
    wanted = float32 if dtype is None else dtype
    shape, steps = (
        sizes([size], "strided_from_blob", "size"),
        sizes([strides], "strided_from_blob", "strides"),
    )
    return _core.wrap(place, wanted, shape, steps, data_ptr, None, True, False)


def from_torch(torch_tensor: Any) -> Tensor:
    """A tensor in the memory of a PyTorch tensor, on its device, with its strides.

    On the CPU calls that touch it are complete when they return; on a GPU work of PyTorch's stream has to be waited for.
    """
    if not all(hasattr(torch_tensor, each) for each in ("data_ptr", "device", "dtype", "stride")):
        raise TypeError(
            f"from_torch(): torch_tensor must be a tensor of PyTorch's, not {type(torch_tensor).__name__}"
        )
    where = torch_tensor.device
    device = (
        "cpu" if where.type == "cpu" else f"{_TORCH_TYPES.get(where.type, where.type)}:{where.index or 0}"
    )
    return _core.wrap(
        place_for(device),
        from_torch_dtype(torch_tensor.dtype),
        list(torch_tensor.shape),
        list(torch_tensor.stride()),
        torch_tensor.data_ptr(),
        torch_tensor,
        True,
        False,
    )


_TORCH_TYPES = {"cuda": "nvidia", "npu": "ascend", "mlu": "cambricon", "musa": "moore"}
_DL_TYPES = {1: "cpu", 2: "nvidia", 3: "cpu", 13: "nvidia"}


def from_dlpack(source: Any) -> Tensor:
    """A tensor in the memory of any object with `__dlpack__`; read-only memory is refused."""
    if not hasattr(source, "__dlpack__") or not hasattr(source, "__dlpack_device__"):
        raise TypeError(
            f"from_dlpack(): source must have __dlpack__ and __dlpack_device__, which {type(source).__name__} has not"
        )
    kind, number = source.__dlpack_device__()
    if kind not in _DL_TYPES:
        raise BufferError(f"memory of DLPack device {(kind, number)} is not known here")
    on_host = _DL_TYPES[kind] == "cpu"
    place = place_for("cpu" if on_host else f"{_DL_TYPES[kind]}:{number}")
    order = {} if on_host else {"stream": place.stream.handle}
    try:
        capsule = source.__dlpack__(max_version=(1, 0), **order)
    except TypeError:  # a producer of before 1.0
        capsule = source.__dlpack__(**order)
    address, dtype, shape, strides, owner = _core.import_dlpack(capsule)
    return _core.wrap(place, dtype, shape, strides, address, owner, True, False)
