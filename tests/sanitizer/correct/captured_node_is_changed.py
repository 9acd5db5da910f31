# A captured node is asked for, and given other memory; then the memory that it had is freed.
from infinirt import runtime as rt

DEVICE_TO_DEVICE = rt.infinirtMemcpyKind.infinirtMemcpyDeviceToDevice
stream = rt.infinirtStreamCreateWithFlags(1)[1]
first, copy, second = (rt.infinirtMalloc(4096)[1] for _ in range(3))
rt.infinirtMemset(first, 1, 4096)
rt.infinirtMemset(second, 1, 4096)
rt.infinirtDeviceSynchronize()
rt.infinirtStreamBeginCapture(stream, 2)
rt.infinirtMemcpyAsync(copy, first, 4096, DEVICE_TO_DEVICE, stream)
graph = rt.infinirtStreamEndCapture(stream)[1]
executable = rt.infinirtGraphInstantiate(graph, 0)[1]
(node,) = rt.infinirtGraphGetNodes(graph, 1)[1]
rt.infinirtGraphLaunch(executable, stream)
rt.infinirtStreamSynchronize(stream)
rt.infinirtGraphExecMemcpyNodeSetParams1D(executable, node, copy, second, 4096, DEVICE_TO_DEVICE)
rt.infinirtFree(first)
rt.infinirtGraphLaunch(executable, stream)
rt.infinirtStreamSynchronize(stream)
rt.infinirtFree(second)
rt.infinirtFree(copy)
