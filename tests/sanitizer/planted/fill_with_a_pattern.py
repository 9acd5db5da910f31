# race | infinirtMemcpyAsync reads what fill with a pattern writes | stream 2 of cpu:0 should wait for an event recorded on stream 1 of cpu:0 after fill with a pattern (fill_with_a_pattern.py:9)
import numpy as np

import infinirt

device = infinirt.Device()
one, other = device.create_stream(), device.create_stream()
data, copy = device.allocate(1 << 16, stream=one), device.allocate(1 << 16, stream=one)
data.fill(np.float32(1.5), stream=one)
copy.copy_from(data, stream=other)
one.sync()
other.sync()
data.close()
copy.close()
