"""What happens to `kernel[grid](...)` inside a block of `infinirt.triton.stream()`.

Triton decides when it is imported, by TRITON_INTERPRET, whether kernels are compiled or interpreted, for the whole process. Here the
stream's device decides, launch by launch: `run` of Triton's kernels asks the calling thread who launches, and a kernel's calls of other
kernels are interpreted where the thread interprets. Both hooks do what Triton does for everybody else.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from .device import Device
from .stream import Stream

_thread = threading.local()
_originals: dict[str, Any] = {}
_is_installed = False
_installing = threading.Lock()
TIMED_RUNS = 20


class _Turns:
    """Triton's interpreter replaces functions of triton.language while it works, and a compiler that met those would fail: any number
    of threads compile and launch, or one interprets."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._compiling = 0
        self._waiting = 0  # to interpret; whoever compiles lets them go first
        self._interpreting = False

    def begin_compiling(self) -> None:
        with self._changed:
            while self._interpreting or self._waiting:
                self._changed.wait()
            self._compiling += 1

    def end_compiling(self) -> None:
        with self._changed:
            self._compiling -= 1
            if self._waiting:
                self._changed.notify_all()

    def begin_interpreting(self) -> None:
        with self._changed:
            self._waiting += 1
            try:
                while self._interpreting or self._compiling:
                    self._changed.wait()
                self._interpreting = True
            finally:
                self._waiting -= 1

    def end_interpreting(self) -> None:
        with self._changed:
            self._interpreting = False
            self._changed.notify_all()


_turns = _Turns()


def _after_fork() -> None:
    global _turns, _installing
    _turns, _installing = _Turns(), threading.Lock()  # threads that had them are not in the child


os.register_at_fork(after_in_child=_after_fork)

# Element types that Triton has other names for.
_TRITON_NAMES = {"float8": "float8_e4m3fn", "byte": "uint8"}


class Argument:
    """An address with an element type, as Triton's compiler and interpreter take them."""

    __slots__ = ("_address", "dtype")

    def __init__(self, address: int, dtype: str) -> None:
        self._address = address
        self.dtype = dtype

    def data_ptr(self) -> int:
        return self._address


def element_name(dtype: object) -> str:
    """Triton's name of an element type: the last word of what the type calls itself."""
    name = str(dtype).rpartition(".")[2]
    return _TRITON_NAMES.get(name, name)


def as_argument(value: Any) -> Any:
    return Argument(value.data_ptr(), element_name(value.dtype)) if hasattr(value, "data_ptr") else value


class Launch:
    """One launch of a Triton kernel; calling it puts the kernel on the stream."""

    __slots__ = ("_args", "_grid", "_kernel", "_options", "stream")

    def __init__(
        self, kernel: Any, grid: Any, args: tuple[Any, ...], options: dict[str, Any], stream: Stream
    ) -> None:
        self._kernel = kernel
        self._grid = grid
        self._args = args
        self._options = options
        self.stream = stream

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Everything that the kernel was called with, as it was given; what tuples and descriptors of tensors have in them, too."""
        found: list[Any] = []
        left = [*self._args, *self._options.values()]
        while left:
            value = left.pop(0)
            if isinstance(value, tuple):
                left[:0] = value
                continue
            found.append(value)
            if hasattr(
                getattr(value, "base", None), "data_ptr"
            ):  # triton.tools.tensor_descriptor.TensorDescriptor
                found.append(value.base)
        return tuple(found)

    @property
    def name(self) -> str:
        """The kernel's name."""
        return str(self._kernel.fn.__name__)

    def prepare(self) -> None:
        """Compiles and loads the kernel, so that calling this does nothing but enqueue: for captures."""
        if self.stream.device.type == "nvidia":
            compiled = self._run(warmup=True)
            if hasattr(compiled, "result"):
                compiled = compiled.result()
            _ = getattr(compiled, "run", None)  # loaded when it is first asked for

    def __call__(self) -> None:
        if self.stream.device.type == "nvidia":
            self._run(warmup=False)
            return
        from ._triton_interpreter import Interpreted

        work = Interpreted(self._kernel, self._grid, self._args, self._options, self.stream.device)
        if work.is_needed:
            self.stream.launch_host_func(work)

    def _run(self, warmup: bool) -> Any:
        if not isinstance(self._kernel, _originals["compiled class"]):
            raise RuntimeError(
                f"{self.name} cannot be compiled for {self.stream.device}: Triton was imported with TRITON_INTERPRET=1, which makes all "
                "kernels interpreted ones; without it those of the CPU device are interpreted, and only those"
            )
        return run_compiled(self._kernel, self._grid, warmup, self._args, self._options)


def run_compiled(kernel: Any, grid: Any, warmup: bool, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What Triton does for `kernel[grid](...)`."""
    run = _originals["compiled"]
    if getattr(_thread, "compiles", False):  # a hook of that kernel launches another one
        return run(kernel, *args, grid=grid, warmup=warmup, **options)
    turns = _turns
    turns.begin_compiling()
    _thread.compiles = True
    try:
        try:
            return run(kernel, *args, grid=grid, warmup=warmup, **options)
        except KeyError as error:  # a type whose name Triton does not find in its table
            if error.args[:1] not in [(name,) for name in _TRITON_NAMES]:
                raise
        given = {name: as_argument(value) for name, value in options.items()}
        return run(kernel, *map(as_argument, args), grid=grid, warmup=warmup, **given)
    finally:
        _thread.compiles = False
        turns.end_compiling()


class Block:
    """Kernels that this thread launches inside the block go to the stream."""

    __slots__ = ("_before", "around", "stream")
    only_runs = False  # Triton itself, when nobody wants to see launches

    def __init__(self, stream: Stream, around: Callable[[Launch], None] | None) -> None:
        installed()
        self.stream = stream
        self.around = around

    def __enter__(self) -> Stream:
        if _failures:
            raise_failure(self.stream.device)
        self._before = getattr(_thread, "target", None)
        _thread.target = self
        return self.stream

    def __exit__(self, *_: object) -> None:
        _thread.target = self._before


def current_stream() -> Stream | None:
    """Where the calling thread's launches go; None: outside of any block."""
    target: Block | None = getattr(_thread, "target", None)
    return None if target is None else target.stream


# What interpreted kernels have raised: the kernel's name and the exception, by the ordinal of the CPU device.
_failures: dict[int, tuple[str, BaseException]] = {}


def note_failure(ordinal: int, kernel: str, error: BaseException) -> None:
    _failures.setdefault(ordinal, (kernel, error))


def raise_failure(device: Device) -> None:
    """Raises what a kernel of this device has raised since the last time, if anything."""
    found = _failures.pop(device.ordinal, None) if device.type == "cpu" else None
    if found is not None:
        name, error = found
        raise RuntimeError(
            f"{name} failed on {device} in an earlier launch, and its results are not to be used: {error!r}"
        ) from error


def not_installed() -> ModuleNotFoundError:
    return ModuleNotFoundError("Triton is not installed: pip install 'infinirt[triton]'", name="triton")


def installed() -> None:
    """Hooks into Triton's kernels, once."""
    if not _is_installed:
        _install()


def _install() -> None:
    global _is_installed
    try:
        from triton.runtime.autotuner import Autotuner
        from triton.runtime.interpreter import InterpretedFunction
        from triton.runtime.jit import JITFunction
    except ModuleNotFoundError as error:
        raise not_installed() from error
    with _installing:
        if _is_installed:
            return
        # First these, which other threads may need as soon as the first hook is there.
        _originals.update(
            {
                "compiled class": JITFunction,
                "compiled": JITFunction.run,
                "call": JITFunction.__call__,
                "interpreted": InterpretedFunction.run,
                "tuned": Autotuner.run,
            }
        )
        JITFunction.run = _run_instead_of("compiled")
        InterpretedFunction.run = _run_instead_of("interpreted")
        Autotuner.run = _run_tuned
        JITFunction.__call__ = _call
        _is_installed = True


def _run_instead_of(which: str) -> Callable[..., Any]:
    def run(self: Any, *args: Any, grid: Any, warmup: bool, **options: Any) -> Any:
        target = getattr(_thread, "target", None)
        if target is None or warmup:
            return _originals[which](self, *args, grid=grid, warmup=warmup, **options)
        if target.only_runs and target.around is None and which == "compiled":
            return run_compiled(self, grid, warmup, args, options)
        launch = Launch(self, grid, args, options, target.stream)
        if target.around is None:
            launch()
        else:
            target.around(launch)
        return None

    return run


def _run_tuned(self: Any, *args: Any, **options: Any) -> Any:
    target = getattr(_thread, "target", None)
    if target is None or target.only_runs or len(self.configs) < 2:
        return _originals["tuned"](self, *args, **options)
    # How long an interpreter takes says nothing: the first configuration that fits will do.
    self.nargs = dict(zip(self.arg_names, args, strict=False))
    chosen = self.prune_configs(options)[0]
    if chosen.pre_hook is not None:
        chosen.pre_hook({**self.nargs, **options, **chosen.all_kwargs()})
    self.nargs = None
    return self.fn.run(*args, **options, **chosen.all_kwargs())


def milliseconds(call: Callable[[], object], quantiles: Sequence[float] = (0.5,)) -> list[float]:
    """How long a function's launches take on the stream of the thread's block: what Triton's autotuner asks. They are made, even
    where others wanted to see each launch."""
    target: Block | None = getattr(_thread, "target", None)
    if target is None:
        raise RuntimeError("kernels are timed inside a block of infinirt.triton.stream()")
    events = [target.stream.device.create_event(timing_enabled=True) for _ in range(2)]
    around, target.around = target.around, None
    taken = []
    try:
        # The stream may be one that the memory's earlier users have not been ordered with, and nothing else should run.
        target.stream.device.sync()
        call()  # compiled, and in the caches
        for _ in range(TIMED_RUNS):
            target.stream.record(events[0])
            call()
            target.stream.record(events[1])
            events[1].sync()
            taken.append(events[1] - events[0])
    finally:
        target.around = around
    taken.sort()
    return [taken[min(int(part * len(taken)), len(taken) - 1)] for part in quantiles]


def _call(self: Any, *args: Any, **options: Any) -> Any:
    if getattr(_thread, "interprets", False):
        from ._triton_interpreter import interpreted

        return interpreted(self)(*args, **options)
    return _originals["call"](self, *args, **options)


@contextmanager
def interpreting() -> Iterator[None]:
    """Inside the block kernels that this thread calls are interpreted. One thread at a time."""
    turns = _turns
    turns.begin_interpreting()
    _thread.interprets = True
    try:
        yield
    finally:
        _thread.interprets = False
        turns.end_interpreting()


def grid_of(grid: Any, named: Mapping[str, Any], kernel: str) -> tuple[int, ...]:
    """Three numbers, from what stands in `kernel[...]`."""
    found = grid(named) if callable(grid) else grid
    sizes = tuple(found) if isinstance(found, (tuple, list)) else (found,)
    if not 1 <= len(sizes) <= 3 or not all(hasattr(size, "__index__") for size in sizes):
        raise ValueError(f"the grid of {kernel} is {found!r}; one to three whole numbers were expected")
    return (*(size.__index__() for size in sizes), 1, 1)[:3]
