# race | stream 1 of
import infinirt

device = infinirt.Device()
producer, consumer, third = (device.create_stream() for _ in range(3))
data, copy = device.allocate(4096, stream=producer), device.allocate(4096, stream=consumer)
data.fill(1, stream=producer)
consumer.wait(third.record())  # meant: of the producer
copy.copy_from(data, stream=consumer)
producer.sync()
consumer.sync()
data.close()
copy.close()
