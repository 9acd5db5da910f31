# race | 100 of 500 bytes | 100 of 600 bytes
import infinirt

device = infinirt.Device()
one, other = device.create_stream(), device.create_stream()
with device.allocate(1000, stream=one) as data:
    one.sync()
    data[0:600].fill(1, stream=one)
    data[500:1000].fill(2, stream=other)
    one.sync()
    other.sync()
