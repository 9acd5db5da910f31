# race | stream 2 | should wait for an event recorded on stream 1
import infinirt

device = infinirt.Device()
producer, consumer = device.create_stream(), device.create_stream()
with device.allocate(4096, stream=producer) as data, device.allocate(4096, stream=consumer) as copy:
    data.fill(1, stream=producer)
    copy.copy_from(data, stream=consumer)
    producer.sync()
    consumer.sync()
