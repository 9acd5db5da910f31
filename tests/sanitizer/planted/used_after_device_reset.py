# use after free | infinirtDeviceReset freed it
# for the CPU device
from infinirt import runtime as rt

data = rt.infinirtMalloc(64)[1]
rt.infinirtMallocHost(64)
rt.infinirtDeviceReset()
rt.infinirtMemset(data, 1, 64)
