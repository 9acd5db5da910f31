"""Type stubs of `infinirt.runtime`, laid out as the formatter would."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..emit.text import GENERATED
from .by_hand import BY_HAND, PLAIN_RESULTS
from .classes import (
    CONSTANTS,
    ENUM_CLASSES,
    HANDLE_CLASSES,
    SECOND_NAMES,
    STRUCT_CLASSES,
    FieldClass,
    StructClass,
    enum_name,
)
from .model import ByHand, Shape
from .shapes import SHAPES

WIDTH = 110

_HEAD = f'''\
"""The flat API: every function of the C API, call-compatible with `cuda.bindings.runtime` 13.

Results are None after a failure; the annotations describe success.
"""

# {GENERATED}

from collections.abc import Callable, Iterator, Mapping
from typing import (
    Any,
    ClassVar,
    NamedTuple,
    Protocol,
    SupportsIndex,
    SupportsInt,
    TypeAlias,
    TypeVar,
    overload,
)

from typing_extensions import Buffer, Self

class _CudaStream(Protocol):
    def __cuda_stream__(self) -> tuple[int, int]: ...

_T = TypeVar("_T")
_Int: TypeAlias = SupportsIndex | SupportsInt
_Text: TypeAlias = bytes | bytearray | str
_Pointer: TypeAlias = _Int | Buffer | None
_Stream: TypeAlias = infinirtStream_t | _CudaStream | _Int | None
_Sequence: TypeAlias = list[_T] | tuple[_T, ...] | None
_HostFunction: TypeAlias = infinirtHostFn_t | _Int | Callable[[Any], object] | None
_StreamCallback: TypeAlias = infinirtStreamCallback_t | _Int | Callable[..., object] | None
_Dim3: TypeAlias = dim3 | int | tuple[int, ...] | list[int]
_KernelParams: TypeAlias = int | Buffer | tuple[tuple[Any, ...], tuple[Any, ...]] | None

class _EnumType(type):
    @property
    def __members__(cls: type[_T]) -> Mapping[str, _T]: ...
    def __iter__(cls: type[_T]) -> Iterator[_T]: ...
    def __len__(cls) -> int: ...
    def __contains__(cls, item: object) -> bool: ...
    def __getitem__(cls: type[_T], name: str) -> _T: ...

class _Enum(int, metaclass=_EnumType):
    def __new__(cls, value: int) -> Self: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> int: ...

class _Handle:
    def __init__(self, init_value: _Int = 0, _ptr: int = 0) -> None: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def getPtr(self) -> int: ...

class _Struct:
    def __init__(self, _ptr: int = 0) -> None: ...
    def getPtr(self) -> int: ...

class infinirtXDeviceTypeInfo(NamedTuple):
    name: str
    origin: str
    problem: str
    deviceCount: int
    isAccelerator: bool
'''


def _broken(returns: str, around: int) -> str:
    """A tuple that does not fit its line, over several."""
    if len(returns) + around <= WIDTH:
        return returns
    inner = returns.removeprefix("tuple[").removesuffix("]")
    if len(inner) + 4 <= WIDTH:
        return f"tuple[\n    {inner}\n]"
    return "tuple[\n" + "".join(f"    {part},\n" for part in inner.split(", ")) + "]"


def _function(name: str, parameters: Iterable[str], returns: str, head: str = "") -> str:
    listed = list(parameters)
    single = f"{head}def {name}({', '.join(listed)}) -> {returns}: ..."
    if len(single) <= WIDTH:
        return single + "\n"
    indented = f"    {', '.join(listed)}"
    if len(listed) > 1 and len(indented) <= WIDTH:
        return f"def {name}(\n{indented}\n) -> {_broken(returns, len(') -> : ...'))}: ...\n"
    lines = "".join(f"    {p},\n" for p in listed)
    return f"def {name}(\n{lines}) -> {_broken(returns, len(') -> : ...'))}: ...\n"


def _tuple(outputs: Iterable[str]) -> str:
    return f"tuple[{', '.join(('infinirtError_t', *outputs))}]"


def _shape(shape: Shape) -> str:
    returns = [shape.returns_text] if shape.returns_text else [o.annotation for o in shape.outputs]
    parameters = [f"{i.name}: {i.annotation}" for i in shape.inputs]
    if shape.older is None:
        return _function(shape.name, parameters, _tuple(returns))
    older = [f"{i.name}: {i.annotation}" for i in shape.older.inputs]
    return "".join(
        "@overload\n" + _function(shape.name, listed, _tuple(returns)) for listed in (parameters, older)
    )


def _by_hand(entry: ByHand) -> str:
    parameters = [f"{name}: {annotation}" for name, annotation in entry.parameters]
    return _function(entry.name, parameters, PLAIN_RESULTS.get(entry.name) or _tuple(entry.returns))


_ACCEPTED = {
    "Pointer": "_Pointer",
    "KernelParams": "_KernelParams",
    "HostFunction": "infinirtHostFn_t | _Int | Callable[[Any], object] | None",
}


def _field(field: FieldClass) -> str:
    accepted = _ACCEPTED.get(field.kind)
    if field.kind == "Enum":
        accepted = f"{field.annotation} | _Int"
    elif field.kind == "Handle":
        accepted = (
            "_Stream" if field.annotation == "infinirtStream_t" else f"{field.annotation} | _Int | None"
        )
    if accepted is None and not field.read_only:
        return f"    {field.name}: {field.annotation}\n"
    text = f"    @property\n    def {field.name}(self) -> {field.annotation}: ...\n"
    if not field.read_only:
        text += f"    @{field.name}.setter\n    def {field.name}(self, value: {accepted}) -> None: ...\n"
    return text


def _struct(struct: StructClass) -> str:
    body = "".join(_field(f) for f in struct.fields)
    return f"class {struct.name}(_Struct):\n{body}" if body else f"class {struct.name}(_Struct): ...\n"


def render() -> str:
    parts = [_HEAD]
    for e in ENUM_CLASSES:
        name = enum_name(e)
        parts.append(
            f"class {name}(_Enum):\n" + "".join(f"    {m.name}: ClassVar[Self]\n" for m in e.enumerators)
        )
    for h in HANDLE_CLASSES:
        if h.kind == "Stream":
            parts.append(f"class {h.name}(_Handle):\n    def __cuda_stream__(self) -> tuple[int, int]: ...\n")
        else:
            parts.append(f"class {h.name}(_Handle): ...\n")
    parts += [_struct(s) for s in STRUCT_CLASSES]
    parts.append("".join(f"{name} = {of}\n" for name, of in SECOND_NAMES.items()))
    parts.append("".join(f"{name}: int\n" for name in CONSTANTS))
    parts.append("".join(_shape(s) for s in SHAPES) + "".join(_by_hand(b) for b in BY_HAND))
    # The formatter keeps classes without a body together.
    return re.sub(r"(?m)(^class .*: \.\.\.\n)\n(?=class \w+\(\w+\): \.\.\.\n)", r"\1", "\n".join(parts))
