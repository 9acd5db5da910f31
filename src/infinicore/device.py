"""Devices under InfiniCore's names, which are PyTorch's: "cpu", "cuda", "npu", "mlu", "musa"; this runtime's own names, too."""

from __future__ import annotations

from functools import cache
from typing import Any

import infinirt

__all__ = ["DeviceLike", "device"]

# In InfiniCore several makers' devices are called "cuda" and numbered through, in this order.
_MAKERS = {
    "cpu": ("cpu",),
    "cuda": ("nvidia", "metax", "iluvatar", "kunlun", "hygon", "ali"),
    "mlu": ("cambricon",),
    "npu": ("ascend",),
    "musa": ("moore",),
}
_SHORT = {maker: name for name, makers in _MAKERS.items() for maker in makers}


@cache
def _count(maker: str) -> int:
    return sum(info.count for info in infinirt.device_types() if info.name == maker)


def _number_through(maker: str, ordinal: int) -> int:
    """The number under the short name of a maker's device."""
    makers = _MAKERS[_SHORT[maker]]
    return ordinal + sum(_count(earlier) for earlier in makers[: makers.index(maker)])


def _maker_of(type: str, index: int) -> tuple[str, int]:
    """This runtime's type and number of a device. Where there is no such device: those under which it would be missed."""
    makers = _MAKERS.get(type, (type,))
    if len(makers) == 1:
        return makers[0], index
    left = index
    for maker in makers:
        count = _count(maker)
        if left < count:
            return maker, left
        left -= count
    return makers[0], index


class device:
    """A device by name, as in `infinicore.device("cuda:0")` or `infinicore.device("cuda", 0)`; "cpu" when nothing is given.

    `type` and `index` are the name as PyTorch would say it. Several makers' devices are "cuda" there, and numbered through:
    NVIDIA's, then MetaX's, Iluvatar's, Kunlun's, Hygon's, T-Head's. `type_name` is this runtime's name for the type. Names of this
    runtime ("nvidia:0", or that of a plugin) are taken as well. That there is such a device is found out when it is first used.

    >>> import infinicore
    >>> infinicore.device("cpu:0")
    device(type='cpu', index=0)
    >>> infinicore.device("nvidia:1") == infinicore.device("cuda", 1)
    True
    """

    __slots__ = ("_device", "index", "type")
    type: str
    index: int

    def __init__(self, type: DeviceLike = None, index: int | None = None) -> None:
        self._device: infinirt.Device | None = None
        if isinstance(type, (device, infinirt.Device)):
            if index is not None:
                raise ValueError("`index` goes with the name of a type, not with a device")
            if isinstance(type, device):
                self.type, self.index, self._device = type.type, type.index, type._device
                return
            self._device, name, number = type, type.type, type.ordinal
        else:
            name, number = _parts(type, index)
        self.type = _SHORT.get(name, name)
        self.index = number if _first(name) == 0 else _number_through(name, number)

    @property
    def type_name(self) -> str:
        """This runtime's name of the type: "nvidia" where `type` is "cuda".

        >>> import infinicore
        >>> infinicore.device("cuda:0").type_name
        'nvidia'
        """
        return self._device.type if self._device is not None else _maker_of(self.type, self.index)[0]

    def resolve(self) -> infinirt.Device:
        """The device itself, as an `infinirt.Device`. An error that says why where there is no such device."""
        if self._device is None:
            maker, ordinal = _maker_of(self.type, self.index)
            self._device = infinirt.Device(f"{maker}:{ordinal}")
        return self._device

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, tuple[str, int]]:
        return device, (self.type, self.index)

    def __str__(self) -> str:
        return f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type={self.type!r}, index={self.index})"


# The name of a type, what has a `type` and an `index` (a torch.device, too), or nothing.
DeviceLike = device | infinirt.Device | str | None


def _first(name: str) -> int:
    """The place of a maker among those that share its short name."""
    return _MAKERS[_SHORT[name]].index(name) if name in _SHORT else 0


def _parts(type: Any, index: int | None) -> tuple[str, int]:
    if type is None:
        type = "cpu"
    if not isinstance(type, str):
        if not isinstance(getattr(type, "type", None), str):
            given = type.__class__.__name__
            raise TypeError(f"a device is given by its name, such as 'cuda:0', not by {given}")
        index = getattr(type, "index", None) if index is None else index
        type = type.type
    name, colon, number = type.partition(":")
    if colon:
        if index is not None:
            raise ValueError(f"the index was given twice: {type!r} has one, and `index` is {index}")
        if not number.isdecimal():
            raise ValueError(f"device {type!r}: a number was expected after the colon, as in 'cuda:0'")
        index = int(number)
    if not name:
        raise ValueError(f"device {type!r} names no type; 'cpu' and 'cuda:0' are names of devices")
    if index is None:
        index = 0
    if isinstance(index, bool) or not isinstance(index, int):
        raise TypeError(f"`index` must be an integer, not {index.__class__.__name__}")
    if index < 0:
        raise ValueError(f"`index` must not be negative, and is {index}")
    return name, index
