"""Two streams work side by side; an event makes one wait for the other, two more take the time."""

import time

import infinirt

device = infinirt.Device()
producer, consumer = device.create_stream(), device.create_stream()
timed = infinirt.EventOptions(timing_enabled=True)

buffer = device.allocate(1 << 20, stream=producer)
start = producer.record(options=timed)
producer.launch_host_func(time.sleep, 0.01)  # something slow
buffer.fill(7, stream=producer)
end = producer.record(options=timed)

consumer.wait(end)  # the host does not wait: only work that the consumer is given from here on
copy = buffer.copy_to(stream=consumer)
print("enqueued; the consumer is", "done" if consumer.is_done else "waiting")

result = bytearray(copy.size)
copy.copy_to(result, stream=consumer)
consumer.sync()
assert result == bytes([7]) * copy.size
assert end - start >= 9, end - start
print("filled and copied 1 MiB behind a pause of 10 ms")
