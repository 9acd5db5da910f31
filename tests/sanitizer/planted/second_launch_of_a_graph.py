# race | stream 2
import infinirt

device = infinirt.Device()
stream, reader = device.create_stream(), device.create_stream()
data, copy = device.allocate(4096, stream=stream), device.allocate(4096, stream=stream)
stream.sync()
with infinirt.capture(stream) as captured:
    data.fill(1, stream=stream)
ready = captured.graph.instantiate()
ready.launch(stream)
reader.wait(stream.record())
copy.copy_from(data, stream=reader)
ready.launch(stream)  # writes again, while the reader may be reading
stream.sync()
reader.sync()
data.close()
copy.close()
