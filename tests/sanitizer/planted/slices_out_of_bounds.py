# out of bounds | infinirtMemcpy3D was to write its destination 4,096 bytes beyond its memory, and was refused
from infinirt import runtime as rt

source, target = rt.infinirtMalloc(8192)[1], rt.infinirtMalloc(4096)[1]
rt.infinirtMemset(source, 1, 8192)
copy = rt.infinirtMemcpy3DParms()
for side, memory in ((copy.srcPtr, source), (copy.dstPtr, target)):
    side.ptr, side.pitch, side.xsize, side.ysize = memory, 64, 64, 64
copy.extent.width, copy.extent.height, copy.extent.depth = 64, 64, 2
copy.kind = rt.infinirtMemcpyKind.infinirtMemcpyDeviceToDevice
rt.infinirtMemcpy3D(copy)
rt.infinirtDeviceSynchronize()
rt.infinirtFree(source)
rt.infinirtFree(target)
