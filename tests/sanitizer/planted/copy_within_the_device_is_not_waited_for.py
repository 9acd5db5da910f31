# race | infinirtMemcpy writes its destination | on the default stream of cpu:0
from infinirt import runtime as rt

DEFAULT = rt.infinirtMemcpyKind.infinirtMemcpyDefault
stream = rt.infinirtStreamCreateWithFlags(1)[1]
first, second, third = (rt.infinirtMalloc(4096)[1] for _ in range(3))
rt.infinirtMemset(first, 1, 4096)
rt.infinirtMemcpy(second, first, 4096, DEFAULT)
rt.infinirtMemcpyAsync(third, second, 4096, DEFAULT, stream)
rt.infinirtDeviceSynchronize()
for memory in (first, second, third):
    rt.infinirtFree(memory)
