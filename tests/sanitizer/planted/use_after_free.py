# use after free | infinirtFreeAsync
from infinirt import runtime as rt

stream = rt.infinirtStreamCreateWithFlags(1)[1]
other = rt.infinirtStreamCreateWithFlags(1)[1]
data = rt.infinirtMallocAsync(4096, stream)[1]
rt.infinirtMemsetAsync(data, 1, 4096, stream)
rt.infinirtFreeAsync(data, stream)
rt.infinirtMemsetAsync(data, 2, 4096, other)
rt.infinirtDeviceSynchronize()
