# A copy without a stream has been made when the call returns if one side is the host's, also if that is of a pool.
import infinirt
from infinirt import runtime as rt

device = infinirt.Device("cpu")
stream = device.create_stream()
pinned = infinirt.PinnedPool(device).allocate(4096, stream=stream)
data = infinirt.CachingPool(device).allocate(4096, stream=stream)
data.fill(1, stream=stream)
stream.sync()
rt.infinirtMemcpy(pinned.ptr, data.ptr, 4096, 3)
data.fill(2, stream=stream)
stream.sync()
