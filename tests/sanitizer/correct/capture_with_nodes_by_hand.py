# A node is added by hand to the graph that is being captured, and the capture goes on after it.
from infinirt import runtime as rt

DEVICE_TO_DEVICE = rt.infinirtMemcpyKind.infinirtMemcpyDeviceToDevice
SET = 1  # instead of those there are
stream = rt.infinirtStreamCreateWithFlags(1)[1]
data, copy = (rt.infinirtMalloc(4096)[1] for _ in range(2))
rt.infinirtStreamBeginCapture(stream, 2)
rt.infinirtMemsetAsync(data, 1, 4096, stream)
_, _, _, graph, before, count = rt.infinirtStreamGetCaptureInfo_v2(stream)
node = rt.infinirtGraphAddMemcpyNode1D(graph, before, count, copy, data, 4096, DEVICE_TO_DEVICE)[1]
assert rt.infinirtStreamUpdateCaptureDependencies(stream, [node], 1, SET)[0] == 0
rt.infinirtMemsetAsync(data, 2, 4096, stream)
graph = rt.infinirtStreamEndCapture(stream)[1]
rt.infinirtGraphLaunch(rt.infinirtGraphInstantiate(graph, 0)[1], stream)
rt.infinirtStreamSynchronize(stream)
rt.infinirtFree(data)
rt.infinirtFree(copy)
