# race | allocated by infinirtMalloc3D
from infinirt import runtime as rt

one, other = (rt.infinirtStreamCreateWithFlags(1)[1] for _ in range(2))
extent = rt.infinirtExtent()
extent.width, extent.height, extent.depth = 4096, 16, 16
place = rt.infinirtMalloc3D(extent)[1]
rt.infinirtMemsetAsync(place.ptr, 1, 1 << 16, one)
rt.infinirtMemsetAsync(place.ptr, 2, 1 << 16, other)
rt.infinirtDeviceSynchronize()
rt.infinirtFree(place.ptr)
