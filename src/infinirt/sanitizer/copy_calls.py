"""What calls that copy and set memory mean to the checker."""

from __future__ import annotations

from collections.abc import Sequence

from . import findings as kinds
from .accesses import SET_MEMORY, SOURCE, TARGET, copy_parameters, flat, rows, word
from .call import Call
from .checker import Stream
from .findings import Place, bytes_at, site
from .graphs import Action, Touch
from .handles import Handles

_DEVICE_TO_DEVICE = 3  # infinirtMemcpyKind


class CopyCalls(Handles):
    def _copy(self, call: Call, stream: Stream, actions: Sequence[Action], *, waits: bool) -> None:
        if call.result != 0:  # refused: why may be worth saying
            for action in actions:
                if isinstance(action, Touch):
                    self._say_if_refused_for(call, stream, action)
            return
        self.checker.work(stream, call.title, call.stack, actions)
        if waits and stream.capture is None:
            self.checker.host_waits_for_stream(stream)

    def _say_if_refused_for(self, call: Call, stream: Stream, touch: Touch) -> None:
        allocation = self.checker.memory.at(touch.address)
        if allocation is not None and allocation.freed is not None:
            self.checker.work(stream, call.function, call.stack, [touch])  # which says so
            return
        for first, last in touch.ranges or ():
            if allocation is None or last <= allocation.end:
                continue
            self.checker.found(
                kinds.OUT_OF_BOUNDS,
                f"{call.function} was to {'write' if touch.writes else 'read'} {touch.label}"
                f" {last - allocation.end:,} bytes beyond its memory, and was refused",
                [Place(f"{call.function} is called for {bytes_at(first, last)}", call.stack)],
                "copy fewer bytes, begin elsewhere, or allocate more",
                allocation=allocation,
                key=(kinds.OUT_OF_BOUNDS, site(call.stack, call.function), touch.label),
            )

    def _is_pageable(self, address: int) -> bool:
        return self.checker.memory.at(address) is None

    def _transfer(self, call: Call, stream: Stream, pairs: Sequence[Action], synchronous: bool) -> None:
        """A copy. Pageable memory is read, or has been written, when the call returns; copies within devices are never waited for."""
        addresses = [action.address for action in pairs if isinstance(action, Touch) and action.writes]
        to_pageable = any(self._is_pageable(address) for address in addresses)
        within = synchronous and call.arguments.get("kind") == _DEVICE_TO_DEVICE
        self._copy(call, stream, pairs, waits=(synchronous and not within) or to_pageable)

    def _MemcpyAsync(self, call: Call) -> None:
        a = call.arguments
        self._transfer(call, self._stream(call), flat(a["dst"], a["src"], a["count"]), "stream" not in a)

    _Memcpy = _MemcpyPeer = _MemcpyPeerAsync = _MemcpyAsync

    def _Memcpy2DAsync(self, call: Call) -> None:
        a = call.arguments
        actions = [
            rows(a["dst"], a["dpitch"], a["width"], a["height"], True, TARGET),
            rows(a["src"], a["spitch"], a["width"], a["height"], False, SOURCE),
        ]
        self._transfer(call, self._stream(call), actions, "stream" not in a)

    _Memcpy2D = _Memcpy2DAsync

    def _Memcpy3DAsync(self, call: Call) -> None:
        actions = copy_parameters(call.arguments["p"])
        self._transfer(call, self._stream(call), actions, "stream" not in call.arguments)

    _Memcpy3D = _Memcpy3DAsync

    def _MemcpyBatchAsync(self, call: Call) -> None:
        a = call.arguments
        stream = self._stream(call)
        for i in range(a["count"]):
            dst, src, size = (word(a[name] + 8 * i) for name in ("dsts", "srcs", "sizes"))
            self._transfer(call, stream, flat(dst, src, size), False)

    def _MemsetAsync(self, call: Call) -> None:
        a = call.arguments
        touch = Touch(a["devPtr"], ((a["devPtr"], a["devPtr"] + a["count"]),), True, SET_MEMORY)
        self._copy(call, self._stream(call), [touch], waits=False)

    _Memset = _MemsetAsync

    def _Memset2DAsync(self, call: Call) -> None:
        a = call.arguments
        touch = rows(a["devPtr"], a["pitch"], a["width"], a["height"], True, SET_MEMORY)
        self._copy(call, self._stream(call), [touch], waits=False)

    _Memset2D = _Memset2DAsync

    def _Memset3DAsync(self, call: Call) -> None:
        # The structure's first word alone is known: where it is.
        touch = Touch(call.arguments["pitchedDevPtr"], None, True, SET_MEMORY)
        self._copy(call, self._stream(call), [touch], waits=False)

    _Memset3D = _Memset3DAsync
