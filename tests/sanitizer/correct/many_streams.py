# Streams come and go. What they did stays known, also for those that are over long since.
import infinirt

device = infinirt.Device()
kept = device.allocate(64)
device.sync()
for value in range(100):
    stream, other = device.create_stream(), device.create_stream()
    kept.fill(value, stream=stream)
    other.wait(stream.record())
    stream.close()
    kept.fill(value, stream=other)
    other.sync()
    other.close()
