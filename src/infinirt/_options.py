"""What all option classes share: values that are given once, compared and printed.

Written out because importing `dataclasses` takes longer than importing the rest of this package.
"""

from __future__ import annotations


class Options:
    """Base of the option classes: immutable, compared by value. The fields are what subclasses annotate, in that order."""

    __slots__ = ()

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; make another one to change {name}")

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in type(self).__annotations__)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        named = zip(type(self).__annotations__, self._values(), strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in named)})"
