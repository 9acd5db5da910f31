"""The public functions: find the backend, call its table entry, remember a failure."""

from __future__ import annotations

from ..enums import ENUMS
from ..functions import FUNCTIONS
from ..model import STREAM_TYPE, Function, Param, RouteStep
from ..structs import STRUCTS
from ..typedefs import HANDLES
from .table import HOT
from .text import GENERATED, call_layout

_TOP = f"""\
// {GENERATED}
#include "core/dispatch.h"
#include "core/endings.h"

namespace infinirt {{

namespace {{

// A copy belongs to the thread's device type if that has a part in it, else to whoever owns its target or its source: host
// memory that nobody registered has no owner.
inline const Backend* route_pointers(ThreadState& ts, const void* first, const void* second) {{
  const Backend* target = registry_owner(first);
  const Backend* source = registry_owner(second);
  if (target && target == ts.backend) return target;
  if (target || source) return route_owned(ts, target, source, first, second);
  const Backend* backend = route_miss(ts, first);
  return backend == ts.backend ? route_miss(ts, second) : backend;
}}

inline infinirtStream_t per_thread_if_default(infinirtStream_t stream) {{
  return stream ? stream : infinirtStreamPerThread;
}}

}}  // namespace
"""


# What caches of memory have to hear of before a backend does it, or may veto (core/endings.h).
_BEFORE_CALL = {
    "StreamDestroy": "announce_stream_end(*backend, stream);",
    "DeviceReset": "announce_device_reset(*backend);",
    "Free": "if (is_of_cache(devPtr)) return finish_error(ts, FunctionId::Free, refuse_free(devPtr));",
    "FreeAsync": "if (is_of_cache(devPtr)) return finish_error(ts, FunctionId::FreeAsync, refuse_free(devPtr));",
    "FreeHost": "if (is_of_cache(ptr)) return finish_error(ts, FunctionId::FreeHost, refuse_free(ptr));",
}


def _guarded(path: str) -> str:
    """A path through a struct pointer as an expression that yields null where the pointer is null."""
    base, arrow, _ = path.partition("->")
    return f"({base} ? {path} : nullptr)" if arrow else path


def _route(step: RouteStep) -> str:
    args = "".join(f", {_guarded(arg)}" for arg in step.args)
    return f"route_{step.kind}(ts{args})"


def _find_backend(item: Function) -> str:
    first, *rest = item.route.steps
    if not rest:
        return _route(first)
    stream = _guarded(first.args[0])
    return f"reinterpret_cast<uintptr_t>({stream}) > 2 ? {_route(first)} : {_route(rest[0])}"


def _arguments(item: Function) -> str:
    return ", ".join(p.name for p in item.params)


def _definition(item: Function, suffix: str = "") -> str:
    hot = " __attribute__((hot, aligned(64)))" if item.short in HOT and not suffix else ""
    head = f'extern "C" INFINIRT_EXPORT{hot} {item.returns} {item.name}{suffix}'
    return call_layout(head, [p.declaration for p in item.params] or ["void"], " {")


def _stub(item: Function) -> str:
    """Three functions: what the call does, the same with an observer looking on, and the public one, which chooses."""
    number = f"FunctionId::{item.short}"
    before = f"  {_BEFORE_CALL[item.short]}\n" if item.short in _BEFORE_CALL else ""
    parameters = ["ThreadState& ts", *(p.declaration for p in item.params)]
    arguments = ", ".join(["ts", *(p.name for p in item.params)])
    routed = call_layout(
        f"[[gnu::always_inline]] static inline {item.returns} route_{item.short}", parameters, " {"
    )
    seen = call_layout(
        f"[[gnu::cold, gnu::noinline]] static {item.returns} observe_{item.short}", parameters, " {"
    )
    words = ", ".join(f"observed_word({p.name})" for p in item.params) or "0"
    return f"""\
{routed}
  const Backend* backend = {_find_backend(item)};
  if (INFINIRT_UNLIKELY(!backend)) return finish_error(ts, {number}, routing_failed(ts));
  const RoutedScope scope(ts, backend);
{before}  const infinirtError_t error = backend->table.{item.short}({_arguments(item)});
  return INFINIRT_LIKELY(error == infinirtSuccess) ? error : finish_error(ts, {number}, error);
}}

{seen}
  const unsigned long long words[] = {{{words}}};
  ObservedCall call(ts, static_cast<uint16_t>({number}), words, {len(item.params)});
  return call.end(route_{item.short}({arguments}));
}}

{_definition(item)}
  ThreadState& ts = thread_state();
  if (INFINIRT_UNLIKELY(ts.call_barrier | call_hooks())) {{
    if (const infinirtError_t barred = enter_slow(ts, {number})) return barred;
    if (observed()) return observe_{item.short}({arguments});
  }}
  return route_{item.short}({arguments});
}}
"""


def _alias(item: Function) -> str:
    return f"{_definition(item)}\n  return {item.alias_of}({_arguments(item)});\n}}\n"


def _per_thread(item: Function) -> str:
    """The `_ptsz` or `_ptds` form: the plain function, with the default stream replaced where this one carries it."""
    head = _definition(item, item.per_thread_suffix)
    by_type = {p.ctype: p.name for p in item.params}
    if item.ptds:
        body = f"  PerThreadDefaultScope scope(thread_state());\n  return {item.name}({_arguments(item)});"
    elif item.stream_params:
        args = ", ".join(
            f"per_thread_if_default({p.name})" if p.ctype == STREAM_TYPE else p.name for p in item.params
        )
        body = f"  return {item.name}({args});"
    elif (config := by_type.get("const infinirtLaunchConfig_t*")) is not None:
        args = ", ".join("&changed" if p.name == config else p.name for p in item.params)
        body = f"""\
  if (!{config} || {config}->stream) return {item.name}({_arguments(item)});
  infinirtLaunchConfig_t changed = *{config};
  changed.stream = infinirtStreamPerThread;
  return {item.name}({args});"""
    elif (params := by_type.get("infinirtGraphInstantiateParams*")) is not None:
        args = ", ".join("&changed" if p.name == params else p.name for p in item.params)
        body = f"""\
  if (!{params} || {params}->uploadStream) return {item.name}({_arguments(item)});
  infinirtGraphInstantiateParams changed = *{params};
  changed.uploadStream = infinirtStreamPerThread;
  const infinirtError_t error = {item.name}({args});
  changed.uploadStream = nullptr;
  *{params} = changed;
  return error;"""
    elif "EntryPoint" in item.name:
        body = f"""\
  if (flags == infinirtEnableDefault) flags = infinirtEnablePerThreadDefaultStream;
  return {item.name}({_arguments(item)});"""
    else:
        raise ValueError(f"{item.name} is marked ptsz but carries no stream")
    return f"{head}\n{body}\n}}\n"


_HANDLES = {handle.name for handle in HANDLES}
_STRUCTS = {struct.spelling for struct in STRUCTS}
_ENUMS = {enum.spelling for enum in ENUMS}
_UNSIGNED = {"size_t", "unsigned int", "unsigned long long", "unsigned long", "unsigned char"}
# Arrays of the caller's, though they look like a place for what the call makes.
_NO_RESULT = {"MemcpyBatchAsync", "MemRangeGetAttributes"}


def _kind(item: Param) -> str:
    """What an observer makes of the word that stands for an argument (core/observe.h)."""
    if item.ctype in _UNSIGNED:
        return "u"
    if item.ctype == "dim3":
        return "d"
    if item.ctype in _STRUCTS:
        return "s"
    return "i" if item.ctype == "int" or item.ctype in _ENUMS else "p"


def _cpp_bool(value: bool) -> str:
    return "true" if value else "false"


def _signature(item: Function) -> str:
    parameters = ",".join(f"{p.name}:{_kind(p)}" for p in item.params)
    first = item.params[0].ctype if item.params else ""
    creates = item.short not in _NO_RESULT and (first == "void**" or first.removesuffix("*") in _HANDLES)
    flags = f"{_cpp_bool(creates and first.endswith('*'))}, {_cpp_bool(item.enqueues_work)}"
    return f'    {{"{item.name}", "{parameters}", {flags}}},'


def _signatures() -> str:
    rows = "\n".join(_signature(f) for f in FUNCTIONS if f.in_table)
    return f"const ObservedSignature kTableSignatures[kFunctionCount] = {{\n{rows}\n}};\n"


def render() -> str:
    parts = [_TOP, _signatures()]
    for item in FUNCTIONS:
        if item.route.is_core:
            continue
        parts.append(_alias(item) if item.alias_of else _stub(item))
    parts += [_per_thread(item) for item in FUNCTIONS if item.per_thread_suffix]
    parts.append("}  // namespace infinirt\n")
    return "\n".join(parts)
