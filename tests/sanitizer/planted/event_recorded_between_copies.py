# race | record the event after infinirtMemcpyAsync (event_recorded_between_copies.py:10), not at event_recorded_between_copies.py:9; the wait at event_recorded_between_copies.py:11 may stay | was recorded at event_recorded_between_copies.py:9, after infinirtMemcpyAsync (event_recorded_between_copies.py:8), before infinirtMemcpyAsync (event_recorded_between_copies.py:10) was issued | event_recorded_between_copies.py:12 in <module>: result.copy_from(second, stream=consumer)
import infinirt

device = infinirt.Device()
producer, consumer = device.create_stream(), device.create_stream()
source, first, second, result = (device.allocate(4096, stream=producer) for _ in range(4))
source.fill(1, stream=producer)
first.copy_from(source, stream=producer)
ready = producer.record()
second.copy_from(source, stream=producer)
consumer.wait(ready)
result.copy_from(second, stream=consumer)
producer.sync()
consumer.sync()
for buffer in (source, first, second, result):
    buffer.close()
