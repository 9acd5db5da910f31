# A blocking stream's record comes after what the default stream was given, and so does what waits for it.
from infinirt import runtime as rt

DEVICE_TO_DEVICE = rt.infinirtMemcpyKind.infinirtMemcpyDeviceToDevice
blocking = rt.infinirtStreamCreate()[1]
other = rt.infinirtStreamCreateWithFlags(1)[1]
data, copy = (rt.infinirtMalloc(4096)[1] for _ in range(2))
event = rt.infinirtEventCreate()[1]
rt.infinirtMemsetAsync(data, 1, 4096, 0)
rt.infinirtEventRecord(event, blocking)
rt.infinirtStreamWaitEvent(other, event, 0)
rt.infinirtMemcpyAsync(copy, data, 4096, DEVICE_TO_DEVICE, other)
rt.infinirtMemsetAsync(copy, 1, 4096, other)
rt.infinirtStreamSynchronize(other)
rt.infinirtMemsetAsync(data, 1, 4096, 0)
rt.infinirtEventRecord(event, blocking)
rt.infinirtStreamSynchronize(blocking)
rt.infinirtMemsetAsync(data, 2, 4096, other)
rt.infinirtDeviceSynchronize()
rt.infinirtFree(data)
rt.infinirtFree(copy)
