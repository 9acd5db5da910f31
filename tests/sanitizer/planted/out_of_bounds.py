# out of bounds | 96 bytes beyond
from infinirt import runtime as rt

stream = rt.infinirtStreamCreate()[1]
small, large = rt.infinirtMalloc(4000)[1], rt.infinirtMalloc(8192)[1]
rt.infinirtMemsetAsync(large, 0, 8192, stream)
rt.infinirtMemcpyAsync(small, large, 4096, rt.infinirtMemcpyKind.infinirtMemcpyDefault, stream)
rt.infinirtStreamSynchronize(stream)
rt.infinirtFree(small)
rt.infinirtFree(large)
