"""Stream-ordered memory, and resources put around it: counted, limited, made to fail on purpose."""

import infinirt

device = infinirt.Device()
stream = device.create_stream()

# Allocating and freeing are steps of a stream: no waiting, and the memory is reused at once.
pool = infinirt.MemoryPool(device)
addresses = set()
for _ in range(100):
    with pool.allocate(1 << 20, stream=stream) as scratch:
        scratch.fill(0, stream=stream)
        addresses.add(scratch.ptr)
stream.sync()
print(
    f"100 allocations of 1 MiB used {len(addresses)} address(es), {pool.attributes.reserved_mem_high >> 20} MiB"
)

# Resources are put around each other.
tracked = infinirt.TrackingResource(infinirt.LimitingResource(pool, 10_000))
kept = [tracked.allocate(3_000, stream=stream) for _ in range(3)]
try:
    tracked.allocate(3_000, stream=stream)
except infinirt.OutOfMemoryError as error:
    print("refused:", error.message)
assert tracked.current_bytes == 9_000
kept.clear()
assert tracked.current_bytes == 0

# What does your program do when memory runs out? Make it so.
device.memory_resource = infinirt.FailingResource(pool, 2)
first = device.allocate(16)
try:
    device.allocate(16)
except MemoryError as error:
    print("as told:", error)
device.memory_resource = None
