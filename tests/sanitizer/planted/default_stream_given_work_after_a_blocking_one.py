# race | on the default stream of cpu:0 before infinirtMemcpyAsync
# A blocking stream is done when its own last work is, whatever the default stream was given since.
from infinirt import runtime as rt

DEFAULT = rt.infinirtMemcpyKind.infinirtMemcpyDefault
blocking, other = rt.infinirtStreamCreate()[1], rt.infinirtStreamCreateWithFlags(1)[1]
data, copy = (rt.infinirtMalloc(4096)[1] for _ in range(2))
rt.infinirtMemsetAsync(data, 1, 4096, 0)
rt.infinirtStreamSynchronize(blocking)
rt.infinirtMemcpyAsync(copy, data, 4096, DEFAULT, other)
rt.infinirtDeviceSynchronize()
rt.infinirtFree(data)
rt.infinirtFree(copy)
