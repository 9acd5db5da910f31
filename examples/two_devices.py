"""A ring of devices, on a laptop: each hands its data to the next. INFINIRT_CPU_DEVICES makes as many as you like."""

import os

os.environ.setdefault("INFINIRT_CPU_DEVICES", "4")
os.environ.setdefault("INFINIRT_DEVICE", "cpu")

import infinirt

devices = infinirt.devices("cpu")
streams = [device.create_stream() for device in devices]
buffers = [device.allocate(1024, stream=stream) for device, stream in zip(devices, streams, strict=True)]
inboxes = [device.allocate(1024, stream=stream) for device, stream in zip(devices, streams, strict=True)]
for rank, (buffer, stream) in enumerate(zip(buffers, streams, strict=True)):
    buffer.fill(rank, stream=stream)

for _ in devices:
    sent = []
    for rank, stream in enumerate(streams):
        following = (rank + 1) % len(devices)
        stream.wait(streams[following])  # its inbox is free again
        buffers[rank].copy_to(inboxes[following], stream=stream)
        sent.append(stream.record())
    for rank, stream in enumerate(streams):
        stream.wait(sent[rank - 1])
        inboxes[rank].copy_to(buffers[rank], stream=stream)

for device in devices:
    device.sync()
for rank, buffer in enumerate(buffers):
    assert bytes(buffer) == bytes([rank]) * 1024, rank
print(f"everything is back where it began, after {len(devices)} steps around {', '.join(map(str, devices))}")
