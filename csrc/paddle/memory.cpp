#include "runtime.h"

namespace infinirt::paddle {

namespace {

Status device_memory_allocate(Device device, void** pointer, size_t size) {
  return call_on(device, api().Malloc, pointer, size);
}
Status host_memory_allocate(Device device, void** pointer, size_t size) {
  return call_on(device, api().MallocHost, pointer, size);
}
Status unified_memory_allocate(Device device, void** pointer, size_t size) {
  return call_on(device, api().MallocManaged, pointer, size, infinirtMemAttachGlobal);
}

// Also of unified memory.
Status device_memory_deallocate(Device device, void* pointer, size_t) { return call_on(device, api().Free, pointer); }
Status host_memory_deallocate(Device device, void* pointer, size_t) { return call_on(device, api().FreeHost, pointer); }

Status device_memory_set(Device device, void* pointer, unsigned char value, size_t size) {
  return call_on(device, api().Memset, pointer, static_cast<int>(value), size);
}

template <infinirtMemcpyKind Kind>
Status copy(Device device, void* dst, const void* src, size_t size) {
  return call_on(device, api().Memcpy, dst, src, size, Kind);
}
template <infinirtMemcpyKind Kind>
Status copy_async(Device device, infinirtPluginStream_t stream, void* dst, const void* src, size_t size) {
  return call_on(device, api().MemcpyAsync, dst, src, size, Kind, stream_of(stream));
}

// Makes `later` wait for everything that `earlier` has now. Either may be the default stream of its device, which stands for
// all streams that PaddlePaddle has there.
struct Queue {
  int device;
  infinirtStream_t stream;
};
Error order(const Queue& earlier, const Queue& later) {
  infinirtEvent_t event = nullptr;
  Error error = infinirtSuccess;
  {
    const DeviceScope scope(earlier.device);
    error = scope.error();
    if (!error) error = api().EventCreateWithFlags(&event, infinirtEventDisableTiming);
    if (!error) error = api().EventRecord(event, earlier.stream);
  }
  if (!error) {
    const DeviceScope scope(later.device);
    error = scope.error();
    if (!error) error = api().StreamWaitEvent(later.stream, event, infinirtEventWaitDefault);
  }
  if (event) api().EventDestroy(event);
  return error;
}

Status copy_between(Device dst_device, Device src_device, void* dst, const void* src, size_t size) {
  if (const Status status = call_on(src_device, api().DeviceSynchronize)) return status;
  if (const Status status = call_on(dst_device, api().DeviceSynchronize)) return status;
  return call_on(dst_device, api().MemcpyPeer, dst, dst_device->id, src, src_device->id, size);
}

// PaddlePaddle gives a stream of one of the two devices and orders nothing on the other, neither the work that made the source
// nor what overwrites it later.
Status copy_between_async(Device dst_device, Device src_device, infinirtPluginStream_t stream, void* dst,
                          const void* src, size_t size) {
  int of_stream = dst_device->id;
  if (stream) {
    if (const Error error = infinirtXStreamGetDevice(stream_of(stream), nullptr, &of_stream)) return status_of(error);
  }
  const Queue copies{of_stream, stream_of(stream)};
  const Queue other{of_stream == src_device->id ? dst_device->id : src_device->id, nullptr};
  if (const Error error = order(other, copies)) return status_of(error);
  infinirtPluginDevice_st on{of_stream};
  const Status status =
      call_on(&on, api().MemcpyPeerAsync, dst, dst_device->id, src, src_device->id, size, stream_of(stream));
  return status ? status : status_of(order(copies, other));
}

}  // namespace

void fill_in_memory(infinirtPluginInterface& table) {
  table.device_memory_allocate = device_memory_allocate;
  table.device_memory_deallocate = device_memory_deallocate;
  table.host_memory_allocate = host_memory_allocate;
  table.host_memory_deallocate = host_memory_deallocate;
  table.unified_memory_allocate = unified_memory_allocate;
  table.unified_memory_deallocate = device_memory_deallocate;
  table.device_memory_set = device_memory_set;
  table.memory_copy_h2d = copy<infinirtMemcpyHostToDevice>;
  table.memory_copy_d2h = copy<infinirtMemcpyDeviceToHost>;
  table.memory_copy_d2d = copy<infinirtMemcpyDeviceToDevice>;
  table.memory_copy_p2p = copy_between;
  table.async_memory_copy_h2d = copy_async<infinirtMemcpyHostToDevice>;
  table.async_memory_copy_d2h = copy_async<infinirtMemcpyDeviceToHost>;
  table.async_memory_copy_d2d = copy_async<infinirtMemcpyDeviceToDevice>;
  table.async_memory_copy_p2p = copy_between_async;
}

}  // namespace infinirt::paddle
