"""InfiniCore's interface: devices and runtimes, memory, events, tensors, operators and recorded graphs.

>>> import infinicore
>>> x = infinicore.from_list([1.0, -2.0], dtype=infinicore.float32)
>>> infinicore.nn.functional.relu(x).tolist()
[1.0, 0.0]
>>> infinicore.get_runtime().allocate_memory(1 << 20).size()
1048576
"""

from __future__ import annotations

from types import FunctionType as _FunctionType

import infinirt as _infinirt  # noqa: F401  # the objects that _core is built on

from . import (
    context,
    creation,
    functions,
    indexing,
    languages,
    memory,
    moving,
    nn,
    operators,
    other_names,
    products,
    random_numbers,
    selection,
)
from ._arguments import explained as _explained
from ._tensor_str import get_printoptions, printoptions, set_printoptions
from .allocators import (
    DevicePinnedHostAllocator,
    MemoryAllocator,
    PinnableBlockAllocator,
    StreamOrderedAllocator,
)
from .context import (
    Context,
    add_graph_operator,
    allocate_host_memory,
    allocate_memory,
    allocate_pinned_host_memory,
    cancel_graph_recording,
    get_context,
    get_device,
    get_device_count,
    get_infiniop_handle,
    get_runtime,
    get_stream,
    is_graph_recording,
    set_device,
    start_graph_recording,
    stop_graph_recording,
    sync_device,
    sync_stream,
    synchronize,
    trim_memory,
)
from .creation import *  # noqa: F403
from .device import device
from .device_event import DeviceEvent
from .dtype import (
    bfloat16,
    bool,
    byte,
    cdouble,
    cfloat,
    chalf,
    complex16,
    complex32,
    complex64,
    complex128,
    double,
    dtype,
    float,
    float8,
    float16,
    float32,
    float64,
    from_numpy_dtype,
    from_torch_dtype,
    half,
    int,
    int8,
    int16,
    int32,
    int64,
    long,
    short,
    to_numpy_dtype,
    to_torch_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .functions import *  # noqa: F403
from .graph import Graph, GraphOperator
from .indexing import *  # noqa: F403
from .languages import operator
from .memory import Memory
from .moving import *  # noqa: F403
from .operators import *  # noqa: F403
from .other_names import *  # noqa: F403
from .products import *  # noqa: F403
from .random_numbers import *  # noqa: F403
from .recording import record
from .runtime import CloseError, Runtime
from .selection import *  # noqa: F403
from .tensor import Tensor

__all__ = [
    "CloseError",
    "Context",
    "DeviceEvent",
    "DevicePinnedHostAllocator",
    "Graph",
    "GraphOperator",
    "Memory",
    "MemoryAllocator",
    "PinnableBlockAllocator",
    "Runtime",
    "StreamOrderedAllocator",
    "Tensor",
    "add_graph_operator",
    "allocate_host_memory",
    "allocate_memory",
    "allocate_pinned_host_memory",
    "bfloat16",
    "bool",
    "byte",
    "cancel_graph_recording",
    "cdouble",
    "cfloat",
    "chalf",
    "complex16",
    "complex32",
    "complex64",
    "complex128",
    "context",
    "device",
    "double",
    "dtype",
    "float",
    "float8",
    "float16",
    "float32",
    "float64",
    "from_numpy_dtype",
    "from_torch_dtype",
    "get_context",
    "get_device",
    "get_device_count",
    "get_infiniop_handle",
    "get_printoptions",
    "get_runtime",
    "get_stream",
    "half",
    "int",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_graph_recording",
    "languages",
    "long",
    "memory",
    "nn",
    "operator",
    "printoptions",
    "record",
    "set_device",
    "set_printoptions",
    "short",
    "start_graph_recording",
    "stop_graph_recording",
    "sync_device",
    "sync_stream",
    "synchronize",
    "to_numpy_dtype",
    "to_torch_dtype",
    "trim_memory",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
__all__ += creation.__all__
__all__ += functions.__all__
__all__ += indexing.__all__
__all__ += moving.__all__
__all__ += other_names.__all__
__all__ += products.__all__
__all__ += random_numbers.__all__
__all__ += selection.__all__
__all__ += operators.__all__

# Functions of Python's say which argument was wrong; those that are called most, or are little more than an operator, look at theirs
# themselves or leave that to it.
_QUICK = {
    "argmax", "cat", "concat", "empty", "empty_like", "full", "fused_ffn", "gather", "index_add", "index_copy", "index_select", "matmul",
    "narrow", "ones", "rearrange", "squeeze", "topk", "topkrouter", "unsqueeze", "zeros",
}  # fmt: skip
for _module in (creation, functions, indexing, moving, other_names, products, random_numbers, selection):
    for _name in {*_module.__all__} - _QUICK:
        if isinstance(globals()[_name], _FunctionType):
            globals()[_name] = _explained(globals()[_name], __name__)
