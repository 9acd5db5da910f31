# Pitched memory of several slices lies where memory was that is freed, and is used to its end.
from infinirt import runtime as rt

before = [rt.infinirtMalloc(1 << 14)[1] for _ in range(64)]
for memory in before:
    rt.infinirtFree(memory)
stream = rt.infinirtStreamCreateWithFlags(1)[1]
extent = rt.infinirtExtent()
extent.width, extent.height, extent.depth = 512, 16, 16
place = rt.infinirtMalloc3D(extent)[1]
size = place.pitch * place.ysize * extent.depth
for start in range(0, size, 1 << 13):
    rt.infinirtMemsetAsync(place.ptr + start, 1, 1 << 13, stream)
rt.infinirtMemsetAsync(place.ptr, 1, size, stream)
rt.infinirtMemset3DAsync(place, 2, extent, stream)
rt.infinirtStreamSynchronize(stream)
rt.infinirtFree(place.ptr)
