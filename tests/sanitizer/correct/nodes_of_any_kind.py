# Nodes that record and allocate, added and changed by the functions for all kinds of nodes.
from infinirt import runtime as rt

DEVICE_TO_DEVICE = rt.infinirtMemcpyKind.infinirtMemcpyDeviceToDevice
one, other = (rt.infinirtStreamCreateWithFlags(1)[1] for _ in range(2))
data, copy = (rt.infinirtMalloc(4096)[1] for _ in range(2))
event, unused = (rt.infinirtEventCreate()[1] for _ in range(2))
graph = rt.infinirtGraphCreate(0)[1]
parameters = rt.infinirtMemsetParams()
parameters.dst, parameters.elementSize, parameters.width, parameters.height = data, 1, 4096, 1
node = rt.infinirtGraphAddMemsetNode(graph, [], 0, parameters)[1]
record = rt.infinirtGraphNodeParams()
record.type = rt.infinirtGraphNodeType.infinirtGraphNodeTypeEventRecord
record.eventRecord.event = unused
node = rt.infinirtGraphAddNode(graph, [node], 1, record)[1]
record.eventRecord.event = event
assert rt.infinirtGraphNodeSetParams(node, record)[0] == 0
executable = rt.infinirtGraphInstantiate(graph, 0)[1]
rt.infinirtGraphLaunch(executable, one)
rt.infinirtStreamWaitEvent(other, event, 0)
rt.infinirtMemcpyAsync(copy, data, 4096, DEVICE_TO_DEVICE, other)
rt.infinirtDeviceSynchronize()
rt.infinirtFree(data)
rt.infinirtFree(copy)
