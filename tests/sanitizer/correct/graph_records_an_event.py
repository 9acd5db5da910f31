# A graph records an event each time that it is launched: by a captured record for outside, by a node, by a node that was given another event.
from infinirt import runtime as rt

DEVICE_TO_DEVICE = rt.infinirtMemcpyKind.infinirtMemcpyDeviceToDevice
one, other = (rt.infinirtStreamCreateWithFlags(1)[1] for _ in range(2))
data, copy = (rt.infinirtMalloc(4096)[1] for _ in range(2))
event, unused = (rt.infinirtEventCreate()[1] for _ in range(2))


def captured():
    rt.infinirtStreamBeginCapture(one, 2)
    rt.infinirtMemsetAsync(data, 1, 4096, one)
    rt.infinirtEventRecordWithFlags(event, one, 1)
    return rt.infinirtStreamEndCapture(one)[1]


def built(recorded):
    graph = rt.infinirtGraphCreate(0)[1]
    parameters = rt.infinirtMemsetParams()
    parameters.dst, parameters.elementSize, parameters.width, parameters.height = data, 1, 4096, 1
    node = rt.infinirtGraphAddMemsetNode(graph, [], 0, parameters)[1]
    record = rt.infinirtGraphAddEventRecordNode(graph, [node], 1, recorded)[1]
    return graph, record


def use(executable):
    assert rt.infinirtGraphLaunch(executable, one)[0] == 0
    rt.infinirtStreamWaitEvent(other, event, 0)
    rt.infinirtMemcpyAsync(copy, data, 4096, DEVICE_TO_DEVICE, other)
    rt.infinirtStreamSynchronize(other)
    rt.infinirtStreamSynchronize(one)


use(rt.infinirtGraphInstantiate(captured(), 0)[1])
graph, record = built(event)
use(rt.infinirtGraphInstantiate(graph, 0)[1])
graph, record = built(unused)
executable = rt.infinirtGraphInstantiate(graph, 0)[1]
assert rt.infinirtGraphExecEventRecordNodeSetEvent(executable, record, event)[0] == 0
use(executable)
rt.infinirtFree(data)
rt.infinirtFree(copy)
