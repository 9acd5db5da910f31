"""The same memory as NumPy array and as Buffer, without copies, in both directions."""

import numpy as np

import infinirt

device = infinirt.Device("cpu")
stream = device.create_stream()

# A Buffer as an array. Looking at it waits for the stream.
buffer = device.allocate(8 * 4, stream=stream)
buffer.fill(np.float32(1.5), stream=stream)
array = np.frombuffer(buffer, dtype="float32")
print(array)
assert array.tolist() == [1.5] * 8
assert np.from_dlpack(buffer).ctypes.data == buffer.ptr

# An array as a Buffer.
image = np.arange(12, dtype="uint8").reshape(3, 4)
shared = infinirt.from_dlpack(image)
shared[4:8].fill(255)
device.sync()
print(image)
assert image[1].tolist() == [255] * 4

# On a device whose memory the host cannot reach the same program copies, here through page-locked memory.
staging = infinirt.PinnedPool(device).allocate(image.nbytes, stream=stream)
np.asarray(staging)[:] = image.ravel()
on_device = device.allocate(image.nbytes, stream=stream)
staging.copy_to(on_device, stream=stream)
back = np.empty_like(image)
on_device.copy_to(back, stream=stream)
stream.sync()
assert (back == image).all()
