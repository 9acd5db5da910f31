# race | infinirtMemcpyPeer writes its destination
# for the CPU device, of which it needs two
from infinirt import runtime as rt

rt.infinirtSetDevice(1)
there, stream = rt.infinirtMalloc(4096)[1], rt.infinirtStreamCreateWithFlags(1)[1]
rt.infinirtSetDevice(0)
here = rt.infinirtMalloc(4096)[1]
rt.infinirtMemset(here, 1, 4096)
rt.infinirtMemcpyPeer(there, 1, here, 0, 4096)
rt.infinirtMemsetAsync(there, 2, 4096, stream)
for device in (0, 1):
    rt.infinirtSetDevice(device)
    rt.infinirtDeviceSynchronize()
rt.infinirtFree(here)
rt.infinirtFree(there)
