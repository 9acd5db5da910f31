"""Work is recorded once, as a graph with two branches, and launched many times."""

import infinirt

device = infinirt.Device()
main, side = device.create_stream(), device.create_stream()
left, right = device.allocate(1 << 16, stream=main), device.allocate(1 << 16, stream=main)
launches: list[int] = []
main.sync()

with infinirt.capture(main) as captured:
    side.wait(main)  # the side stream joins the capture
    left.fill(1, stream=main)
    right.fill(2, stream=side)
    main.wait(side)  # and comes back
    left[0:100].copy_to(right[0:100], stream=main)
    main.launch_host_func(launches.append, 1)

graph = captured.graph
print(f"{graph!r}: {', '.join(node.type for node in graph.nodes())}")
ready = graph.instantiate()
for _ in range(10):
    ready.launch(main)

result = bytearray(right.size)
right.copy_to(result, stream=main)
main.sync()
assert result == b"\1" * 100 + b"\2" * (right.size - 100)
assert len(launches) == 10

# A call that cannot be captured is named, and the stream is usable again.
try:
    with infinirt.capture(main):
        main.sync()
except infinirt.CaptureError as error:
    print("not captured:", error.message)
main.sync()
print("launched 10 times")
