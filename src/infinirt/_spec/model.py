"""What the specification is made of: functions, enums, structs, typedefs and constants of the C API.

Everything here is plain data plus the few views on it that more than one emitter needs. The module uses the
standard library only, so that the generator runs before anything has been built.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

PREFIX = "infinirt"

ERROR_TYPE = "infinirtError_t"
STREAM_TYPE = "infinirtStream_t"

# Functions that take a stream and put nothing on it, by how their short names begin.
_ABOUT_STREAMS = (
    "StreamDestroy",
    "StreamQuery",
    "StreamSynchronize",
    "StreamGet",
    "StreamSet",
    "StreamCopy",
    "StreamIsCapturing",
    "StreamBegin",
    "StreamEnd",
    "StreamUpdate",
)
# Whose stream is in a struct: the C expression for it.
_STREAM_IN_STRUCT = {"LaunchKernelExC": "config ? config->stream : nullptr"}
# What these enqueue has a place in a stream's order and computes and moves nothing.
_ORDER_ONLY = (
    "EventRecord",
    "EventRecordWithFlags",
    "StreamWaitEvent",
    "MallocAsync",
    "MallocFromPoolAsync",
    "FreeAsync",
    "GraphUpload",
)


@dataclass(frozen=True)
class Param:
    """One parameter. `ctype` is spelt with stars attached to the type (`const void*`)."""

    name: str
    ctype: str
    default: str | None = None
    """The C++ default argument, as C source."""

    @property
    def declaration(self) -> str:
        return f"{self.ctype} {self.name}"


_PARAM = re.compile(r"^(?P<type>.*?[\s*])(?P<name>[A-Za-z_]\w*)(?:\s*=\s*(?P<default>.+))?$", re.S)


def normalise_type(text: str) -> str:
    """Spell a C type in one way: single spaces, stars attached to what they follow."""
    text = re.sub(r"\s+", " ", text.strip())
    text = re.sub(r"\s*\*", "*", text)
    return re.sub(r"\*(?=[A-Za-z])", "* ", text)


def parse_params(text: str) -> tuple[Param, ...]:
    """Parse `"void** devPtr, size_t size, unsigned int flags = 0"`; `"void"` and `""` mean none.

    Function pointers and arrays are not parameters of this API (they are typedefs), so a comma always separates.
    """
    text = text.strip()
    if text in ("", "void"):
        return ()
    params = []
    for part in text.split(","):
        match = _PARAM.match(part.strip())
        if match is None:
            raise ValueError(f"not a parameter: {part.strip()!r} in {text!r}")
        default = match["default"]
        params.append(
            Param(match["name"], normalise_type(match["type"]), default.strip() if default else None)
        )
    return tuple(params)


RouteKind = Literal["current", "core", "stream", "handle", "pointer", "pointers"]


@dataclass(frozen=True)
class RouteStep:
    """One way of finding the backend; see `Route`."""

    kind: RouteKind
    args: tuple[str, ...] = ()


@dataclass(frozen=True)
class Route:
    """How dispatch finds the backend of a call.

    Written as text: `current` (the thread's device type), `core` (needs no backend), `stream:ARG`, `handle:ARG`,
    `pointer:ARG` (owner in the pointer registry, else current), `pointers:ARG,ARG` (the first that has an owner, else
    current). `stream:ARG|REST` means: if the stream is one of the predefined 0, 1, 2, which name no backend, use REST
    instead. An argument may be a path through a struct (`config->stream`); dispatch guards every `->` against null.
    """

    steps: tuple[RouteStep, ...]

    @staticmethod
    def parse(text: str) -> Route:
        steps = []
        for part in text.split("|"):
            kind, _, args = part.strip().partition(":")
            names = tuple(a.strip() for a in args.split(",")) if args else ()
            expected = {"current": 0, "core": 0, "stream": 1, "handle": 1, "pointer": 1, "pointers": 2}
            if kind not in expected or len(names) != expected[kind]:
                raise ValueError(f"not a route: {text!r}")
            steps.append(RouteStep(kind, names))  # type: ignore[arg-type]
        if len(steps) > 2 or (len(steps) == 2 and steps[0].kind != "stream"):
            raise ValueError(f"only a stream can have a second route: {text!r}")
        return Route(tuple(steps))

    @property
    def is_core(self) -> bool:
        return self.steps[0].kind == "core"

    def __str__(self) -> str:
        return "|".join(s.kind + (":" + ",".join(s.args) if s.args else "") for s in self.steps)


@dataclass(frozen=True)
class Cuda13:
    """Where CUDA 13's library differs from 12.9 for one of our functions.

    `symbol` is the symbol of `libcudart.so.13` to call, None where 13 has nothing that corresponds. `params` are that
    symbol's parameters (in our names) where they differ from ours, else None. `note` says how the call is carried over.
    `reshaped`: the parameters agree, but a struct behind one of them has another layout.
    """

    symbol: str | None
    params: tuple[Param, ...] | None
    note: str
    reshaped: bool = False


@dataclass(frozen=True)
class Function:
    """One function of the public API."""

    name: str
    """With prefix: `infinirtStreamQuery`."""
    params: tuple[Param, ...]
    returns: str
    route: Route
    doc: str
    group: str = ""
    ptsz: bool = False
    """CUDA has a `_ptsz` form: an explicit stream of 0 means the per-thread default stream."""
    ptds: bool = False
    """CUDA has a `_ptds` form: the implicit default stream is the per-thread one."""
    cuda13: Cuda13 | None = None
    """None: CUDA 13 has the same symbol with the same shape."""
    alias_of: str | None = None
    """Another function's full name: same shape and meaning, so it has no table entry of its own."""

    @property
    def short(self) -> str:
        """Without prefix: the member of the backend table."""
        return self.name.removeprefix(PREFIX)

    @property
    def cuda_name(self) -> str:
        return "cuda" + self.short

    @property
    def in_table(self) -> bool:
        return not self.route.is_core and self.alias_of is None

    @property
    def stream_params(self) -> tuple[Param, ...]:
        """The streams passed by value."""
        return tuple(p for p in self.params if p.ctype == STREAM_TYPE)

    @property
    def enqueues(self) -> str | None:
        """The C expression for the stream that the call puts something on, or None where it does not."""
        if self.short in _STREAM_IN_STRUCT:
            return _STREAM_IN_STRUCT[self.short]
        if self.short.startswith(_ABOUT_STREAMS) or not self.stream_params:
            return None
        return self.stream_params[0].name

    @property
    def enqueues_work(self) -> bool:
        """Whether what it enqueues is work, which a name can be meant for."""
        return self.enqueues is not None and self.short not in _ORDER_ONLY

    @property
    def parameter_list(self) -> str:
        return ", ".join(p.declaration for p in self.params) or "void"

    @property
    def per_thread_suffix(self) -> str:
        """`_ptsz`, `_ptds`, or nothing where CUDA has no per-thread form."""
        return "_ptsz" if self.ptsz else "_ptds" if self.ptds else ""


def function(
    name: str,
    params: str,
    *,
    route: str,
    doc: str,
    returns: str = ERROR_TYPE,
    ptsz: bool = False,
    ptds: bool = False,
    cuda13: Cuda13 | None = None,
    alias_of: str | None = None,
) -> Function:
    """Build a `Function` from text; the group is set by `in_group`."""
    return Function(
        name, parse_params(params), returns, Route.parse(route), doc, "", ptsz, ptds, cuda13, alias_of
    )


def in_group(group: str, *functions: Function) -> tuple[Function, ...]:
    return tuple(replace(f, group=group) for f in functions)


def cuda13(symbol: str | None, params: str | None, note: str, *, reshaped: bool = False) -> Cuda13:
    return Cuda13(symbol, parse_params(params) if params is not None else None, note, reshaped)


@dataclass(frozen=True)
class Enumerator:
    name: str
    value: int
    doc: str = ""


@dataclass(frozen=True)
class Enum:
    """`tag` is what stands after `enum`; `typedef` a plain name for it, where CUDA has one."""

    tag: str
    doc: str
    enumerators: tuple[Enumerator, ...]
    typedef: str | None = None

    @property
    def spelling(self) -> str:
        """The type as prototypes and fields spell it."""
        return self.typedef or f"enum {self.tag}"


def enum(tag: str, doc: str, typedef: str | None = None, /, **values: int) -> Enum:
    """`enum("infinirtMemoryType", "…", infinirtMemoryTypeHost=1, …)`."""
    return Enum(tag, doc, tuple(Enumerator(name, value) for name, value in values.items()), typedef)


@dataclass(frozen=True)
class Field:
    """A member of a struct or union.

    Either it has a `ctype`, or it is itself a struct or union without a tag (`members`, `kind`). A nested one without
    a name is C11's anonymous member: its members belong to the enclosing struct.
    """

    name: str
    ctype: str = ""
    array: int | None = None
    members: tuple[Field, ...] = ()
    kind: Literal["struct", "union"] = "struct"


@dataclass(frozen=True)
class Struct:
    """A struct or union. `tag` stands after `struct`; `typedef` is a plain name for it, where CUDA has one."""

    tag: str
    doc: str
    fields: tuple[Field, ...]
    typedef: str | None = None
    kind: Literal["struct", "union"] = "struct"

    @property
    def spelling(self) -> str:
        return self.typedef or f"{self.kind} {self.tag}"

    @property
    def cuda_spelling(self) -> str:
        return self.spelling.replace(PREFIX, "cuda")

    def leaf_paths(self) -> Iterator[str]:
        """Designators of all members, nested ones included (`op.ptr.rowLength`), as `offsetof` takes them."""
        yield from _paths(self.fields, "")


def _paths(fields: tuple[Field, ...], before: str) -> Iterator[str]:
    for member in fields:
        if member.name:
            yield before + member.name
        if member.members:
            yield from _paths(member.members, before + member.name + "." if member.name else before)


_FIELD = re.compile(r"^(?P<type>.*?[\s*])(?P<name>[A-Za-z_]\w*)(?:\[(?P<array>\d+)\])?$", re.S)


def parse_fields(text: str) -> tuple[Field, ...]:
    """Parse the body of a C struct: `"int x; union { int a; struct { long b; } c; } u;"`."""
    tokens = re.findall(r"[{};]|[^{};]+", text)
    fields, rest = _parse_members([t.strip() for t in tokens if t.strip()])
    if rest:
        raise ValueError(f"unbalanced braces in {text!r}")
    return fields


def _parse_members(tokens: list[str]) -> tuple[tuple[Field, ...], list[str]]:
    fields: list[Field] = []
    while tokens and tokens[0] != "}":
        head, *tokens = tokens
        if tokens and tokens[0] == "{":
            members, tokens = _parse_members(tokens[1:])
            if head not in ("struct", "union") or not tokens:
                raise ValueError(f"cannot read a nested type that starts with {head!r}")
            tokens = tokens[1:]
            name = ""
            if tokens[0] != ";":
                name, *tokens = tokens
            fields.append(Field(name, members=members, kind=head))  # type: ignore[arg-type]
        else:
            match = _FIELD.match(head)
            if match is None:
                raise ValueError(f"not a field: {head!r}")
            array = match["array"]
            fields.append(Field(match["name"], normalise_type(match["type"]), int(array) if array else None))
        if not tokens or tokens[0] != ";":
            raise ValueError(f"missing ';' near {head!r}")
        tokens = tokens[1:]
    return tuple(fields), tokens


def struct(
    tag: str,
    doc: str,
    body: str,
    *,
    typedef: str | None = None,
    kind: Literal["struct", "union"] = "struct",
) -> Struct:
    return Struct(tag, doc, parse_fields(body), typedef, kind)


@dataclass(frozen=True)
class Handle:
    """An opaque handle: a pointer to a struct that is never defined."""

    name: str
    tag: str
    doc: str


@dataclass(frozen=True)
class Typedef:
    """Any other typedef; `declaration` is the C text between `typedef` and `;`."""

    name: str
    declaration: str
    doc: str


@dataclass(frozen=True)
class Define:
    """A `#define` constant. `value` is its integer value where it has one that other languages can use."""

    name: str
    text: str
    value: int | None = None
    has_cuda_counterpart: bool = True


@dataclass(frozen=True)
class DefineGroup:
    doc: str
    defines: tuple[Define, ...]
