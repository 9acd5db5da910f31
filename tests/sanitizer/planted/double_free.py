# double free | freed before
from infinirt import runtime as rt

stream = rt.infinirtStreamCreate()[1]
data = rt.infinirtMallocAsync(64, stream)[1]
rt.infinirtFreeAsync(data, stream)
rt.infinirtFreeAsync(data, stream)
rt.infinirtStreamSynchronize(stream)
