# A reset ends everything on the device: what was allocated is no leak, what was queued is over, and the device begins anew.
import infinirt
from infinirt import runtime as rt

pool = infinirt.CachingPool("cpu")
cached = pool.allocate(64)
data, pinned = rt.infinirtMalloc(64)[1], rt.infinirtMallocHost(64)[1]
rt.infinirtMallocManaged(64, 1)
stream = rt.infinirtStreamCreateWithFlags(1)[1]
event = rt.infinirtEventCreate()[1]
rt.infinirtMemsetAsync(data, 1, 64, stream)
rt.infinirtEventRecord(event, stream)
rt.infinirtDeviceReset()
data = rt.infinirtMalloc(64)[1]
rt.infinirtMemset(data, 1, 64)
rt.infinirtFree(data)
