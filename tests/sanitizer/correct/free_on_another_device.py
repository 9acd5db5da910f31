# Memory is freed while another device is current: its own device is waited for, and for pinned memory every device.
# for the CPU device, of which it needs two
from infinirt import runtime as rt

rt.infinirtSetDevice(1)
stream = rt.infinirtStreamCreateWithFlags(1)[1]
data, pinned, managed = (
    rt.infinirtMalloc(1 << 20)[1],
    rt.infinirtMallocHost(1 << 20)[1],
    rt.infinirtMallocManaged(1 << 20, 1)[1],
)
rt.infinirtSetDevice(0)
here = rt.infinirtMallocHost(1 << 20)[1]
for memory, free in (
    (data, rt.infinirtFree), (pinned, rt.infinirtFreeHost), (managed, rt.infinirtFree), (here, rt.infinirtFreeHost),
):  # fmt: skip
    rt.infinirtMemsetAsync(memory, 1, 1 << 20, stream)
    free(memory)
