# read of memory never written | fill it
import infinirt

device = infinirt.Device()
with device.create_stream() as stream:
    data = device.allocate(4096, stream=stream)
    data[0:100].fill(1, stream=stream)
    result = bytearray(200)
    data[0:200].copy_to(result, stream=stream)
    stream.sync()
    data.close()
