# host access before completion | the program reads | may still be writing | event.sync()
# for the CPU device: memory of a GPU's driver cannot be watched
import ctypes

from infinirt import runtime as rt

kind = rt.infinirtMemcpyKind.infinirtMemcpyDefault
stream, event = rt.infinirtStreamCreateWithFlags(1)[1], rt.infinirtEventCreate()[1]
device, host = rt.infinirtMalloc(1 << 20)[1], rt.infinirtMallocHost(1 << 20)[1]
rt.infinirtMemsetAsync(device, 1, 1 << 20, stream)
rt.infinirtEventRecord(event, stream)  # belongs after the copy
rt.infinirtMemcpyAsync(host, device, 1 << 20, kind, stream)
rt.infinirtEventSynchronize(event)
last = ctypes.c_char.from_address(int(host) + (1 << 20) - 1).value
rt.infinirtDeviceSynchronize()
rt.infinirtFree(device)
rt.infinirtFreeHost(host)
