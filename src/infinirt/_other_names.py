"""What PyTorch, CuPy and CUDA call things that have another name here: said when such a name is tried.

Nothing of it slows a name that exists: a `__getattr__` would, on every call of a method. So the names stand in the classes, as
attributes that cannot be read; `hasattr()` is false of them, and `dir()` leaves them out.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NoReturn

__all__ = ["OTHER_NAMES", "WithOtherNames"]

_SYNC = "it is called sync() here"
_HANDLE = "it is called handle here"
_CLOSE = "it is called close() here"
_CAPTURE = (
    "work is recorded by `with infinirt.capture(stream) as captured:` here; then captured.graph.instantiate()"
)
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
        "use": "there is no current stream here; give each call its stream=",
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
        "free": _CLOSE,
    },
    "Device": {
        "synchronize": _SYNC,
        "index": "it is called ordinal here",
        "id": "it is called ordinal here",
        "use": "it is called set_current() here; `with device:` does so for a block",
        "mem_info": "it is called memory_info() here",
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
        "tensor": _TENSORS,
        "Tensor": _TENSORS,
        "empty": _TENSORS,
        "zeros": _TENSORS,
    },
}  # by class; "infinirt" is the module itself


class _Elsewhere:
    """A name that others have: to read it is an AttributeError that says what it is called here."""

    __slots__ = ("advice", "name")

    def __init__(self, name: str, advice: str) -> None:
        self.name = name
        self.advice = advice

    def __get__(self, instance: object, owner: type) -> NoReturn:
        who = f"type object {owner.__name__!r}" if instance is None else f"{owner.__name__!r} object"
        # Without `obj`: with it Python would add a guess of its own, "Did you mean: 'close'?" for clone().
        raise AttributeError(f"{who} has no attribute {self.name!r}: {self.advice}", name=self.name, obj=None)


class WithOtherNames(type):
    """The metaclass of the classes above."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        if not any(
            isinstance(base, WithOtherNames) for base in bases
        ):  # not again for what is derived from them
            for other, advice in OTHER_NAMES[name].items():
                setattr(cls, other, _Elsewhere(other, advice))
            cls.__dir__ = _instance_names  # type: ignore[assignment]

    def __dir__(cls) -> Iterable[str]:
        return _real(cls, super().__dir__())


def _instance_names(self: object) -> list[str]:
    return _real(type(self), object.__dir__(self))


def _real(cls: type, names: Iterable[str]) -> list[str]:
    return [name for name in names if not isinstance(_found(cls, name), _Elsewhere)]


def _found(cls: type, name: str) -> object:
    return next((vars(kind)[name] for kind in cls.__mro__ if name in vars(kind)), None)
