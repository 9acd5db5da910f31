# The program's own memory, registered for a while: it is no leak, there is something in it, and it is the program's own afterwards.
import ctypes
import mmap

from infinirt import runtime as rt

SIZE = 1 << 16
memory = mmap.mmap(-1, SIZE)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
one, other = (rt.infinirtStreamCreateWithFlags(1)[1] for _ in range(2))
data = rt.infinirtMalloc(SIZE)[1]
rt.infinirtHostRegister(address, SIZE, 0)
rt.infinirtMemcpyAsync(data, address, SIZE, 1, one)
rt.infinirtMemcpyAsync(address, data, SIZE, 2, one)
rt.infinirtHostUnregister(address)
memory[0:4] = b"abcd"
rt.infinirtMemcpyAsync(data, address, SIZE, 1, other)
rt.infinirtMemcpyAsync(address, data, SIZE, 2, other)
rt.infinirtMemsetAsync(data, 2, SIZE, one)
rt.infinirtDeviceSynchronize()
rt.infinirtHostRegister(address, SIZE, 0)
rt.infinirtFree(data)
