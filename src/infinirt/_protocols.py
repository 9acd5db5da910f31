"""Types that stand for protocols; loaded when somebody asks for them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

__all__ = ["IsStreamType"]


@runtime_checkable
class IsStreamType(Protocol):
    """Anything that offers a stream by the `__cuda_stream__` protocol; accepted wherever a stream is.

    >>> import infinirt
    >>> isinstance(infinirt.Device("cpu").default_stream, infinirt.IsStreamType)
    True
    """

    def __cuda_stream__(self) -> tuple[int, int]:
        """(0, handle)"""
        ...
