# A copy between devices without a stream comes after the default streams of both, and before what they are given later.
# for the CPU device, of which it needs two
from infinirt import runtime as rt

rt.infinirtSetDevice(1)
there = rt.infinirtMalloc(4096)[1]
rt.infinirtMemset(there, 1, 4096)
rt.infinirtSetDevice(0)
here = rt.infinirtMalloc(4096)[1]
rt.infinirtMemcpyPeer(here, 0, there, 1, 4096)
rt.infinirtMemset(here, 2, 4096)
rt.infinirtSetDevice(1)
rt.infinirtMemset(there, 3, 4096)
parameters = rt.infinirtMemcpy3DPeerParms()
for side, memory in ((parameters.srcPtr, here), (parameters.dstPtr, there)):
    side.ptr, side.pitch, side.xsize, side.ysize = memory, 64, 64, 64
parameters.srcDevice, parameters.dstDevice = 0, 1
parameters.extent.width, parameters.extent.height, parameters.extent.depth = 64, 64, 1
assert rt.infinirtMemcpy3DPeer(parameters)[0] == 0
rt.infinirtMemset(there, 4, 4096)
for number, memory in enumerate((here, there)):
    rt.infinirtSetDevice(number)
    rt.infinirtDeviceSynchronize()
    rt.infinirtFree(memory)
