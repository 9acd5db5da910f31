# There is a time between two events when both are over: it may be asked for until there is one.
from infinirt import runtime as rt

one, other = (rt.infinirtStreamCreateWithFlags(1)[1] for _ in range(2))
data = rt.infinirtMalloc(1 << 20)[1]
begin, end = (rt.infinirtEventCreate()[1] for _ in range(2))
rt.infinirtEventRecord(begin, one)
rt.infinirtMemsetAsync(data, 1, 1 << 20, one)
rt.infinirtEventRecord(end, one)
while rt.infinirtEventElapsedTime(begin, end)[0] != 0:
    pass
rt.infinirtMemsetAsync(data, 2, 1 << 20, other)
rt.infinirtDeviceSynchronize()
rt.infinirtFree(data)
