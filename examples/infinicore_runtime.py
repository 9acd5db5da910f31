"""InfiniCore's Runtime, on the first GPU or else on the CPU: memory, copies, events and a recorded graph."""

import warnings

import numpy

import infinicore

gpus = infinicore.get_device_count("cuda")
runtime = infinicore.Runtime("cuda:0" if gpus else "cpu").activate()

# Memory frees itself. The CPU has no use for pinned memory, and a warning says so.
device_buffer = runtime.allocate_memory(1024 * 1024)
with warnings.catch_warnings():
    warnings.simplefilter("ignore" if not gpus else "default")
    host_buffer = runtime.allocate_pinned_host_memory(1024)

data = numpy.arange(256, dtype=numpy.float32)
runtime.memcpy_h2d(device_buffer.data(), data, data.nbytes, async_=True)
runtime.sync_stream()

# How long does it take? Events know, and elapsed_time() waits for the later one.
start = runtime.create_event()
end = runtime.create_event()
runtime.record_event(start)
runtime.set_device_memory_async(device_buffer.data() + 1024, 0, 1024 * 1024 - 1024)
runtime.record_event(end)
print(f"Kernel time: {runtime.elapsed_time(start, end):.3f} ms")
runtime.destroy_event(start)
runtime.destroy_event(end)


# An operator is a function that puts work on the runtime's stream.
def op1() -> None:
    runtime.memcpy_d2d(device_buffer.data() + 1024, device_buffer.data(), 1024)


def op2() -> None:
    runtime.memcpy_d2d(device_buffer.data() + 2048, device_buffer.data() + 1024, 1024)


runtime.start_graph_recording()
runtime.add_graph_operator(op1)
runtime.add_graph_operator(op2)
graph = runtime.stop_graph_recording()
graph.execute()

result = numpy.empty_like(data)
runtime.memcpy_d2h(result, device_buffer.data() + 2048, result.nbytes)
assert (result == data).all()
print(f"{graph.segment_count} launch for {graph.operator_count} operators on {runtime.device}")
