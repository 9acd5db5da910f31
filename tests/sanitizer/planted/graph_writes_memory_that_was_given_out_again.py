# use after free | graph 1 | freed it on stream 1 of cpu:0 | keep the memory for as long as the graph is launched
"""The buffer is closed while its graph is still to be launched; what is allocated next gets the same address, and is overwritten."""

import infinirt

device = infinirt.Device()
stream = device.create_stream()
data = device.allocate(4096, stream=stream)
with infinirt.capture(stream) as captured:
    data.fill(7, stream=stream)
ready = captured.graph.instantiate()
ready.launch(stream)
data.close()
other = device.allocate(4096, stream=stream)
other.fill(1, stream=stream)
ready.launch(stream)
stream.sync()
