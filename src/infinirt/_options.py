"""What all option classes share: values that are given once, compared and printed.

Written out because importing `dataclasses` takes longer than importing the rest of this package.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package

# What PyTorch, CuPy and CUDA call them.
_OTHER_PARAMETERS = {
    "enable_timing": "timing_enabled",
    "timing": "timing_enabled",
    "blocking": "blocking_sync",
    "block_sync": "blocking_sync",
    "interprocess": "ipc_enabled",
    "non_blocking": "nonblocking",
    "grid_dim": "grid",
    "blocks": "grid",
    "block_dim": "block",
    "threads": "block",
    "shared_mem": "shmem_size",
    "shared_mem_bytes": "shmem_size",
    "smem": "shmem_size",
    "cooperative": "is_cooperative",
    "cooperative_launch": "is_cooperative",
}


def _parameters(init: object) -> tuple[str, ...]:
    """Those of the option classes' own `__init__`; none of another one, which may take whatever it likes."""
    code = getattr(init, "__code__", None)
    takes_any = 0x08  # of co_flags: there is a **parameter
    if code is None or not init.__module__.startswith(f"{__package__}.") or code.co_flags & takes_any:
        return ()
    names: tuple[str, ...] = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    return names


class Options:
    """Base of the option classes: immutable, compared by value. The fields are what subclasses annotate, in that order."""

    __slots__ = ()

    # Not seen by type checkers, which know the parameters of each class; Python's own error would not say what they are.
    if not TYPE_CHECKING:

        def __new__(cls, *_args, **named):
            taken = _parameters(cls.__init__) if named else ()
            unknown = next((name for name in named if taken and name not in taken), None)
            if unknown is None:
                return super().__new__(cls)
            known = " and ".join(filter(None, (", ".join(taken[:-1]), taken[-1])))
            meant = _OTHER_PARAMETERS.get(unknown)
            hint = f", which is {meant} here" if meant in taken else ""
            raise TypeError(f"{cls.__name__}() has no parameter {unknown!r}{hint}; it takes {known}")

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
