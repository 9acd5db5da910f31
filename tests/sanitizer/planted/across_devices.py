# race | of cpu:1
# for the CPU device, of which it needs two
import infinirt

first, second = infinirt.Device("cpu:0"), infinirt.Device("cpu:1")
one, two = first.create_stream(), second.create_stream()
data, copy = first.allocate(4096, stream=one), second.allocate(4096, stream=two)
data.fill(1, stream=one)
copy.copy_from(data, stream=two)  # device 1 reads what device 0 writes
one.sync()
two.sync()
data.close()
copy.close()
