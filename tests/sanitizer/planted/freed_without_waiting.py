# freed while in use | infinirtFree on the host frees memory that infinirtMemsetAsync
# Memory that was allocated in stream order is free at once, which nothing waits for.
from infinirt import runtime as rt

stream = rt.infinirtStreamCreateWithFlags(1)[1]
data = rt.infinirtMallocAsync(4096, stream)[1]
rt.infinirtMemsetAsync(data, 1, 4096, stream)
rt.infinirtFree(data)
rt.infinirtStreamSynchronize(stream)
