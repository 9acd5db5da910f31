// Streams and events.
#include "core.h"
#include "selection.h"

using namespace infinirt::v0;  // NOLINT: the C entry points below are outside the namespace

infiniStatus_t infinirtStreamCreate(infinirtStream_t* stream_ptr) {
  if (!stream_ptr) return INFINI_STATUS_NULL_POINTER;
  return on_device([&] { return core::stream_create(stream_ptr); });
}

infiniStatus_t infinirtStreamDestroy(infinirtStream_t stream) {
  // v0's CPU had no streams: what its programs destroy there may be null.
  if (!stream && current_type() == INFINI_DEVICE_CPU) return INFINI_STATUS_SUCCESS;
  return on_device([&] { return core::stream_destroy(stream); });
}

infiniStatus_t infinirtStreamSynchronize(infinirtStream_t stream) {
  return on_device([&] { return core::stream_synchronize(stream); });
}

infiniStatus_t infinirtStreamWaitEvent(infinirtStream_t stream, infinirtEvent_t event) {
  if (!event) return INFINI_STATUS_NULL_POINTER;
  return in_stream(stream, [&] { return core::stream_wait_event(stream, event); });
}

infiniStatus_t infinirtEventCreate(infinirtEvent_t* event_ptr) {
  return infinirtEventCreateWithFlags(event_ptr, INFINIRT_EVENT_DEFAULT);
}

infiniStatus_t infinirtEventCreateWithFlags(infinirtEvent_t* event_ptr, uint32_t flags) {
  if (!event_ptr) return INFINI_STATUS_NULL_POINTER;
  if (flags & ~uint32_t{INFINIRT_EVENT_DISABLE_TIMING | INFINIRT_EVENT_BLOCKING_SYNC}) return INFINI_STATUS_BAD_PARAM;
  const bool timing = !(flags & INFINIRT_EVENT_DISABLE_TIMING);
  const bool blocking_sync = flags & INFINIRT_EVENT_BLOCKING_SYNC;
  return on_device([&] { return core::event_create(event_ptr, timing, blocking_sync); });
}

infiniStatus_t infinirtEventRecord(infinirtEvent_t event, infinirtStream_t stream) {
  if (!event) return INFINI_STATUS_NULL_POINTER;
  return in_stream(stream, [&] { return core::event_record(event, stream); });
}

infiniStatus_t infinirtEventQuery(infinirtEvent_t event, infinirtEventStatus_t* status_ptr) {
  if (!event || !status_ptr) return INFINI_STATUS_NULL_POINTER;
  return on_device([&] {
    const core::Error error = core::event_query(event);
    if (error && error != core::kNotReady) return error;
    *status_ptr = error ? INFINIRT_EVENT_NOT_READY : INFINIRT_EVENT_COMPLETE;
    return core::kSuccess;
  });
}

infiniStatus_t infinirtEventSynchronize(infinirtEvent_t event) {
  if (!event) return INFINI_STATUS_NULL_POINTER;
  return on_device([&] { return core::event_synchronize(event); });
}

infiniStatus_t infinirtEventDestroy(infinirtEvent_t event) {
  if (!event) return INFINI_STATUS_NULL_POINTER;
  return on_device([&] { return core::event_destroy(event); });
}

infiniStatus_t infinirtEventElapsedTime(float* ms_ptr, infinirtEvent_t start, infinirtEvent_t end) {
  if (!ms_ptr || !start || !end) return INFINI_STATUS_NULL_POINTER;
  return on_device([&] { return core::event_elapsed_time(ms_ptr, start, end); });
}
