# Two branches of a capture are ordered by an edge between nodes that the program asks for.
from infinirt import runtime as rt

DEVICE_TO_DEVICE = rt.infinirtMemcpyKind.infinirtMemcpyDeviceToDevice
one, other = (rt.infinirtStreamCreateWithFlags(1)[1] for _ in range(2))
data, copy = (rt.infinirtMalloc(4096)[1] for _ in range(2))
fork, join = (rt.infinirtEventCreateWithFlags(2)[1] for _ in range(2))
rt.infinirtStreamBeginCapture(one, 2)
rt.infinirtEventRecord(fork, one)
rt.infinirtStreamWaitEvent(other, fork, 0)
rt.infinirtMemsetAsync(data, 1, 4096, one)
rt.infinirtMemcpyAsync(copy, data, 4096, DEVICE_TO_DEVICE, other)
rt.infinirtEventRecord(join, other)
rt.infinirtStreamWaitEvent(one, join, 0)
graph = rt.infinirtStreamEndCapture(one)[1]
first, second = rt.infinirtGraphGetNodes(graph, 2)[1]
assert rt.infinirtGraphAddDependencies(graph, [first], [second], 1)[0] == 0
rt.infinirtGraphLaunch(rt.infinirtGraphInstantiate(graph, 0)[1], one)
rt.infinirtStreamSynchronize(one)
rt.infinirtFree(data)
rt.infinirtFree(copy)
