# host access before completion | the program reads | may still be writing | graph 1
# for the CPU device: memory of a GPU's driver cannot be watched
import ctypes

from infinirt import runtime as rt

kind = rt.infinirtMemcpyKind.infinirtMemcpyDefault
relaxed = rt.infinirtStreamCaptureMode.infinirtStreamCaptureModeRelaxed
stream = rt.infinirtStreamCreateWithFlags(1)[1]
device, host = rt.infinirtMalloc(4096)[1], rt.infinirtMallocHost(4096)[1]
rt.infinirtStreamBeginCapture(stream, relaxed)
rt.infinirtMemsetAsync(device, 1, 4096, stream)
rt.infinirtMemcpyAsync(host, device, 4096, kind, stream)
graph = rt.infinirtStreamEndCapture(stream)[1]
executable = rt.infinirtGraphInstantiate(graph, 0)[1]
rt.infinirtGraphLaunch(executable, stream)
first = ctypes.c_char.from_address(int(host)).value
rt.infinirtStreamSynchronize(stream)
rt.infinirtGraphExecDestroy(executable)
rt.infinirtGraphDestroy(graph)
rt.infinirtFree(device)
rt.infinirtFreeHost(host)
