# A node inside a child graph is changed: what the graph touches from then on is not known, and nothing is said of it.
from infinirt import runtime as rt

DEVICE_TO_DEVICE = rt.infinirtMemcpyKind.infinirtMemcpyDeviceToDevice
stream = rt.infinirtStreamCreateWithFlags(1)[1]
first, copy, second = (rt.infinirtMalloc(4096)[1] for _ in range(3))
rt.infinirtMemset(second, 1, 4096)
rt.infinirtDeviceSynchronize()
inner, outer = (rt.infinirtGraphCreate(0)[1] for _ in range(2))
rt.infinirtGraphAddMemcpyNode1D(inner, [], 0, copy, first, 4096, DEVICE_TO_DEVICE)
child = rt.infinirtGraphAddChildGraphNode(outer, [], 0, inner)[1]
(node,) = rt.infinirtGraphGetNodes(rt.infinirtGraphChildGraphNodeGetGraph(child)[1], 1)[1]
assert rt.infinirtGraphMemcpyNodeSetParams1D(node, copy, second, 4096, DEVICE_TO_DEVICE)[0] == 0
rt.infinirtFree(first)
rt.infinirtGraphLaunch(rt.infinirtGraphInstantiate(outer, 0)[1], stream)
rt.infinirtStreamSynchronize(stream)
rt.infinirtMemcpyAsync(second, copy, 4096, DEVICE_TO_DEVICE, stream)
rt.infinirtStreamSynchronize(stream)
rt.infinirtFree(second)
rt.infinirtFree(copy)
