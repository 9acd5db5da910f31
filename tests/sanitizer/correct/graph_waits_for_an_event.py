# A graph waits for what an event stands for when it is launched.
from infinirt import runtime as rt

DEVICE_TO_DEVICE = rt.infinirtMemcpyKind.infinirtMemcpyDeviceToDevice
one, other = (rt.infinirtStreamCreateWithFlags(1)[1] for _ in range(2))
data, copy = (rt.infinirtMalloc(4096)[1] for _ in range(2))
event = rt.infinirtEventCreate()[1]
rt.infinirtStreamBeginCapture(one, 2)
rt.infinirtStreamWaitEvent(one, event, 1)
rt.infinirtMemcpyAsync(copy, data, 4096, DEVICE_TO_DEVICE, one)
graph = rt.infinirtStreamEndCapture(one)[1]
executable = rt.infinirtGraphInstantiate(graph, 0)[1]
for value in (1, 2):
    rt.infinirtMemsetAsync(data, value, 4096, other)
    rt.infinirtEventRecord(event, other)
    rt.infinirtGraphLaunch(executable, one)
    rt.infinirtStreamSynchronize(one)
rt.infinirtFree(data)
rt.infinirtFree(copy)
