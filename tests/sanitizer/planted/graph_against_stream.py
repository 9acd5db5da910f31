# race | launched at
import infinirt

device = infinirt.Device()
stream, other = device.create_stream(), device.create_stream()
data = device.allocate(4096, stream=stream)
stream.sync()
with infinirt.capture(stream) as captured:
    data.fill(1, stream=stream)
ready = captured.graph.instantiate()
ready.launch(stream)
data.fill(2, stream=other)  # while the graph may be running
stream.sync()
other.sync()
data.close()
