# race | infinirtMemcpyAsync reads its source
# A block's free waits for the stream that was recorded; the stream that it is freed on does not.
import infinirt
from infinirt import runtime as rt

device = infinirt.Device()
owner, user = device.create_stream(), device.create_stream()
pool = infinirt.CachingPool(device)
block, between, result = (pool.allocate(4096, stream=owner) for _ in range(3))
block.fill(1, stream=owner)
user.wait(owner.record())
block.record_stream(user)
DEFAULT = rt.infinirtMemcpyKind.infinirtMemcpyDefault
rt.infinirtMemcpyAsync(between.ptr, block.ptr, 4096, DEFAULT, user.handle)
block.close()
rt.infinirtMemcpyAsync(result.ptr, between.ptr, 4096, DEFAULT, owner.handle)
device.sync()
