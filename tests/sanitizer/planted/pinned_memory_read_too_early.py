# race | pinned memory
from infinirt import runtime as rt

kind = rt.infinirtMemcpyKind.infinirtMemcpyDefault
one, other = rt.infinirtStreamCreateWithFlags(1)[1], rt.infinirtStreamCreateWithFlags(1)[1]
device, second = rt.infinirtMalloc(4096)[1], rt.infinirtMalloc(4096)[1]
host = rt.infinirtMallocHost(4096)[1]
rt.infinirtMemsetAsync(device, 1, 4096, one)
rt.infinirtMemcpyAsync(host, device, 4096, kind, one)
rt.infinirtMemcpyAsync(second, host, 4096, kind, other)  # what one is still bringing
rt.infinirtDeviceSynchronize()
rt.infinirtFree(device)
rt.infinirtFree(second)
rt.infinirtFreeHost(host)
