# use after free | argument 0
# for the CPU device
import ctypes

import infinirt
from infinirt import runtime as rt

FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
nothing = FUNCTION(lambda block, arguments: 0)
address = ctypes.cast(nothing, ctypes.c_void_p).value
kernel = infinirt.Kernel.from_address(address, ["pointer"], "nothing", owner=nothing)

device = infinirt.Device("cpu")
stream = device.create_stream()
data = rt.infinirtMallocAsync(4096, stream.handle)[1]
rt.infinirtFreeAsync(data, stream.handle)
infinirt.launch(stream, infinirt.LaunchConfig(grid=1, block=1), kernel, data)
stream.sync()
