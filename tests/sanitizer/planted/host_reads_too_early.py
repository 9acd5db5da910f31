# host access before completion | the program reads | may still be writing
# for the CPU device: memory of a GPU's driver cannot be watched
import numpy as np

import infinirt

device = infinirt.Device()
stream = device.create_stream()
data = device.allocate(4096, stream=stream)
arrived = infinirt.PinnedPool(device).allocate(4096, stream=stream)
seen = np.asarray(arrived)
data.fill(7, stream=stream)
arrived.copy_from(data, stream=stream)
total = seen.sum()  # nothing has waited for the copy
stream.sync()
data.close()
del seen
arrived.close()
