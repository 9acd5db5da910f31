"""What PyTorch, CuPy and CUDA call things that have another name here: said when such a name is tried.

Nothing of it slows a name that exists: a `__getattr__` would, on every call of a method. So the names stand in the classes, as
attributes that cannot be read; `hasattr()` is false of them, and `dir()` of objects leaves them out.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn, TypeVar

    _Class = TypeVar("_Class", bound=type)

__all__ = ["OTHER_NAMES", "Elsewhere", "not_a_function", "real_names", "with_other_names"]

_SYNC = "it is called sync() here"
_HANDLE = "it is called handle here"
_CLOSE = "it is called close() here"
_CAPTURE = (
    "work is recorded by `with infinirt.capture(stream) as captured:` here; then captured.graph.instantiate()"
)
_NO_CURRENT_STREAM = "there is no current stream here; give each call its stream="
_TENSORS = "tensors are in infinicore; here memory is a Buffer, device.allocate(size)"

OTHER_NAMES: dict[str, dict[str, str]] = {
    "Stream": {
        "synchronize": _SYNC,
        "wait_event": "it is called wait(event) here",
        "wait_stream": "it is called wait(stream) here",
        "record_event": "it is called record() here",
        "add_callback": "it is called launch_host_func(function) here",
        "done": "it is called is_done here",
        "cuda_stream": _HANDLE,
        "ptr": _HANDLE,
        "stream_id": "it is called id here",
        "use": _NO_CURRENT_STREAM,
        "begin_capture": _CAPTURE,
        "end_capture": _CAPTURE,
        "destroy": _CLOSE,
    },
    "Event": {
        "synchronize": _SYNC,
        "query": "it is called is_done here, without ()",
        "done": "it is called is_done here",
        "elapsed_time": "it is `end - start` here, in milliseconds, of events with EventOptions(timing_enabled=True)",
        "wait": "it is called stream.wait(event) here; event.sync() makes the host wait",
        "cuda_event": _HANDLE,
        "ptr": _HANDLE,
        "destroy": _CLOSE,
    },
    "Buffer": {
        "nbytes": "it is called size here",
        "data_ptr": "it is called ptr here, without ()",
        "fill_": "it is called fill(value) here",
        "zero_": "it is called fill(0) here",
        "memset": "it is called fill(value) here",
        "copy_": "it is called copy_from(src) here",
        "clone": "it is called copy_to() here: without dst it makes a new Buffer",
        "numpy": "numpy.asarray(buffer) reads it in place where the host reaches it; else copy_to(array)",
        "tobytes": "bytes(buffer) does it here where the host reaches the memory; else copy_to(array)",
        "numel": "a Buffer has bytes, size says how many; tensors are in infinicore",
        "to": "memory of another device takes it over by copy_from(buffer) there, or buffer.copy_to(other) here",
        "cpu": "copy_to(array) brings it to the host",
        "view": "buffer[start:stop] is a part of it in the same memory; shapes are for the tensors of infinicore",
        "get": "copy_to(array) brings it to the host",
        "set": "it is called copy_from(array) here",
        "to_numpy": "numpy.asarray(buffer) reads it in place where the host reaches it; else copy_to(array)",
        "free": _CLOSE,
    },
    "Device": {
        "synchronize": _SYNC,
        "index": "it is called ordinal here",
        "id": "it is called ordinal here",
        "use": "it is called set_current() here; `with device:` does so for a block",
        "mem_info": "it is called memory_info() here",
        "mem_get_info": "it is called memory_info() here",
        "malloc": "it is called allocate(size) here",
        "stream": f"{_NO_CURRENT_STREAM}; a stream is made by create_stream()",
        "current_stream": f"{_NO_CURRENT_STREAM}; the default one is default_stream",
        "Stream": "it is called create_stream() here",
        "Event": "it is called create_event() here",
    },
    "Graph": {
        "replay": "a graph is made executable once, by instantiate(), and that is run by launch(stream)",
        "launch": "a graph is made executable once, by instantiate(), and that is run by launch(stream)",
        "capture_begin": _CAPTURE,
        "capture_end": _CAPTURE,
        "debug_dump": "it is called to_dot() here",
    },
    "GraphExec": {
        "replay": "it is called launch(stream) here",
        "destroy": _CLOSE,
    },
    "infinirt": {
        "cuda": "what torch.cuda has is in infinirt itself; GPUs are infinirt.devices('nvidia')",
        "device_count": "len(infinirt.devices()) says it, or len(infinirt.devices('nvidia')) of one type",
        "is_available": "infinirt.devices('nvidia') says which GPUs there are",
        "set_device": "it is called infinirt.Device(...).set_current() here",
        "get_device": "it is called infinirt.current_device() here",
        "get_device_name": "it is called infinirt.Device(...).name here",
        "get_device_properties": "it is called infinirt.Device(...).properties here",
        "mem_get_info": "it is called infinirt.Device(...).memory_info() here",
        "current_stream": "there is no current stream here; the default one is infinirt.Device().default_stream",
        "default_stream": "it is called infinirt.Device().default_stream here",
        "empty_cache": "a pool gives back what it does not use by trim(): infinirt.Device().memory_resource.trim()",
        "CUDAGraph": "it is called infinirt.Graph here; `with infinirt.capture(stream)` records one",
        "malloc": "it is called infinirt.Device().allocate(size) here",
        "DeviceMemoryResource": "it is called MemoryPool here, or CachingPool, which keeps what is freed",
        "PinnedMemoryResource": "it is called PinnedPool here",
        "CUDAError": "it is called InfiniRTError here",
        "memory_allocated": "infinirt.Device().memory_info() says what is free; a CachingPool has statistics of what it gave out",
        "nvtx": "a part of a program is named by `with infinirt.range(name):` here",
        "profiler": "`with infinirt.trace(path):` records what runs, for Perfetto; so does the command infinirt trace",
        "from_numpy": "infinirt.as_buffer(array) is its memory as a Buffer; tensors are in infinicore",
        "tensor": _TENSORS,
        "Tensor": _TENSORS,
        "empty": _TENSORS,
        "zeros": _TENSORS,
    },
}  # by class; "infinirt" is the module itself


class Elsewhere:
    """A name that others have: to read it is an AttributeError that says what it is called here."""

    __slots__ = ("advice", "name")

    def __init__(self, name: str, advice: str) -> None:
        self.name = name
        self.advice = advice

    def __get__(self, instance: object, owner: type) -> NoReturn:
        who = f"type object {owner.__name__!r}" if instance is None else f"{owner.__name__!r} object"
        # Without `obj`: with it Python would add a guess of its own, "Did you mean: 'close'?" for clone().
        raise AttributeError(f"{who} has no attribute {self.name!r}: {self.advice}", name=self.name, obj=None)

    def __repr__(self) -> str:  # what help() shows
        return f"<not here: {self.advice}>"


def with_other_names(cls: _Class) -> _Class:
    """Decorates the classes above. No metaclass, which would keep them from being combined with classes of another one; so `dir()` of
    the classes themselves, not of their objects, has the names."""
    for other, advice in OTHER_NAMES[cls.__name__].items():
        setattr(cls, other, Elsewhere(other, advice))
    cls.__dir__ = _instance_names  # type: ignore[assignment]
    return cls


def _instance_names(self: object) -> list[str]:
    return real_names(type(self), object.__dir__(self))


def real_names(cls: type, names: Iterable[str]) -> list[str]:
    """Of the names of a class or its objects those that can be read."""
    return [name for name in names if not isinstance(_found(cls, name), Elsewhere)]


def _found(cls: type, name: str) -> object:
    return next((vars(kind)[name] for kind in cls.__mro__ if name in vars(kind)), None)


class _Module(type(sys)):  # type: ignore[misc]  # types.ModuleType, whose module may not have been imported yet
    """A module that others have a function in the place of."""

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError(f"{self.__name__} is a module, not a function: {self._instead}")


def not_a_function(module: str, instead: str) -> None:
    """Makes calling a module an error that says what to do instead."""
    vars(sys.modules[module])["_instead"] = instead
    sys.modules[module].__class__ = _Module
