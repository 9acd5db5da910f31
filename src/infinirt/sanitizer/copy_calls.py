"""What calls that copy and set memory mean to the checker."""

from __future__ import annotations

from collections.abc import Sequence

from . import findings as kinds
from .accesses import SET_MEMORY, SOURCE, TARGET, copy_parameters, flat, peer_copy_parameters, rows, word
from .call import HAS_NOT_WAITED, Call
from .checker import Stream
from .findings import Place, bytes_at, site
from .graphs import Anything, Touch
from .handles import Handles
from .memory import Location

# Where memory may be that copies are waited for in if the other side is there as well.
_OF_HOST = (Location.PAGEABLE, Location.PINNED, Location.UNKNOWN)


class CopyCalls(Handles):
    def _copy(self, call: Call, stream: Stream, touches: Sequence[Touch], *, waits: bool) -> None:
        if call.result != 0:  # refused: why may be worth saying
            for touch in touches:
                self._say_if_refused_for(call, stream, touch)
            if waits and call.result not in HAS_NOT_WAITED:
                self.checker.host_waits_for_stream(stream)
            return
        if all(touch.ranges == () for touch in touches):
            return  # of nothing: no work, and nothing is waited for
        self.checker.work(stream, call.title, call.stack, touches)
        if waits and stream.capture is None:
            self.checker.host_waits_for_stream(stream)

    def _say_if_refused_for(self, call: Call, stream: Stream, touch: Touch) -> None:
        allocation = self.checker.memory.at(touch.address)
        if allocation is not None and allocation.freed is not None:
            self.checker.work(stream, call.function, call.stack, [touch])  # which says so
            return
        if allocation is None or allocation.is_longer or not touch.ranges:
            return
        first, last = min(touch.ranges)[0], max(last for _, last in touch.ranges)
        if last <= allocation.end:
            return
        self.checker.found(
            kinds.OUT_OF_BOUNDS,
            f"{call.function} was to {'write' if touch.writes else 'read'} {touch.label}"
            f" {last - allocation.end:,} bytes beyond its memory, and was refused",
            [Place(f"{call.function} is called for {bytes_at(first, last)}", call.stack)],
            "copy fewer bytes, begin elsewhere, or allocate more",
            allocation=allocation,
            key=(kinds.OUT_OF_BOUNDS, site(call.stack, call.function), touch.label),
        )

    def _transfer(self, call: Call, stream: Stream, touches: Sequence[Touch]) -> None:
        """A copy in a stream's order. Pageable memory has been written when the call returns, and so has memory of the host that is copied from there."""
        target, source = (touch.address for touch in touches)
        there = self._location(target)
        waits = there is Location.PAGEABLE or (there in _OF_HOST and self._location(source) in _OF_HOST)
        self._copy(call, stream, touches, waits=waits)

    def _transfer_now(self, call: Call, touches: Sequence[Touch]) -> None:
        """A copy without a stream: on the thread's default stream, and waited for where the host reaches one side."""
        if call.result == 0:
            self._wait_for_other_types(call, touches)
        self._copy(call, self._stream(call), touches, waits=not self._is_within_devices(touches))

    def _is_within_devices(self, touches: Sequence[Touch]) -> bool:
        allocations = [self.checker.memory.at(touch.address) for touch in touches]
        found = [each for each in allocations if each is not None and each.location is Location.DEVICE]
        return len(found) == len(touches) and len({each.device[0] for each in found}) == 1

    def _wait_for_other_types(self, call: Call, touches: Sequence[Touch]) -> None:
        """For what the default stream of another type's device was given: a set that returned before it was done."""
        for touch in touches:
            there = self.checker.memory.at(touch.address)
            if there is None or there.location is not Location.DEVICE or there.device[0] == call.device[0]:
                continue
            self.checker.host_waits_for_stream(self._default_stream(there.device))

    def _MemcpyAsync(self, call: Call) -> None:
        a = call.arguments
        self._transfer(call, self._stream(call), flat(a["dst"], a["src"], a["count"]))

    _MemcpyPeerAsync = _MemcpyAsync

    def _Memcpy(self, call: Call) -> None:
        a = call.arguments
        self._transfer_now(call, flat(a["dst"], a["src"], a["count"]))

    def _MemcpyPeer(self, call: Call) -> None:
        a = call.arguments
        self._between_devices(call, flat(a["dst"], a["src"], a["count"]), (a["dstDevice"], a["srcDevice"]))

    def _between_devices(self, call: Call, touches: Sequence[Touch], numbers: Sequence[int]) -> None:
        """After the default streams of both devices, and before what they are given later; the host does not wait."""
        stream = self._stream(call)
        others = {(call.device[0], number) for number in numbers} - {stream.device}
        streams = [self._default_stream(device) for device in sorted(others)] if call.result == 0 else []
        self.checker.comes_after_streams(stream, streams)
        self._copy(call, stream, touches, waits=not self._is_within_devices(touches))
        for other in streams:
            self.checker.comes_after_streams(other, [stream])

    def _planes(self, call: Call) -> list[Touch]:
        a = call.arguments
        return [
            rows(a["dst"], a["dpitch"], a["width"], a["height"], True, TARGET),
            rows(a["src"], a["spitch"], a["width"], a["height"], False, SOURCE),
        ]

    def _Memcpy2DAsync(self, call: Call) -> None:
        self._transfer(call, self._stream(call), self._planes(call))

    def _Memcpy2D(self, call: Call) -> None:
        self._transfer_now(call, self._planes(call))

    def _Memcpy3DAsync(self, call: Call) -> None:
        if call.arguments["p"]:
            self._transfer(call, self._stream(call), copy_parameters(call.arguments["p"]))

    def _Memcpy3D(self, call: Call) -> None:
        if call.arguments["p"]:
            self._transfer_now(call, copy_parameters(call.arguments["p"]))

    def _Memcpy3DPeerAsync(self, call: Call) -> None:
        if call.arguments["p"]:
            touches, _, _ = peer_copy_parameters(call.arguments["p"])
            self._transfer(call, self._stream(call), touches)

    def _Memcpy3DPeer(self, call: Call) -> None:
        if call.arguments["p"]:
            touches, *numbers = peer_copy_parameters(call.arguments["p"])
            self._between_devices(call, touches, numbers)

    def _MemcpyBatchAsync(self, call: Call) -> None:
        a = call.arguments
        stream = self._stream(call)
        for i in range(a["count"]):
            dst, src, size = (word(a[name] + 8 * i) for name in ("dsts", "srcs", "sizes"))
            self._transfer(call, stream, flat(dst, src, size))

    def _Memcpy3DBatchAsync(self, call: Call) -> None:
        """What it copies is not looked at, nor whether it is waited for: it is taken to be."""
        stream = self._stream(call)
        self.checker.work(stream, call.title, call.stack, [Anything()])
        if stream.capture is None:
            self.checker.host_waits_for_stream(stream)

    def _set(self, call: Call, touch: Touch) -> None:
        """Pinned memory has been set when a call without a stream returns; anything else may not have been."""
        location = self._location(touch.address)
        waits = "stream" not in call.arguments and location not in (Location.DEVICE, Location.MANAGED)
        self._copy(call, self._stream(call), [touch], waits=waits)

    def _MemsetAsync(self, call: Call) -> None:
        a = call.arguments
        self._set(call, rows(a["devPtr"], a["count"], a["count"], 1, True, SET_MEMORY))

    _Memset = _MemsetAsync

    def _Memset2DAsync(self, call: Call) -> None:
        a = call.arguments
        self._set(call, rows(a["devPtr"], a["pitch"], a["width"], a["height"], True, SET_MEMORY))

    _Memset2D = _Memset2DAsync

    def _Memset3DAsync(self, call: Call) -> None:
        # The structure's first word alone is known: where it is.
        self._set(call, Touch(call.arguments["pitchedDevPtr"], None, True, SET_MEMORY))

    _Memset3D = _Memset3DAsync
