# A record on the default stream comes after one blocking stream's work, and before another one's.
from infinirt import runtime as rt

DEVICE_TO_DEVICE = rt.infinirtMemcpyKind.infinirtMemcpyDeviceToDevice
one, other = (rt.infinirtStreamCreate()[1] for _ in range(2))
data, copy = (rt.infinirtMalloc(4096)[1] for _ in range(2))
event, never_recorded = (rt.infinirtEventCreate()[1] for _ in range(2))
rt.infinirtMemsetAsync(data, 1, 4096, one)
rt.infinirtEventRecord(event, 0)
rt.infinirtMemcpyAsync(copy, data, 4096, DEVICE_TO_DEVICE, other)
rt.infinirtStreamWaitEvent(0, never_recorded, 0)
rt.infinirtMemsetAsync(data, 2, 4096, one)
rt.infinirtDeviceSynchronize()
rt.infinirtFree(data)
rt.infinirtFree(copy)
