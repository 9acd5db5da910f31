# race | both are nodes of one graph
import infinirt

device = infinirt.Device()
stream = device.create_stream()
data = device.allocate(4096, stream=stream)
stream.sync()
graph = infinirt.Graph(device)
graph.add_fill(data, 1)
graph.add_fill(data, 2)  # not after the first
ready = graph.instantiate()
ready.launch(stream)
stream.sync()
data.close()
