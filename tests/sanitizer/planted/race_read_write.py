# race | writes what | reads its source
import infinirt

device = infinirt.Device()
one, other = device.create_stream(), device.create_stream()
with device.allocate(4096, stream=one) as data, device.allocate(4096, stream=one) as copy:
    data.fill(1, stream=one)
    one.sync()
    copy.copy_from(data, stream=one)
    data.fill(2, stream=other)  # while the copy may still be reading
    one.sync()
    other.sync()
