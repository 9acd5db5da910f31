# race | waited for event 1 at event_recorded_after_the_wait.py:11, but that had not been recorded | record the event on stream 1 of cpu:0 after infinirtMemsetAsync (event_recorded_after_the_wait.py:10), and before the wait at event_recorded_after_the_wait.py:11
import infinirt

device = infinirt.Device()
producer = device.create_stream()
consumer = device.create_stream()
data, copy = device.allocate(4096, stream=consumer), device.allocate(4096, stream=consumer)
consumer.sync()
ready = device.create_event()
data.fill(1, stream=producer)
consumer.wait(ready)
producer.record(ready)
copy.copy_from(data, stream=consumer)
producer.sync()
consumer.sync()
data.close()
copy.close()
