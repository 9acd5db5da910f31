"""What calls that allocate and free memory mean to the checker."""

from __future__ import annotations

from ..caching import memory_of_caches
from .accesses import Pitched, word
from .call import Call
from .checker import Stream
from .graphs import Begin
from .handles import Handles
from .memory import Allocation, Location

_OF_CACHES = {0: Location.DEVICE, 1: Location.PINNED}  # by infinirtXCacheMemory


class MemoryCalls(Handles):
    def _allocate(self, call: Call, size: int, kind: str, location: Location = Location.DEVICE) -> Allocation:
        is_hosts = location in (Location.PINNED, Location.MANAGED)
        return Allocation(
            call.created, size, kind, call.function, call.stack, call.device, location, is_hosts=is_hosts
        )

    def _Malloc(self, call: Call) -> None:
        if call.created:
            self.checker.allocated(self._allocate(call, call.arguments["size"], self._of_device(call)))

    def _MallocPitch(self, call: Call) -> None:
        if call.created:
            pitch = word(call.arguments["pitch"])
            size = pitch * call.arguments["height"]
            self.checker.allocated(self._allocate(call, size, self._of_device(call)))

    def _Malloc3D(self, call: Call) -> None:
        # Of the extent its first word alone is known. The result says how large a slice is, and not how many there are.
        made = Pitched.from_address(call.arguments["pitchedDevPtr"])
        if made.pointer:
            allocation = Allocation(
                made.pointer, made.pitch * made.ysize, self._of_device(call), call.function, call.stack, call.device,
                is_longer=True,
            )  # fmt: skip
            self.checker.allocated(allocation)

    def _MallocManaged(self, call: Call) -> None:
        if call.created:
            size = call.arguments["size"]
            self.checker.allocated(self._allocate(call, size, "managed memory", Location.MANAGED))

    def _MallocHost(self, call: Call) -> None:
        if call.created:
            size = call.arguments["size"]
            self.checker.allocated(self._allocate(call, size, "pinned memory of the host", Location.PINNED))

    _HostAlloc = _MallocHost

    def _HostRegister(self, call: Call) -> None:
        """Memory of the program's own, which it also uses in ways that nobody sees: there is something in it, and it cannot be watched."""
        a = call.arguments
        allocation = Allocation(
            a["ptr"], a["size"], "registered memory of the host", call.function, call.stack, call.device, Location.PINNED,
            is_hosts=True, watchable=False, is_borrowed=True,
        )  # fmt: skip
        self.checker.allocated(allocation)

    def _HostUnregister(self, call: Call) -> None:
        """Waits for all that may be using it."""
        self.checker.host_waits_for_devices(call.device[0])
        allocation = self.checker.memory.starting_at(call.arguments["ptr"])
        if allocation is not None:
            self.checker.memory.forget(allocation)
        self._earlier.forget()

    def _IpcOpenMemHandle(self, call: Call) -> None:
        allocation = self._allocate(call, 1, "another process's memory")
        allocation.is_hosts = allocation.opaque = allocation.is_longer = True
        allocation.mark_written()
        self.checker.allocated(allocation)

    _MemPoolImportPointer = _IpcOpenMemHandle

    def _IpcGetMemHandle(self, call: Call) -> None:
        allocation = self.checker.memory.at(call.arguments["devPtr"])
        if allocation is not None:
            allocation.opaque = True

    def _Free(self, call: Call) -> None:
        address = call.arguments.get("devPtr", call.arguments.get("ptr", 0))
        if not address:
            return
        allocation = self.checker.memory.starting_at(address)
        if call.result != 0:
            if allocation is not None and allocation.freed is not None:
                self.checker.freed_at_once(address, call.function, call.stack)
            return
        if allocation is None:
            self._earlier.forget()
            self.checker.host_waits_for_devices(call.device[0])
            return
        is_in_order = allocation.stream_ordered and not allocation.of_graph
        if not is_in_order:
            self._wait_for_users(allocation)
        self.checker.freed_at_once(address, call.function, call.stack, has_waited=not is_in_order)

    _FreeHost = _Free

    def _wait_for_users(self, allocation: Allocation) -> None:
        """Memory of a device goes when that is done, what every device reaches when all are. Stream-ordered memory is free at once."""
        if allocation.location in (Location.PINNED, Location.MANAGED):
            self.checker.host_waits_for_devices(allocation.device[0])
        else:
            self.checker.host_waits_for_device(allocation.device)

    def _DeviceReset(self, call: Call) -> None:
        """Ends the device's streams and events and frees its memory, all but what was allocated in stream order."""
        self.checker.host_waits_for_device(call.device)
        for key, stream in list(self._streams.items()):
            if stream.device == call.device and isinstance(key, int):
                self._destroy_stream(key)
        for handle, event in list(self._events.items()):
            if event.device == call.device:
                del self._events[handle]
        for allocation in list(self.checker.memory.all()):
            if allocation.device != call.device or allocation.freed is not None or allocation.opaque:
                continue
            if allocation.is_borrowed or allocation.call == "infinirtXCacheAllocate":
                self.checker.memory.forget(allocation)  # a cache has lost what it had
            elif not allocation.stream_ordered and not allocation.of_graph:
                self.checker.freed_at_once(allocation.base, call.function, call.stack)

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
            self._allocate_in_order(call, self._stream(call))
            allocation = self.checker.memory.starting_at(call.created)
            if allocation is not None:
                allocation.of_graph = False
                allocation.location = _OF_CACHES.get(
                    memory_of_caches.get(call.arguments["cache"], -1), Location.UNKNOWN
                )

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
