"""What arguments have to be, and what is said about those that are not."""

from __future__ import annotations

import operator

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from typing import Any

__all__ = ["expect", "integer", "not_writable"]


def expect(value: object, wanted: type | tuple[type, ...], name: str, advice: str = "") -> None:
    """Raises TypeError, with the parameter's name and the types that it takes, unless `value` has one of them."""
    if isinstance(value, wanted):
        return
    kinds = wanted if isinstance(wanted, tuple) else (wanted,)
    names = " or ".join(kind.__name__ for kind in kinds)
    raise TypeError(f"{name} must be {names}, not {type(value).__name__}{advice and '; ' + advice}")


def integer(value: Any, name: str, least: int = 0, most: int = (1 << 64) - 1) -> int:
    """An int of whatever counts as one; ValueError outside of `least` to `most`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None
    if not least <= number <= most:
        raise ValueError(f"{name} must be between {least} and {most}, not {number}")
    return number


def not_writable(path: str) -> str:
    """Why a file cannot be written there, for those who would find out after a long run; nothing where it can, or none is wanted."""
    import os

    folder = os.path.dirname(os.path.abspath(path))
    if not path or (os.path.isdir(folder) and not os.path.isdir(path)):
        return ""
    what = f"there is no folder {folder}" if not os.path.isdir(folder) else "it is a folder"
    return f"{path} cannot be written: {what}"
