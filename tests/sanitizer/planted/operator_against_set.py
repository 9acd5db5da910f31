# race | an input
import infinicore
from infinirt import runtime as rt

other = rt.infinirtStreamCreateWithFlags(1)[1]
a, b = infinicore.ones((64, 64)), infinicore.ones((64, 64))
infinicore.sync_device()
total = infinicore.add(a, b)
rt.infinirtMemsetAsync(a.data_ptr(), 0, 64 * 64 * 4, other)  # while the sum may be reading it
rt.infinirtDeviceSynchronize()
