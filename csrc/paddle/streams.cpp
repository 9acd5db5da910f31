// Streams and events: PaddlePaddle's handles are ours.
#include <new>

#include "runtime.h"

namespace infinirt::paddle {

namespace {

// A blocking stream: PaddlePaddle's synchronous copies carry no stream, and are ordered after its work only through the
// legacy default stream.
Status create_stream(Device device, infinirtPluginStream_t* stream) {
  return call_on(device, api().StreamCreate, reinterpret_cast<infinirtStream_t*>(stream));
}
Status destroy_stream(Device device, infinirtPluginStream_t stream) {
  return call_on(device, api().StreamDestroy, stream_of(stream));
}
Status query_stream(Device device, infinirtPluginStream_t stream) {
  return call_on(device, api().StreamQuery, stream_of(stream));
}
Status synchronize_stream(Device device, infinirtPluginStream_t stream) {
  return call_on(device, api().StreamSynchronize, stream_of(stream));
}
Status stream_wait_event(Device device, infinirtPluginStream_t stream, infinirtPluginEvent_t event) {
  return call_on(device, api().StreamWaitEvent, stream_of(stream), event_of(event), infinirtEventWaitDefault);
}

// What PaddlePaddle's callback is called with; its `device` argument need not outlive the call that enqueues.
struct Callback {
  infinirtPluginDevice_st device;
  infinirtPluginStream_t stream;
  infinirtPluginCallback function;
  void* user_data;

  static void run(void* self) {
    auto* callback = static_cast<Callback*>(self);
    Status status = infinirtPluginSuccess;
    callback->function(&callback->device, callback->stream, callback->user_data, &status);
  }
  static void destroy(void* self) { delete static_cast<Callback*>(self); }
};

Status stream_add_callback(Device device, infinirtPluginStream_t stream, infinirtPluginCallback function,
                           void* user_data) {
  auto* callback = new (std::nothrow) Callback{*device, stream, function, user_data};
  if (!callback) return infinirtPluginFailed;
  return call_on(
      device, [&] { return infinirtXLaunchHostFunc(stream_of(stream), Callback::run, callback, Callback::destroy); });
}

// There is no entry that asks for the time between events.
Status create_event(Device device, infinirtPluginEvent_t* event) {
  return call_on(device, api().EventCreateWithFlags, reinterpret_cast<infinirtEvent_t*>(event),
                 infinirtEventDisableTiming);
}
Status destroy_event(Device device, infinirtPluginEvent_t event) {
  return call_on(device, api().EventDestroy, event_of(event));
}
Status record_event(Device device, infinirtPluginStream_t stream, infinirtPluginEvent_t event) {
  return call_on(device, api().EventRecord, event_of(event), stream_of(stream));
}
Status query_event(Device device, infinirtPluginEvent_t event) {
  return call_on(device, api().EventQuery, event_of(event));
}
Status synchronize_event(Device device, infinirtPluginEvent_t event) {
  return call_on(device, api().EventSynchronize, event_of(event));
}

}  // namespace

void fill_in_streams(infinirtPluginInterface& table) {
  table.create_stream = create_stream;
  table.destroy_stream = destroy_stream;
  table.query_stream = query_stream;
  table.synchronize_stream = synchronize_stream;
  table.stream_wait_event = stream_wait_event;
  table.stream_add_callback = stream_add_callback;
  table.create_event = create_event;
  table.destroy_event = destroy_event;
  table.record_event = record_event;
  table.query_event = query_event;
  table.synchronize_event = synchronize_event;
}

}  // namespace infinirt::paddle
