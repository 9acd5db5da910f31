# Page-locked memory has been set when a call without a stream returns.
import ctypes

from infinirt import runtime as rt

memory = rt.infinirtMallocHost(4096)[1]
rt.infinirtMemset(memory, 7, 4096)
assert ctypes.c_ubyte.from_address(memory).value == 7
rt.infinirtMemset2D(memory, 64, 8, 32, 64)
assert ctypes.c_ubyte.from_address(memory).value == 8
place, size = rt.infinirtPitchedPtr(), rt.infinirtExtent()
place.ptr, place.pitch, place.xsize, place.ysize = memory, 64, 64, 64
size.width, size.height, size.depth = 64, 64, 1
rt.infinirtMemset3D(place, 9, size)
assert ctypes.c_ubyte.from_address(memory).value == 9
rt.infinirtFreeHost(memory)
