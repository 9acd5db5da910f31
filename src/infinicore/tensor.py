"""Tensors: numbers of one type in some shape, in memory of a device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from infinirt._other_names import not_a_function

from . import _core, _views
from ._arguments import as_said_of
from ._elsewhere import add_other_names, readable_names
from ._places import place_for
from .dtype import bool as _bool_dtype
from .dtype import meant_by, to_numpy_dtype

if TYPE_CHECKING:
    from numpy import ndarray

__all__ = ["Tensor"]

_copy_elements = _core.building_blocks["rearrange"]
_fill = _core.building_blocks["fill"]


class Tensor(_core.TensorBase):
    """A shape with strides over memory of a device. Made by `infinicore.empty`, `zeros`, `from_numpy` and others, and by operators.

    Operators are enqueued on the device's stream and return at once; what reads values on the host (`numpy()`, `item()`,
    printing) waits. Views share memory.

    >>> import infinicore
    >>> x = infinicore.from_list([[1.0, 2.0], [3.0, 4.0]], dtype=infinicore.float32)
    >>> (x + x[0]).tolist()
    [[2.0, 4.0], [4.0, 6.0]]
    """

    __slots__ = ()
    __dir__ = readable_names
    __array_ufunc__ = (
        None  # operators between NumPy's numbers and tensors are the tensors'; with arrays there are none
    )

    # ---- views ---------------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Tensor:
        return self._strided(*_views.indexed(self.shape, self.stride(), key))

    @staticmethod
    def _assign(part: Tensor, value: Tensor) -> None:
        from ._views import broadcast

        try:
            broadcast(value.shape, value.stride(), part.shape)
        except ValueError:
            raise ValueError(
                f"what is assigned has the shape {value.shape}, and cannot be repeated to the part's, {part.shape}"
            ) from None
        part.copy_(value)

    def __setitem__(self, key: Any, value: Any) -> None:
        part = self[key]
        if isinstance(value, Tensor):
            self._assign(part, value)
        elif hasattr(value, "__array_interface__") and value.ndim:  # an array of NumPy's
            from .creation import from_numpy

            self._assign(part, from_numpy(value, device=self._place))
        elif isinstance(value, list | tuple):
            raise TypeError(
                f"a {type(value).__name__} cannot be assigned to elements of a tensor: give a number, a tensor, or an array, such as "
                "numpy.asarray(...) makes"
            )
        else:
            part.fill_(value)

    def view(self, *shape: int | Sequence[int]) -> Tensor:
        """The same memory with another shape; one size may be -1. ValueError where strides cannot say that."""
        return self._strided(
            *_views.viewed(self.shape, self.stride(), _views.sizes(shape, "view", "shape")), 0
        )

    def reshape(self, *shape: int | Sequence[int]) -> Tensor:
        """As view(), of a contiguous copy where the memory does not allow it."""
        wanted = _views.sizes(shape, "reshape", "shape")
        try:
            return self.view(wanted)
        except ValueError:
            return self.contiguous().view(wanted)

    def permute(self, *dims: int | Sequence[int]) -> Tensor:
        """The dimensions in another order.

        >>> import infinicore
        >>> infinicore.zeros([2, 3, 4]).permute([2, 0, 1]).shape
        [4, 2, 3]
        """
        made = self._permuted(*dims)
        if made is not None:
            return made
        given = _views.sizes(dims, "permute", "dims")
        order = [_views.dimension(dim, self.ndim, "permute") for dim in given]
        if sorted(order) != list(range(self.ndim)):
            raise ValueError(f"permute({given}): each of the {self.ndim} dimensions was expected once")
        shape, strides = self.shape, self.stride()
        return self._strided([shape[d] for d in order], [strides[d] for d in order], 0)

    def transpose(self, dim0: int, dim1: int) -> Tensor:
        """Two dimensions exchanged."""
        order = list(range(self.ndim))
        first = _views.dimension(dim0, self.ndim, "transpose", "dim0")
        second = _views.dimension(dim1, self.ndim, "transpose", "dim1")
        order[first], order[second] = second, first
        return self.permute(order)

    def as_strided(self, size: Sequence[int], stride: Sequence[int], storage_offset: int = 0) -> Tensor:
        """Any shape and strides over the memory that this tensor is a part of.

        The first element lies `storage_offset` elements after this tensor's. ValueError where a view would leave the memory.
        """
        return self._strided(size, stride, storage_offset)

    def narrow(self, dim: int, start: int, length: int) -> Tensor:
        """`length` of the elements of a dimension, from `start` on."""
        made = self._narrowed(dim, start, length)
        if made is not None:
            return made
        at = _views.dimension(dim, self.ndim, "narrow")
        start, length = (
            _views.integer(start, "narrow", "start"),
            _views.integer(length, "narrow", "length"),
        )
        size = self.size(at)
        first = start + size if start < 0 else start
        if length < 0 or not 0 <= first <= size - length:
            raise IndexError(
                f"narrow: {length} elements from {start} are not in dimension {dim} of size {size}"
            )
        return self[(slice(None),) * at + (slice(first, first + length),)]

    def squeeze(self, dim: int | None = None) -> Tensor:
        """Without a dimension of size 1, or without all of them; a dimension of another size stays."""
        chosen = range(self.ndim) if dim is None else [_views.dimension(dim, self.ndim, "squeeze")]
        shape, strides = self.shape, self.stride()
        kept = [d for d in range(self.ndim) if shape[d] != 1 or d not in chosen]
        return self._strided([shape[d] for d in kept], [strides[d] for d in kept], 0)

    def unsqueeze(self, dim: int) -> Tensor:
        """With a dimension of size 1 more, before `dim`."""
        at = _views.dimension(dim, self.ndim + 1, "unsqueeze")
        return self[(slice(None),) * at + (None,)]

    def broadcast_to(self, *size: int | Sequence[int]) -> Tensor:
        """Repeated to a larger shape, in the same memory: every repetition is the same elements."""
        return self._strided(
            *_views.broadcast(self.shape, self.stride(), _views.sizes(size, "broadcast_to", "size")), 0
        )

    @property
    def T(self) -> Tensor:
        """The dimensions in reverse order."""
        return self.permute(list(reversed(range(self.ndim))))

    # ---- copies --------------------------------------------------------------------------------------------------------

    def contiguous(self) -> Tensor:
        """Itself where the elements lie side by side, else a copy where they do."""
        if self.is_contiguous():
            return self
        made = _core.empty(self._place, self.dtype, self.shape)
        _copy_elements(self, out=made)
        return made

    def clone(self) -> Tensor:
        """A contiguous copy."""
        made = _core.empty(self._place, self.dtype, self.shape)
        _copy_elements(self, out=made)
        return made

    def to(
        self, *args: Any, device: Any = None, dtype: _core.dtype | None = None, copy: bool = False
    ) -> Tensor:
        """With another type of elements, on another device, or both; itself where it is so already.

        >>> import infinicore
        >>> infinicore.ones([2]).to(infinicore.int32).tolist()
        [1, 1]
        """
        for given in args:
            if isinstance(given, _core.dtype) and dtype is None:
                dtype = given
            elif device is None and not isinstance(given, _core.dtype):
                device = given
            else:
                raise TypeError("to() takes a device and a dtype, each once")
        try:
            place = self._place if device is None else place_for(device)
        except Exception:
            if (wrong := _not_a_device(device)) is None:
                raise
            raise wrong from None
        wanted = self.dtype if dtype is None else dtype
        if place is self._place and wanted is self.dtype and not copy:
            return self
        made = _core.empty(place, wanted, self.shape)
        return made.copy_(self)

    def copy_(self, src: Tensor) -> Tensor:
        """Takes the elements of `src` over: broadcast, converted to this type, from any device and with any strides."""
        if not isinstance(src, _core.TensorBase):
            raise TypeError(
                f"copy_() takes a Tensor, not {type(src).__name__}; from_numpy() and fill_() are for others"
            )
        if src._place is not self._place:
            from ._transfer import copy_between

            copy_between(self, src)
        elif src.dtype is self.dtype:
            try:
                _copy_elements(src, out=self)
            except ValueError as error:
                raise as_said_of("copy_", error, input="src", out="the tensor") from None
        else:
            _cast(src, self)
        return self

    def fill_(self, value: float) -> Tensor:
        """Every element becomes `value`."""
        _fill(_element(value, self.dtype), out=self)
        return self

    def zero_(self) -> Tensor:
        """Every element becomes zero."""
        _fill(bytes(self.dtype.itemsize), out=self)
        return self

    # ---- to others -----------------------------------------------------------------------------------------------------

    def numpy(self) -> ndarray[Any, Any]:
        """As a NumPy array: the same memory where the host reaches it, else a copy. Waits for the tensor's stream.

        Calls that touch memory shared with NumPy are complete when they return.
        """
        from ._transfer import as_numpy

        return as_numpy(self, share=True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> ndarray[Any, Any]:
        from ._transfer import as_numpy

        array = as_numpy(self, share=not copy)
        return array if dtype is None else array.astype(dtype, copy=False)

    def torch(self) -> Any:
        """As a PyTorch tensor in the same memory; needs PyTorch."""
        import torch

        return torch.from_dlpack(self)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        from ._transfer import to_dlpack

        return to_dlpack(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        from ._transfer import dlpack_device

        return dlpack_device(self)

    def item(self) -> Any:
        """The only element, as a Python number."""
        if self.numel() != 1:
            raise ValueError(f"item() is for one element; the tensor has {self.numel()}")
        return self._host_copy().item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; one element without dimensions as a number."""
        return self._host_copy().tolist()

    def _host_copy(self) -> ndarray[Any, Any]:
        from ._transfer import as_numpy

        return as_numpy(self, share=False)

    def __copy__(self) -> Tensor:
        return self._strided(self.shape, self.stride(), 0)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        copied = memo[id(self)] = self.clone()
        return copied

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        device = self._place.stream.device
        return _restored, (self._host_copy(), self.dtype, f"{device.type}:{device.ordinal}")

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("a tensor without dimensions has no length")
        return self.size(0)

    def __iter__(self) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise TypeError("a tensor without dimensions cannot be iterated over")
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise ValueError(f"a tensor of {self.numel()} elements is neither true nor false")
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        value = self.item()
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"a tensor of {self.dtype!r} is no index")
        return value

    def __format__(self, spec: str) -> str:
        """By a format for numbers: of the one element that there is."""
        if not spec:
            return str(self)
        if self.numel() != 1:
            raise TypeError(
                f"a format such as {spec!r} is for one element; the tensor has {self.numel()}: take one by its index, or format tolist()"
            )
        return format(self.item(), spec)

    def __repr__(self) -> str:
        from ._tensor_str import text_of

        return text_of(self)

    # ---- operators -----------------------------------------------------------------------------------------------------

    def __matmul__(self, other: Any) -> Tensor:
        from .functions import matmul

        if isinstance(other, Tensor):
            return matmul(self, other)
        _refuse_array(other)
        return NotImplemented

    def __rmatmul__(self, other: Any) -> Tensor:
        _refuse_array(other)
        return NotImplemented


def _refuse_array(other: Any) -> None:
    if hasattr(other, "__array_interface__"):
        raise TypeError(
            f"a tensor and a {type(other).__name__}: make a tensor of it first, infinicore.from_numpy(array)"
        )


def _restored(array: Any, dtype: _core.dtype, device: str) -> Tensor:
    """A tensor that was pickled, on the device that it was on."""
    from .creation import from_numpy

    return from_numpy(array, dtype=dtype, device=device)


def _not_a_device(given: Any) -> TypeError | None:
    """The error of `to()` for what names a type of elements, or nothing that it takes."""
    meant = meant_by(given)
    if meant is None and (isinstance(given, str) or isinstance(getattr(given, "type", None), str)):
        return None
    hint = ", such as infinicore.float32" if meant is None else f"; {meant!r} is one"
    return TypeError(f"to(): {given!r} is neither a device, such as 'cuda:0', nor an infinicore.dtype{hint}")


def _cast(src: Tensor, out: Tensor) -> None:
    if src.dtype.is_complex or out.dtype.is_complex:
        raise TypeError(
            f"{src.dtype!r} cannot be converted to {out.dtype!r}: there is no cast of complex types"
        )
    try:
        _core.operators["cast"](src, out=out)
    except ValueError as error:
        raise as_said_of("copy_", error, input="src", out="the tensor") from None


_NUMBERS = ("__float__", "__index__", "__complex__")


def _element(value: Any, dtype: _core.dtype) -> bytes:
    """The bytes of one element. TypeError for a fraction where there are integers, OverflowError for what does not fit."""
    value = value.item() if hasattr(value, "item") else value
    if value:  # zeros have a sign, which equality does not see
        try:
            return _encoded(value, dtype)
        except TypeError:  # of a wrong type, or of one that has no hash: said below
            pass
    return _encode(value, dtype)


def _encode(value: Any, dtype: _core.dtype) -> bytes:
    import numpy

    if not isinstance(value, (int, float)) and not any(hasattr(value, each) for each in _NUMBERS):
        raise TypeError(f"a number was expected for elements of {dtype!r}, not {type(value).__name__}")
    if isinstance(value, complex) and not dtype.is_complex:
        raise TypeError(f"{value!r} is complex, and elements are {dtype!r}")
    has_fractions = dtype.is_floating_point or dtype.is_complex
    if isinstance(value, float) and not has_fractions and dtype is not _bool_dtype:
        raise TypeError(
            f"{value!r} is a float, and elements are {dtype!r}; convert one of them: .to(infinicore.float32), int()"
        )
    if isinstance(value, int) and not has_fractions and dtype is not _bool_dtype:
        bits = 8 * dtype.itemsize
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype.is_signed else (0, (1 << bits) - 1)
        if not low <= value <= high:
            raise OverflowError(f"{value} does not fit into {dtype!r}, which has {low} to {high}")
    return numpy.asarray(value, dtype=to_numpy_dtype(dtype)).tobytes()


_encoded = lru_cache(maxsize=1024, typed=True)(_encode)


not_a_function(
    __name__,
    "infinicore.from_list([1.0, 2.0], dtype=infinicore.float32) makes a tensor of a list, infinicore.from_numpy(array) of an array",
)
add_other_names(Tensor)
_core.register_tensor(Tensor)
_core.set_encoder(_element)
