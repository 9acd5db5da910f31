# freed while in use | let stream 1 of cpu:0 wait for an event recorded on stream 2
from infinirt import runtime as rt

owner, reader = rt.infinirtStreamCreateWithFlags(1)[1], rt.infinirtStreamCreateWithFlags(1)[1]
ready = rt.infinirtEventCreate()[1]
data, copy = rt.infinirtMallocAsync(4096, owner)[1], rt.infinirtMallocAsync(4096, reader)[1]
rt.infinirtMemsetAsync(data, 1, 4096, owner)
rt.infinirtEventRecord(ready, owner)
rt.infinirtStreamWaitEvent(reader, ready, 0)
rt.infinirtMemcpyAsync(copy, data, 4096, rt.infinirtMemcpyKind.infinirtMemcpyDefault, reader)
rt.infinirtFreeAsync(data, owner)  # the reader may not be done
rt.infinirtFreeAsync(copy, reader)
rt.infinirtDeviceSynchronize()
