# use after free | infinirtFreeAsync
from infinirt import runtime as rt

stream = rt.infinirtStreamCreateWithFlags(1)[1]
data = rt.infinirtMallocAsync(4096, stream)[1]
rt.infinirtStreamSynchronize(stream)
rt.infinirtStreamBeginCapture(stream, rt.infinirtStreamCaptureMode.infinirtStreamCaptureModeRelaxed)
rt.infinirtMemsetAsync(data, 1, 4096, stream)
graph = rt.infinirtStreamEndCapture(stream)[1]
ready = rt.infinirtGraphInstantiate(graph, 0)[1]
rt.infinirtFreeAsync(data, stream)
rt.infinirtGraphLaunch(ready, stream)  # its node writes freed memory
rt.infinirtStreamSynchronize(stream)
