# race | what infinirtMemcpy3DPeerAsync writes
from infinirt import runtime as rt

one, other = (rt.infinirtStreamCreateWithFlags(1)[1] for _ in range(2))
source, target = (rt.infinirtMalloc(4096)[1] for _ in range(2))
rt.infinirtMemset(source, 1, 4096)
rt.infinirtDeviceSynchronize()
copy = rt.infinirtMemcpy3DPeerParms()
for side, memory in ((copy.srcPtr, source), (copy.dstPtr, target)):
    side.ptr, side.pitch, side.xsize, side.ysize = memory, 64, 64, 64
copy.extent.width, copy.extent.height, copy.extent.depth = 64, 64, 1
rt.infinirtMemcpy3DPeerAsync(copy, one)
rt.infinirtMemsetAsync(target, 2, 4096, other)
rt.infinirtDeviceSynchronize()
rt.infinirtFree(source)
rt.infinirtFree(target)
