"""The earlier generation (v0) of the API, function by function, on the v0 library of this installation.

Every function returns a tuple: the status, then what the C function writes through its pointers.

    status, pointer = infinirtMalloc(1024)
    (status,) = infinirtFree(pointer)

Pointers and handles are integers. Where memory is expected, an object with the buffer protocol will do as well: on
`INFINI_DEVICE_CPU` plain host memory may be given for device memory, and every call is complete when it returns. Calls
release the GIL. A thread's v0 device is its own: nothing here changes the device of `infinirt` or `infinirt.runtime`.

`LIBRARY` is the loaded library, for `ctypes` programs; `root()` is the directory with headers and libraries.
"""

from __future__ import annotations

import ctypes
import enum
import importlib.util
import numbers
from pathlib import Path
from typing import Any

_SONAME = "libinfinirt_v0.so.0"


class infiniStatus_t(enum.IntEnum):
    INFINI_STATUS_SUCCESS = 0
    INFINI_STATUS_INTERNAL_ERROR = 1
    INFINI_STATUS_NOT_IMPLEMENTED = 2
    INFINI_STATUS_BAD_PARAM = 3
    INFINI_STATUS_NULL_POINTER = 4
    INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED = 5
    INFINI_STATUS_DEVICE_NOT_FOUND = 6
    INFINI_STATUS_DEVICE_NOT_INITIALIZED = 7
    INFINI_STATUS_DEVICE_ARCHITECTURE_NOT_SUPPORTED = 8
    INFINI_STATUS_BAD_TENSOR_DTYPE = 10
    INFINI_STATUS_BAD_TENSOR_SHAPE = 11
    INFINI_STATUS_BAD_TENSOR_STRIDES = 12
    INFINI_STATUS_INSUFFICIENT_WORKSPACE = 13


class infiniDevice_t(enum.IntEnum):
    INFINI_DEVICE_CPU = 0
    INFINI_DEVICE_NVIDIA = 1
    INFINI_DEVICE_CAMBRICON = 2
    INFINI_DEVICE_ASCEND = 3
    INFINI_DEVICE_METAX = 4
    INFINI_DEVICE_MOORE = 5
    INFINI_DEVICE_ILUVATAR = 6
    INFINI_DEVICE_KUNLUN = 7
    INFINI_DEVICE_HYGON = 8
    INFINI_DEVICE_QY = 9
    INFINI_DEVICE_ALI = 10
    INFINI_DEVICE_TYPE_COUNT = 11


class infiniDtype_t(enum.IntEnum):
    INFINI_DTYPE_INVALID = 0
    INFINI_DTYPE_BYTE = 1
    INFINI_DTYPE_BOOL = 2
    INFINI_DTYPE_I8 = 3
    INFINI_DTYPE_I16 = 4
    INFINI_DTYPE_I32 = 5
    INFINI_DTYPE_I64 = 6
    INFINI_DTYPE_U8 = 7
    INFINI_DTYPE_U16 = 8
    INFINI_DTYPE_U32 = 9
    INFINI_DTYPE_U64 = 10
    INFINI_DTYPE_F8 = 11
    INFINI_DTYPE_F16 = 12
    INFINI_DTYPE_F32 = 13
    INFINI_DTYPE_F64 = 14
    INFINI_DTYPE_C16 = 15
    INFINI_DTYPE_C32 = 16
    INFINI_DTYPE_C64 = 17
    INFINI_DTYPE_C128 = 18
    INFINI_DTYPE_BF16 = 19


class infinirtResourceField_t(enum.IntFlag):
    INFINIRT_RESOURCE_FIELD_NONE = 0
    INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY = 1
    INFINIRT_RESOURCE_FIELD_COMPUTE_UTILIZATION = 2
    INFINIRT_RESOURCE_FIELD_MEMORY_BANDWIDTH_UTILIZATION = 4
    INFINIRT_RESOURCE_FIELD_KERNEL_TIME_RATIO = 8
    INFINIRT_RESOURCE_FIELD_COMMUNICATION = 16


class infinirtEventStatus_t(enum.IntEnum):
    INFINIRT_EVENT_COMPLETE = 0
    INFINIRT_EVENT_NOT_READY = 1


class infinirtEventFlags_t(enum.IntFlag):
    INFINIRT_EVENT_DEFAULT = 0
    INFINIRT_EVENT_DISABLE_TIMING = 1
    INFINIRT_EVENT_BLOCKING_SYNC = 2


class infinirtMemcpyKind_t(enum.IntEnum):
    INFINIRT_MEMCPY_H2H = 0
    INFINIRT_MEMCPY_H2D = 1
    INFINIRT_MEMCPY_D2H = 2
    INFINIRT_MEMCPY_D2D = 3


class infinirtStreamCaptureMode_t(enum.IntEnum):
    INFINIRT_STREAM_CAPTURE_MODE_GLOBAL = 0
    INFINIRT_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1
    INFINIRT_STREAM_CAPTURE_MODE_RELAXED = 2


class infinirtDeviceResourceSnapshot_t(ctypes.Structure):
    """What is known of a device's resources; only fields that `valid_fields` marks were observed."""

    _fields_ = (
        ("device_type", ctypes.c_int),
        ("device_id", ctypes.c_int),
        ("valid_fields", ctypes.c_uint64),
        ("estimated_fields", ctypes.c_uint64),
        ("free_bytes", ctypes.c_size_t),
        ("total_bytes", ctypes.c_size_t),
        ("used_bytes", ctypes.c_size_t),
        ("reserved_bytes", ctypes.c_size_t),
        ("compute_utilization", ctypes.c_float),
        ("memory_bandwidth_utilization", ctypes.c_float),
        ("kernel_time_ratio", ctypes.c_float),
        ("communication_time_ratio", ctypes.c_float),
        ("communication_bytes", ctypes.c_uint64),
    )


def root() -> Path:
    """The directory with the v0 headers (`include`) and libraries (`lib`): what v0 programs call INFINI_ROOT."""
    # Beside what was built, which in an editable install is not where the Python files are.
    spec = importlib.util.find_spec("infinirt._runtime")
    built = Path(spec.origin if spec is not None and spec.origin is not None else __file__)
    return built.resolve().parent / "v0"


def _load() -> ctypes.CDLL:
    path = root() / "lib" / _SONAME
    if not path.is_file():
        raise ImportError(
            f"this installation has no {path}; install the package (pip install .) or stage it "
            "(cmake --install build --prefix stage)"
        )
    return ctypes.CDLL(str(path))


LIBRARY = _load()

_int, _size, _pointer, _float = ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_float


def _address(value: Any) -> int | None:
    """The address that an argument stands for: None, an integer, a handle, or the memory of a buffer."""
    if value is None:
        return None
    if isinstance(value, numbers.Integral):  # NumPy's integers have the buffer protocol too
        return int(value)
    if isinstance(value, bytes):
        return ctypes.cast(ctypes.c_char_p(value), _pointer).value
    try:
        view = memoryview(value)
    except TypeError:
        # Handle objects of infinirt.runtime and pointers of other libraries. Not before the buffer protocol: a NumPy
        # array of one element can be made an integer too, and that is not its address.
        return int(value)
    if not view.c_contiguous:
        raise ValueError("the memory is not contiguous")
    if view.nbytes == 0:
        return None
    if view.readonly:
        raise ValueError("the memory is read-only; give its address if it is only read")
    return ctypes.addressof(ctypes.c_char.from_buffer(view))


def _declare(name: str, *parameters: Any) -> Any:
    function = LIBRARY[name]
    function.argtypes = parameters
    function.restype = infiniStatus_t
    return function


def _result(kind: Any) -> Any:
    return ctypes.POINTER(kind)


_init = _declare("infinirtInit")
_get_all_device_count = _declare("infinirtGetAllDeviceCount", _result(_int))
_get_device_count = _declare("infinirtGetDeviceCount", _int, _result(_int))
_set_device = _declare("infinirtSetDevice", _int, _int)
_get_device = _declare("infinirtGetDevice", _result(_int), _result(_int))
_device_synchronize = _declare("infinirtDeviceSynchronize")
_get_mem_info = _declare("infinirtGetMemInfo", _int, _int, _result(_size), _result(_size))
_get_snapshot = _declare(
    "infinirtGetDeviceResourceSnapshot", _int, _int, _result(infinirtDeviceResourceSnapshot_t)
)
_stream_create = _declare("infinirtStreamCreate", _result(_pointer))
_stream_destroy = _declare("infinirtStreamDestroy", _pointer)
_stream_synchronize = _declare("infinirtStreamSynchronize", _pointer)
_stream_wait_event = _declare("infinirtStreamWaitEvent", _pointer, _pointer)
_event_create = _declare("infinirtEventCreate", _result(_pointer))
_event_create_with_flags = _declare("infinirtEventCreateWithFlags", _result(_pointer), ctypes.c_uint32)
_event_record = _declare("infinirtEventRecord", _pointer, _pointer)
_event_query = _declare("infinirtEventQuery", _pointer, _result(_int))
_event_synchronize = _declare("infinirtEventSynchronize", _pointer)
_event_destroy = _declare("infinirtEventDestroy", _pointer)
_event_elapsed_time = _declare("infinirtEventElapsedTime", _result(_float), _pointer, _pointer)
_malloc = _declare("infinirtMalloc", _result(_pointer), _size)
_malloc_host = _declare("infinirtMallocHost", _result(_pointer), _size)
_malloc_async = _declare("infinirtMallocAsync", _result(_pointer), _size, _pointer)
_free = _declare("infinirtFree", _pointer)
_free_host = _declare("infinirtFreeHost", _pointer)
_free_async = _declare("infinirtFreeAsync", _pointer, _pointer)
_memcpy = _declare("infinirtMemcpy", _pointer, _pointer, _size, _int)
_memcpy_async = _declare("infinirtMemcpyAsync", _pointer, _pointer, _size, _int, _pointer)
_memset = _declare("infinirtMemset", _pointer, _int, _size)
_memset_async = _declare("infinirtMemsetAsync", _pointer, _int, _size, _pointer)
_stream_begin_capture = _declare("infinirtStreamBeginCapture", _pointer, _int)
_stream_end_capture = _declare("infinirtStreamEndCapture", _pointer, _result(_pointer))
_graph_destroy = _declare("infinirtGraphDestroy", _pointer)
_graph_instantiate = _declare(
    "infinirtGraphInstantiate", _result(_pointer), _pointer, _result(_pointer), ctypes.c_char_p, _size
)
_graph_exec_destroy = _declare("infinirtGraphExecDestroy", _pointer)
_graph_launch = _declare("infinirtGraphLuanch", _pointer, _pointer)

_Status = infiniStatus_t


def _created(function: Any, *arguments: Any) -> tuple[_Status, int]:
    """Calls a function that writes a pointer or handle through its first argument."""
    made = _pointer()
    return function(made, *arguments), made.value or 0


def infinirtInit() -> tuple[_Status]:
    return (_init(),)


def infinirtGetAllDeviceCount() -> tuple[_Status, list[int]]:
    """The number of devices of every type, indexed by `infiniDevice_t`."""
    counts = (_int * infiniDevice_t.INFINI_DEVICE_TYPE_COUNT)()
    return _get_all_device_count(counts), list(counts)


def infinirtGetDeviceCount(device: int) -> tuple[_Status, int]:
    count = _int()
    return _get_device_count(device, count), count.value


def infinirtSetDevice(device: int, device_id: int) -> tuple[_Status]:
    return (_set_device(device, device_id),)


def infinirtGetDevice() -> tuple[_Status, infiniDevice_t, int]:
    device, device_id = _int(), _int()
    status = _get_device(device, device_id)
    return status, infiniDevice_t(device.value), device_id.value


def infinirtDeviceSynchronize() -> tuple[_Status]:
    return (_device_synchronize(),)


def infinirtGetMemInfo(device: int, device_id: int) -> tuple[_Status, int, int]:
    """The free and the total bytes of any device."""
    free, total = _size(), _size()
    return _get_mem_info(device, device_id, free, total), free.value, total.value


def infinirtGetDeviceResourceSnapshot(
    device: int, device_id: int
) -> tuple[_Status, infinirtDeviceResourceSnapshot_t]:
    snapshot = infinirtDeviceResourceSnapshot_t()
    return _get_snapshot(device, device_id, snapshot), snapshot


def infinirtStreamCreate() -> tuple[_Status, int]:
    return _created(_stream_create)


def infinirtStreamDestroy(stream: Any) -> tuple[_Status]:
    return (_stream_destroy(_address(stream)),)


def infinirtStreamSynchronize(stream: Any) -> tuple[_Status]:
    return (_stream_synchronize(_address(stream)),)


def infinirtStreamWaitEvent(stream: Any, event: Any) -> tuple[_Status]:
    return (_stream_wait_event(_address(stream), _address(event)),)


def infinirtEventCreate() -> tuple[_Status, int]:
    return _created(_event_create)


def infinirtEventCreateWithFlags(flags: int) -> tuple[_Status, int]:
    """`flags` are of `infinirtEventFlags_t`, whose values are not CUDA's."""
    return _created(_event_create_with_flags, flags)


def infinirtEventRecord(event: Any, stream: Any) -> tuple[_Status]:
    return (_event_record(_address(event), _address(stream)),)


def infinirtEventQuery(event: Any) -> tuple[_Status, infinirtEventStatus_t]:
    answer = _int()
    status = _event_query(_address(event), answer)
    return status, infinirtEventStatus_t(answer.value)


def infinirtEventSynchronize(event: Any) -> tuple[_Status]:
    return (_event_synchronize(_address(event)),)


def infinirtEventDestroy(event: Any) -> tuple[_Status]:
    return (_event_destroy(_address(event)),)


def infinirtEventElapsedTime(start: Any, end: Any) -> tuple[_Status, float]:
    """The milliseconds between two completed events."""
    milliseconds = _float()
    return _event_elapsed_time(milliseconds, _address(start), _address(end)), milliseconds.value


def infinirtMalloc(size: int) -> tuple[_Status, int]:
    return _created(_malloc, size)


def infinirtMallocHost(size: int) -> tuple[_Status, int]:
    return _created(_malloc_host, size)


def infinirtMallocAsync(size: int, stream: Any) -> tuple[_Status, int]:
    return _created(_malloc_async, size, _address(stream))


def infinirtFree(ptr: Any) -> tuple[_Status]:
    return (_free(_address(ptr)),)


def infinirtFreeHost(ptr: Any) -> tuple[_Status]:
    return (_free_host(_address(ptr)),)


def infinirtFreeAsync(ptr: Any, stream: Any) -> tuple[_Status]:
    return (_free_async(_address(ptr), _address(stream)),)


def infinirtMemcpy(dst: Any, src: Any, size: int, kind: int) -> tuple[_Status]:
    return (_memcpy(_address(dst), _address(src), size, kind),)


def infinirtMemcpyAsync(dst: Any, src: Any, size: int, kind: int, stream: Any) -> tuple[_Status]:
    """On devices other than the CPU the caller keeps both memories alive until the stream has done the copy."""
    return (_memcpy_async(_address(dst), _address(src), size, kind, _address(stream)),)


def infinirtMemset(ptr: Any, value: int, count: int) -> tuple[_Status]:
    return (_memset(_address(ptr), value, count),)


def infinirtMemsetAsync(ptr: Any, value: int, count: int, stream: Any) -> tuple[_Status]:
    return (_memset_async(_address(ptr), value, count, _address(stream)),)


def infinirtStreamBeginCapture(stream: Any, mode: int) -> tuple[_Status]:
    return (_stream_begin_capture(_address(stream), mode),)


def infinirtStreamEndCapture(stream: Any) -> tuple[_Status, int]:
    graph = _pointer()
    return _stream_end_capture(_address(stream), graph), graph.value or 0


def infinirtGraphDestroy(graph: Any) -> tuple[_Status]:
    return (_graph_destroy(_address(graph)),)


def infinirtGraphInstantiate(graph: Any) -> tuple[_Status, int, int, str]:
    """The executable graph; when that fails, 0, the node at fault (or 0) and the reason."""
    executable, node = _pointer(), _pointer()
    log = ctypes.create_string_buffer(1024)
    status = _graph_instantiate(executable, _address(graph), node, log, len(log))
    return status, executable.value or 0, node.value or 0, log.value.decode(errors="replace")


def infinirtGraphExecDestroy(graph_exec: Any) -> tuple[_Status]:
    return (_graph_exec_destroy(_address(graph_exec)),)


def infinirtGraphLuanch(graph_exec: Any, stream: Any) -> tuple[_Status]:
    return (_graph_launch(_address(graph_exec), _address(stream)),)


__all__ = [
    "LIBRARY",
    "root",
    *(name for name in globals() if name.startswith(("infiniS", "infiniD", "infinirt"))),
]
