# A node that was turned off does nothing; it stays so when the graph is updated.
from infinirt import runtime as rt

DEVICE_TO_DEVICE = rt.infinirtMemcpyKind.infinirtMemcpyDeviceToDevice
one, other = (rt.infinirtStreamCreateWithFlags(1)[1] for _ in range(2))
data, copy = (rt.infinirtMalloc(4096)[1] for _ in range(2))
rt.infinirtMemset(data, 1, 4096)
rt.infinirtDeviceSynchronize()
graph = rt.infinirtGraphCreate(0)[1]
node = rt.infinirtGraphAddMemcpyNode1D(graph, [], 0, copy, data, 4096, DEVICE_TO_DEVICE)[1]
executable = rt.infinirtGraphInstantiate(graph, 0)[1]
rt.infinirtGraphNodeSetEnabled(executable, node, 0)
rt.infinirtMemsetAsync(data, 2, 4096, other)
rt.infinirtGraphLaunch(executable, one)
assert rt.infinirtGraphExecUpdate(executable, graph)[0] == 0
rt.infinirtGraphLaunch(executable, one)
rt.infinirtDeviceSynchronize()
rt.infinirtGraphNodeSetEnabled(executable, node, 1)
rt.infinirtGraphLaunch(executable, one)
rt.infinirtDeviceSynchronize()
rt.infinirtFree(data)
rt.infinirtFree(copy)
