"""DLPack's structures, written down a second time so that the layout in the extension is checked."""

from __future__ import annotations

import ctypes
from typing import Any

CPU = (1, 0)
EXTENSION = 12


class Tensor(ctypes.Structure):
    """DLTensor"""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned"""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


# Called with the interpreter's lock, and Python's exceptions come through. A deleter is called without it.
DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Versioned))
SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
ALLOCATE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.POINTER(Tensor),
    ctypes.POINTER(ctypes.POINTER(Versioned)),
    ctypes.c_void_p,
    SET_ERROR,
)
FROM_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.POINTER(Versioned)))
TO_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(Versioned), ctypes.POINTER(ctypes.c_void_p))
BORROW = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
WORK_STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Exchange(ctypes.Structure):
    """DLPackExchangeAPI"""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ALLOCATE),
        ("from_object", FROM_OBJECT),
        ("to_object", TO_OBJECT),
        ("borrow", BORROW),
        ("work_stream", WORK_STREAM),
    ]


def pointer_in(capsule: object, name: bytes) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, name))


def new_capsule(pointer: object, name: bytes) -> object:
    """Around a ctypes structure; the name must outlive the capsule."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(pointer), name, None)  # type: ignore[arg-type]


def versioned_in(capsule: object) -> Versioned:
    return Versioned.from_address(pointer_in(capsule, b"dltensor_versioned"))


def exchange_of(kind: type) -> Exchange:
    capsule = kind.__dlpack_c_exchange_api__  # type: ignore[attr-defined]
    return Exchange.from_address(pointer_in(capsule, b"dlpack_exchange_api"))


def delete(managed: Any) -> None:
    """Calls the deleter of a POINTER(Versioned)."""
    DELETER(managed.contents.deleter)(managed)


def exported(table: Exchange, source: object) -> Any:
    managed = ctypes.POINTER(Versioned)()
    assert table.from_object(source, ctypes.byref(managed)) == 0
    return managed


def imported(table: Exchange, managed: Any) -> Any:
    made = ctypes.c_void_p()
    assert table.to_object(managed, ctypes.byref(made)) == 0
    owned = ctypes.cast(made, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(owned))  # the reference that the function gave
    return owned


class Producer:
    """Anything at all as a DLPack 1 producer: memory, type and shape as given, and a count of deletions."""

    NAME = b"dltensor_versioned"

    def __init__(
        self,
        memory: Any,
        shape: tuple[int, ...],
        *,
        strides: tuple[int, ...] | None = None,
        bits: int = 8,
        lanes: int = 1,
        device: tuple[int, int] = CPU,
        version: tuple[int, int] = (1, 0),
        flags: int = 0,
        byte_offset: int = 0,
    ) -> None:
        self.deleted = 0
        self._keep = (
            memory,
            (ctypes.c_int64 * len(shape))(*shape),
            (ctypes.c_int64 * len(shape))(*strides) if strides is not None else None,
            DELETER(self._delete),
        )
        address = ctypes.addressof(memory) if memory is not None else None
        _, sizes, steps, deleter = self._keep
        self.managed = Versioned(*version, None, ctypes.cast(deleter, ctypes.c_void_p), flags)
        self.managed.tensor = Tensor(address, *device, len(shape), 1, bits, lanes, sizes, steps, byte_offset)
        self.streams: list[object] = []

    def _delete(self, _: object) -> None:
        self.deleted += 1

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.managed.tensor.device_type, self.managed.tensor.device_id)

    def __dlpack__(self, *, stream: object = None, max_version: object = None) -> object:
        self.streams.append(stream)
        return new_capsule(self.managed, self.NAME)
