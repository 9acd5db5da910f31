# An asynchronous copy from the host to the host has been made when the call returns, whatever kind it was said to be.
import ctypes

import infinirt
from infinirt import runtime as rt

stream = rt.infinirtStreamCreateWithFlags(1)[1]
one, other = (rt.infinirtMallocHost(1 << 20)[1] for _ in range(2))
for kind in (0, 4):
    ctypes.memset(one, kind, 1 << 20)
    rt.infinirtMemcpyAsync(other, one, 1 << 20, kind, stream)
    assert ctypes.c_ubyte.from_address(other).value == kind
    ctypes.memset(one, 9, 1 << 20)
own = infinirt.Device("cpu").create_stream()
pool = infinirt.PinnedPool(infinirt.Device("cpu"))
blocks = [pool.allocate(1 << 20, stream=own) for _ in range(2)]
blocks[0].fill(5, stream=own)
blocks[1].copy_from(blocks[0], stream=own)
rt.infinirtMemcpyAsync(one, blocks[1].ptr, 1 << 20, 4, own.handle)
assert ctypes.c_ubyte.from_address(one).value == 5
rt.infinirtFreeHost(one)
rt.infinirtFreeHost(other)
