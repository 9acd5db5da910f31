# race | had not been recorded, and a wait for it does nothing
# for the CPU device, of which it needs two
from infinirt import runtime as rt

rt.infinirtSetDevice(1)
there = rt.infinirtStreamCreateWithFlags(1)[1]
rt.infinirtSetDevice(0)
event, here = rt.infinirtEventCreate()[1], rt.infinirtStreamCreateWithFlags(1)[1]
memory = rt.infinirtMallocHost(4096)[1]
rt.infinirtMemsetAsync(memory, 1, 4096, there)
assert rt.infinirtEventRecord(event, there)[0] != 0  # an event of another device
rt.infinirtStreamWaitEvent(here, event, 0)
rt.infinirtMemsetAsync(memory, 2, 4096, here)
for device in (0, 1):
    rt.infinirtSetDevice(device)
    rt.infinirtDeviceSynchronize()
rt.infinirtFreeHost(memory)
