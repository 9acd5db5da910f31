# Nodes of a copied graph, found by those of the first, are given other memory.
from infinirt import runtime as rt

DEVICE_TO_DEVICE = rt.infinirtMemcpyKind.infinirtMemcpyDeviceToDevice
stream = rt.infinirtStreamCreateWithFlags(1)[1]
first, copy, second = (rt.infinirtMalloc(4096)[1] for _ in range(3))
rt.infinirtMemset(second, 1, 4096)
rt.infinirtDeviceSynchronize()
rt.infinirtStreamBeginCapture(stream, 2)
rt.infinirtMemcpyAsync(copy, first, 4096, DEVICE_TO_DEVICE, stream)
graph = rt.infinirtStreamEndCapture(stream)[1]
clone = rt.infinirtGraphClone(graph)[1]
(node,) = rt.infinirtGraphGetNodes(graph, 1)[1]
found = rt.infinirtGraphNodeFindInClone(node, clone)[1]
assert rt.infinirtGraphMemcpyNodeSetParams1D(found, copy, second, 4096, DEVICE_TO_DEVICE)[0] == 0
executable = rt.infinirtGraphInstantiate(clone, 0)[1]
rt.infinirtFree(first)
rt.infinirtGraphLaunch(executable, stream)
rt.infinirtStreamSynchronize(stream)
rt.infinirtFree(second)
rt.infinirtFree(copy)
