# race | was recorded before any work there, before infinirtMemsetAsync was issued
import infinirt

device = infinirt.Device()
producer, consumer = device.create_stream(), device.create_stream()
data, copy = device.allocate(4096, stream=consumer), device.allocate(4096, stream=consumer)
consumer.sync()
ready = producer.record()
data.fill(1, stream=producer)
consumer.wait(ready)
copy.copy_from(data, stream=consumer)
producer.sync()
consumer.sync()
data.close()
copy.close()
