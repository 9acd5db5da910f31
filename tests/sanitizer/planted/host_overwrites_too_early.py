# host access before completion | the program writes | may still be reading
# for the CPU device: memory of a GPU's driver cannot be watched
import numpy as np

import infinirt

device = infinirt.Device()
stream = device.create_stream()
batch = device.allocate(4096, stream=stream)
staging = infinirt.PinnedPool(device).allocate(4096, stream=stream)
filled = np.asarray(staging)
for number in range(2):
    filled[:] = number  # the second time, the copy may not have read the first batch
    batch.copy_from(staging, stream=stream)
stream.sync()
batch.close()
del filled
staging.close()
