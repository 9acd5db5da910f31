# leak | 12,345 bytes
from infinirt import runtime as rt

data = rt.infinirtMalloc(12345)[1]
rt.infinirtMemset(data, 0, 12345)
rt.infinirtDeviceSynchronize()
