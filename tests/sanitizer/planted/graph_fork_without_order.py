# race | branch
import infinirt

device = infinirt.Device()
main, side = device.create_stream(), device.create_stream()
data, copy = device.allocate(4096, stream=main), device.allocate(4096, stream=main)
main.sync()
with infinirt.capture(main) as captured:
    side.wait(main)
    data.fill(1, stream=main)  # after the fork: the side does not come after it
    copy.copy_from(data, stream=side)
    main.wait(side)
captured.graph.instantiate().launch(main)
main.sync()
data.close()
copy.close()
