# race | what infinirtMemsetAsync writes
# The graph waits for what the event stood for when it was launched.
from infinirt import runtime as rt

DEFAULT = rt.infinirtMemcpyKind.infinirtMemcpyDefault
one, other = (rt.infinirtStreamCreateWithFlags(1)[1] for _ in range(2))
data, copy = (rt.infinirtMalloc(4096)[1] for _ in range(2))
rt.infinirtMemset(data, 0, 4096)
rt.infinirtDeviceSynchronize()
event = rt.infinirtEventCreate()[1]
rt.infinirtStreamBeginCapture(one, 2)
rt.infinirtStreamWaitEvent(one, event, 1)
rt.infinirtMemcpyAsync(copy, data, 4096, DEFAULT, one)
executable = rt.infinirtGraphInstantiate(rt.infinirtStreamEndCapture(one)[1], 0)[1]
rt.infinirtEventRecord(event, other)
rt.infinirtMemsetAsync(data, 1, 4096, other)
rt.infinirtGraphLaunch(executable, one)
rt.infinirtEventRecord(event, other)
rt.infinirtDeviceSynchronize()
rt.infinirtFree(data)
rt.infinirtFree(copy)
