"""What cases say: a call succeeded, failed as it should, a value is right. And how a case ends early."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from infinirt import runtime

_last = threading.local()


class Failed(Exception):
    """The device broke the rule."""

    def __init__(self, expected: str, seen: str) -> None:
        super().__init__(f"expected {expected}; seen: {seen}")
        self.expected = expected
        self.seen = seen


class Limit(Exception):
    """A function that the device type declares unsupported said so."""

    def __init__(self, function: str, reason: str) -> None:
        super().__init__(f"{function}: {reason}")
        self.function = function
        self.reason = reason


class Inapplicable(Exception):
    """What the case is about does not exist here: a second device, a way to set a limit."""


class Finished(Exception):
    """The case has seen all it wanted and passes; nothing can be cleared away on a device that has failed."""


class Flat:
    """`rt.Malloc` is `infinirt.runtime.infinirtMalloc`, looked up at each call; `called` collects what was called."""

    def __init__(self) -> None:
        self.called: set[str] = set()
        self.unsupported: frozenset[str] = (
            frozenset()
        )  # functions that the device type under test does not claim

    def __getattr__(self, name: str) -> Any:
        full = f"infinirt{name}"
        found = getattr(runtime, full)
        if isinstance(found, type) or not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self.called.add(full)
            _last.function = full
            return getattr(runtime, full)(*args, **kwargs)

        return call

    def member(self, enum: str, name: str) -> Any:
        """`rt.member("Limit", "LimitStackSize")`."""
        return getattr(getattr(runtime, f"infinirt{enum}"), f"infinirt{name}")

    def make(self, name: str) -> Any:
        """`rt.make("Extent")` is `make_infinirtExtent`."""
        return getattr(runtime, f"make_infinirt{name}")


rt = Flat()


def name_of(error: Any) -> str:
    """A code as people know it: infinirtErrorInvalidValue (1)."""
    number = int(error)
    known = runtime.infinirtGetErrorName(number)[1]
    return f"{known.decode() if isinstance(known, bytes) else known} ({number})"


def message() -> str:
    return str(runtime.infinirtXGetLastErrorMessage()[1])


def _judge_limit(code: int, text: str) -> None:
    """Leaves the case if this is the declared answer of a function that the type does not support."""
    function = getattr(_last, "function", "")
    if code == 801 and function in rt.unsupported:
        raise Limit(function, text.removeprefix(f"{function}: "))


def ok(result: Any) -> Any:
    """The outputs of a call that has to succeed: None, the one, or a tuple of them."""
    error, *outputs = result
    if int(error) != 0:
        text = message()
        runtime.infinirtGetLastError()
        _judge_limit(int(error), text)
        raise Failed(f"{getattr(_last, 'function', 'the call')} to succeed", f"{name_of(error)}: {text}")
    if not outputs:
        return None
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def fails(result: Any, *names: str) -> int:
    """The call has to fail with one of these errors ("InvalidValue"); the thread's last error is taken away."""
    code = int(result[0])
    wanted = {int(error_code(name)) for name in names}
    text = message()
    runtime.infinirtGetLastError()
    if code not in wanted:
        _judge_limit(code, text)
        expected = " or ".join(name_of(each) for each in sorted(wanted))
        seen = name_of(code) + (f": {text}" if code else "")
        raise Failed(f"{getattr(_last, 'function', 'the call')} to return {expected}", seen)
    return code


def code_of(result: Any) -> int:
    """The error code, whatever it is; the thread's last error is taken away."""
    code = int(result[0])
    text = message() if code else ""
    runtime.infinirtGetLastError()
    if code:
        _judge_limit(code, text)
    return code


def error_code(name: str) -> Any:
    full = "infinirtSuccess" if name == "Success" else f"infinirtError{name}"
    return getattr(runtime.infinirtError_t, full)


def same(seen: Any, expected: Any, what: str) -> None:
    if isinstance(expected, bytes) and len(expected) > 32:
        same_bytes(seen, expected, what)
    elif seen != expected:
        raise Failed(f"{what} = {short(expected)}", short(seen))


def holds(condition: bool, expected: str, seen: object = "the opposite") -> None:
    """For rules that are no equality; `expected` says what should hold, `seen` what was found instead."""
    if not condition:
        raise Failed(expected, short(seen))


def short(value: object) -> str:
    """A value for a report: long bytes are cut."""
    if isinstance(value, (bytes, bytearray)) and len(value) > 32:
        return f"{bytes(value[:32])!r}… ({len(value)} bytes)"
    text = repr(value) if not isinstance(value, str) else value
    return text if len(text) <= 2000 else text[:2000] + "…"


def same_bytes(seen: bytes, expected: bytes, what: str) -> None:
    """Tells where the first difference is."""
    if seen == expected:
        return
    if len(seen) != len(expected):
        raise Failed(f"{what}: {len(expected)} bytes", f"{len(seen)} bytes")
    at = next(i for i, (a, b) in enumerate(zip(seen, expected, strict=True)) if a != b)
    wrong = sum(a != b for a, b in zip(seen, expected, strict=True))
    raise Failed(
        f"{what}: 0x{expected[at]:02x} at byte {at} of {len(expected)}",
        f"0x{seen[at]:02x} there; {wrong} bytes differ in all",
    )


def raises(exception: type[BaseException], call: Callable[[], object], what: str) -> BaseException:
    """For the object API: the exception that `call` has to raise."""
    try:
        found = call()
    except exception as error:
        return error
    raise Failed(f"{what} to raise {exception.__name__}", f"it returned {short(found)}")
