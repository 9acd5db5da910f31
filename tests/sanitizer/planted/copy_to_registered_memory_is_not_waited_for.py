# race | registered memory of the host at
import ctypes
import mmap

from infinirt import runtime as rt

memory = mmap.mmap(-1, 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
rt.infinirtHostRegister(address, 4096, 0)
one, other = (rt.infinirtStreamCreateWithFlags(1)[1] for _ in range(2))
data, copy = (rt.infinirtMalloc(4096)[1] for _ in range(2))
rt.infinirtMemsetAsync(data, 1, 4096, one)
rt.infinirtMemcpyAsync(address, data, 4096, rt.infinirtMemcpyKind.infinirtMemcpyDeviceToHost, one)
rt.infinirtMemcpyAsync(copy, address, 4096, rt.infinirtMemcpyKind.infinirtMemcpyHostToDevice, other)
rt.infinirtDeviceSynchronize()
rt.infinirtFree(data)
rt.infinirtFree(copy)
rt.infinirtHostUnregister(address)
