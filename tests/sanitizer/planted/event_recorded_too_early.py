# race | waited for event 1 at event_recorded_too_early.py:10, but that was recorded at event_recorded_too_early.py:8, before any work there, before infinirtMemsetAsync (event_recorded_too_early.py:9) was issued | stream 2 of cpu:0: made at event_recorded_too_early.py:5 as number 2: producer, consumer =
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
