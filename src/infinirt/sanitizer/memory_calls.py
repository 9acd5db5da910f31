"""What calls that allocate and free memory mean to the checker."""

from __future__ import annotations

from .accesses import word
from .call import Call
from .checker import Stream
from .graphs import Begin
from .handles import Handles
from .memory import Allocation


class MemoryCalls(Handles):
    def _allocate(self, call: Call, size: int, kind: str, *, hosts: bool = False) -> Allocation:
        return Allocation(call.created, size, kind, call.function, call.stack, is_hosts=hosts)

    def _Malloc(self, call: Call) -> None:
        if call.created:
            self.checker.allocated(self._allocate(call, call.arguments["size"], self._of_device(call)))

    def _MallocPitch(self, call: Call) -> None:
        if call.created:
            pitch = word(call.arguments["pitch"])
            size = pitch * call.arguments["height"]
            self.checker.allocated(self._allocate(call, size, self._of_device(call)))

    def _MallocManaged(self, call: Call) -> None:
        if call.created:
            self.checker.allocated(self._allocate(call, call.arguments["size"], "managed memory", hosts=True))

    def _MallocHost(self, call: Call) -> None:
        if call.created:
            size = call.arguments["size"]
            self.checker.allocated(self._allocate(call, size, "pinned memory of the host", hosts=True))

    _HostAlloc = _MallocHost

    def _IpcOpenMemHandle(self, call: Call) -> None:
        allocation = self._allocate(call, 1, "another process's memory", hosts=True)
        allocation.opaque = True
        self.checker.allocated(allocation)

    def _IpcGetMemHandle(self, call: Call) -> None:
        allocation = self.checker.memory.at(call.arguments["devPtr"])
        if allocation is not None:
            allocation.opaque = True

    def _Free(self, call: Call) -> None:
        address = call.arguments.get("devPtr", call.arguments.get("ptr", 0))
        if not address:
            return
        if call.result == 0:
            self.checker.host_waits_for_device(call.device)
        allocation = self.checker.memory.starting_at(address)
        if call.result == 0 or (allocation is not None and allocation.freed is not None):
            self.checker.freed_at_once(address, call.function, call.stack)

    _FreeHost = _Free

    def _IpcCloseMemHandle(self, call: Call) -> None:
        allocation = self.checker.memory.starting_at(call.arguments["devPtr"])
        if allocation is not None:
            self.checker.memory.forget(allocation)

    def _allocate_in_order(self, call: Call, stream: Stream) -> None:
        allocation = self._allocate(call, call.arguments["size"], self._of_device(call))
        allocation.stream_ordered = True
        if stream.capture is not None:
            allocation.of_graph = True
            self.checker.allocated(allocation)
        self.checker.work(stream, call.function, call.stack, [Begin(allocation)])

    def _MallocAsync(self, call: Call) -> None:
        if call.created:
            self._allocate_in_order(call, self._stream(call, "hStream"))

    def _MallocFromPoolAsync(self, call: Call) -> None:
        if call.created:
            self._allocate_in_order(call, self._stream(call))

    def _FreeAsync(self, call: Call) -> None:
        stream = self._stream(call, "hStream")
        address = call.arguments["devPtr"]
        allocation = self.checker.memory.starting_at(address)
        if call.result == 0 or (allocation is not None and allocation.freed is not None):
            self.checker.freed_in_order(address, stream, call.function, call.stack, call.is_late)

    def _XCacheAllocate(self, call: Call) -> None:
        if call.created:
            stream = self._stream(call)
            self._allocate_in_order(call, stream)
            allocation = self.checker.memory.starting_at(call.created)
            if allocation is not None:
                allocation.of_graph = False

    def _XCacheReserveAllocate(self, call: Call) -> None:
        """Memory of recorded graphs, which lay it out themselves: it is not looked at."""
        if call.created:
            allocation = self._allocate(call, call.arguments["size"], self._of_device(call))
            self.checker.allocated(allocation)  # what was there before is gone
            self.checker.memory.forget(allocation)

    def _XCacheFree(self, call: Call) -> None:
        stream = self._stream(call)
        self.checker.freed_in_order(call.arguments["ptr"], stream, call.function, call.stack, call.is_late)

    def _XCacheRecordStream(self, call: Call) -> None:
        allocation = self.checker.memory.starting_at(call.arguments["ptr"])
        if allocation is not None:
            allocation.used_by.append(self._stream(call).timeline.number)

    def _XShareMemory(self, call: Call) -> None:
        allocation = self.checker.memory.at(call.arguments["pointer"])
        if allocation is not None:
            allocation.is_hosts = True
            allocation.mark_written()
