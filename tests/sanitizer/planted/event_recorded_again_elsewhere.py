# race | infinirtMemsetAsync (event_recorded_again_elsewhere.py:15) on stream 3 of cpu:0 before infinirtMemcpyAsync (event_recorded_again_elsewhere.py:17) on stream 2 of cpu:0 | stream 3 of cpu:0: made at event_recorded_again_elsewhere.py:7
import infinirt

device = infinirt.Device()
first = device.create_stream()
consumer = device.create_stream()
second = device.create_stream()
data, copy = device.allocate(4096, stream=consumer), device.allocate(4096, stream=consumer)
consumer.sync()
ready = device.create_event()
data.fill(1, stream=first)
first.record(ready)
consumer.wait(ready)
second.wait(ready)
data.fill(2, stream=second)
second.record(ready)  # the consumer waited for the record before this one
copy.copy_from(data, stream=consumer)
second.sync()
consumer.sync()
data.close()
copy.close()
