# race | writes what | stream 1
import infinirt

device = infinirt.Device()
one, other = device.create_stream(), device.create_stream()
with device.allocate(4096, stream=one) as data:
    one.sync()
    data.fill(1, stream=one)
    data.fill(2, stream=other)
    one.sync()
    other.sync()
