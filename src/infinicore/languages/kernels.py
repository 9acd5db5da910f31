"""Kernels of Python's languages on a tensor's stream: launched, or recorded while a graph is being recorded there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import infinirt
from infinirt import triton as on_infinirt  # which does not import Triton
from infinirt.triton import Launch

from .. import _core
from ..tensor import Tensor


def kernels_on(place: _core.Place) -> AbstractContextManager[object]:
    """Triton's kernels that this thread launches inside the block go to the place's stream, or into what it records there."""
    if not place.is_recording:
        return on_infinirt.stream(place.stream)
    # Captured on a stream of its own: on the place's, other threads may be calling what is no part of the recording.
    apart = place.stream.device.create_stream(nonblocking=True)
    return on_infinirt.stream(apart, _recorder(place, apart))


def _recorder(place: _core.Place, stream: infinirt.Stream) -> Callable[[Launch], None]:
    def record(launch: Launch) -> None:
        """Captured alone, so that it stands among recorded operators where it was called."""
        launch.prepare()
        tensors = tuple(argument for argument in launch.arguments if isinstance(argument, Tensor))
        place.expect_others()
        with infinirt.capture(stream, "thread_local") as captured:
            launch()
        if captured.graph.nodes():
            shapes = ", ".join(f"{tensor.dtype.name}{tensor.shape}" for tensor in tensors)
            place.record_graph(captured.graph, f"{launch.name}({shapes})", tensors)

    return record


class NineToothedKernel:
    """What `ninetoothed.make(arrangement, application, tensors, ...)` makes, made when it is first called, for the device it is called on.

    NineToothed asks for the device when it makes a kernel, so that a module that calls `ninetoothed.make` cannot be imported without a GPU;
    one that has such objects instead can. Called inside an operator's function, with tensors, numbers, and constants by name. `num_warps`,
    `num_stages` and `kernel_name` are NineToothed's.
    """

    def __init__(
        self,
        arrangement: Callable[..., Any],
        application: Callable[..., Any],
        tensors: Sequence[Any],
        **options: Any,
    ) -> None:
        if len({id(tensor) for tensor in tensors}) != len(tensors):
            raise ValueError(
                "each of a kernel's tensors is an object of its own: tuple(Tensor(1) for _ in range(3)), not (Tensor(1),) * 3"
            )
        self._made_of = (arrangement, application, tuple(tensors))
        self._options = options
        self._kernels: dict[str, Callable[..., object]] = {}
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any, **constants: Any) -> None:
        tensor = next((argument for argument in arguments if isinstance(argument, Tensor)), None)
        if tensor is None:
            raise TypeError(f"{self!r} was called without a tensor of infinicore")
        kind = tensor._place.stream.device.type
        kernel = self._kernels.get(kind)
        if kernel is None:
            with self._lock:
                kernel = self._kernels.get(kind) or self._kernels.setdefault(kind, self._make(kind))
        kernel(*arguments, **constants)

    def _make(self, kind: str) -> Callable[..., object]:
        try:
            import ninetoothed
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "NineToothed is not installed: pip install 'infinirt[ninetoothed]'", name="ninetoothed"
            ) from error
        if kind == "cpu":
            with on_infinirt.host_facts():
                made = ninetoothed.make(*self._made_of, **self._options)
        else:  # inside kernels_on(): the device answers for itself
            made = ninetoothed.make(*self._made_of, **self._options)
        return made  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<NineToothedKernel {getattr(self._made_of[1], '__name__', '')}>"
