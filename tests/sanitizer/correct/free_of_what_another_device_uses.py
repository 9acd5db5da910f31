# A free waits for other devices that copy from the memory, too.
# for the CPU device, of which it needs two
from infinirt import runtime as rt

data = rt.infinirtMalloc(1 << 20)[1]
rt.infinirtMemset(data, 1, 1 << 20)
rt.infinirtDeviceSynchronize()
rt.infinirtSetDevice(1)
stream = rt.infinirtStreamCreateWithFlags(1)[1]
copy = rt.infinirtMalloc(1 << 20)[1]
rt.infinirtMemcpyPeerAsync(copy, 1, data, 0, 1 << 20, stream)
rt.infinirtFree(data)
rt.infinirtDeviceSynchronize()
rt.infinirtFree(copy)
