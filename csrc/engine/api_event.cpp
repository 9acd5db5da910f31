// Event functions of engine-run backends.
#include <mutex>

#include "engine/capture.h"
#include "engine/event.h"
#include "engine/ipc.h"
#include "engine/pool.h"
#include "engine/stream.h"

namespace infinirt {

namespace {

constexpr unsigned kEventFlags = infinirtEventBlockingSync | infinirtEventDisableTiming | infinirtEventInterprocess;

#define RESOLVE_EVENT(name, handle)                           \
  Event* name##_ptr = resolve_event(handle, #handle);         \
  if (!name##_ptr) return infinirtErrorInvalidResourceHandle; \
  Event& name = *name##_ptr

infinirtError_t lost_event() {
  return fail(infinirtErrorInvalidResourceHandle,
              "event was pending when the process forked and is lost in the child; record it again");
}

infinirtError_t create(infinirtEvent_t* out, unsigned flags) {
  if (!out) return fail(infinirtErrorInvalidValue, "event is null; it must point at where the new event goes");
  if (flags & ~kEventFlags)
    return fail(infinirtErrorInvalidValue, "flags 0x%x: only BlockingSync, DisableTiming and Interprocess are allowed",
                flags);
  if ((flags & infinirtEventInterprocess) && !(flags & infinirtEventDisableTiming)) {
    return fail(infinirtErrorInvalidValue,
                "flags 0x%x: infinirtEventInterprocess needs infinirtEventDisableTiming as well", flags);
  }
  EngineDevice& device = current_device(thread_state());
  if (auto error = check_device(device)) return error;
  Event* event = create_event(device, flags);
  if (!event) return fail(infinirtErrorMemoryAllocation, "no room for another handle: 16 million objects are alive");
  *out = event->handle;
  return infinirtSuccess;
}

infinirtError_t record(infinirtEvent_t event, infinirtStream_t stream, unsigned flags) {
  RESOLVE_EVENT(e, event);
  infinirtError_t error = infinirtSuccess;
  Stream* s = resolve_stream(thread_state(), stream, &error);
  if (!s) return error;
  if (flags & ~static_cast<unsigned>(infinirtEventRecordExternal)) {
    return fail(infinirtErrorInvalidValue,
                "flags 0x%x: only infinirtEventRecordDefault and infinirtEventRecordExternal are allowed", flags);
  }
  if (e.device != s->device) {
    return fail(infinirtErrorInvalidResourceHandle,
                "event belongs to %s:%d, stream to %s:%d; an event is recorded on streams of its own device",
                e.device->engine->backend.name.c_str(), e.device->ordinal, s->device->engine->backend.name.c_str(),
                s->device->ordinal);
  }
  if ((error = check_device(*s->device))) return error;
  if (capture_event_record(e, *s, flags, &error)) return error;
  if (s->role == StreamRole::Legacy && s->device->blocking_captures.load(std::memory_order_relaxed) > 0) {
    return capture_bars_legacy(*s->device);
  }
  return record_event(e, *s);
}

}  // namespace

infinirtError_t engine_quiet_event_query(infinirtEvent_t event) {
  RESOLVE_EVENT(e, event);
  if (auto error = check_device(*e.device)) return error;
  infinirtError_t error = infinirtSuccess;
  if (capture_uses_event(e, true, &error)) return error;
  if ((error = check_capture_unsafe(thread_state()))) return error;
  if (e.shared) return shared_event_done(e) ? infinirtSuccess : infinirtErrorNotReady;
  const Point point = event_point(e);
  if (!point.reached()) return infinirtErrorNotReady;
  return point.lost() ? lost_event() : infinirtSuccess;
}

infinirtError_t engine_quiet_event_synchronize(infinirtEvent_t event) {
  RESOLVE_EVENT(e, event);
  if (auto error = check_device(*e.device)) return error;
  infinirtError_t error = infinirtSuccess;
  if (capture_uses_event(e, true, &error)) return error;
  if ((error = check_capture_unsafe(thread_state()))) return error;
  if (e.shared) {
    shared_event_wait(e);
  } else {
    const Point point = event_point(e);
    if (point.lost()) return lost_event();
    if (e.flags & infinirtEventBlockingSync) {
      wait_for(point, false);
    } else {
      help_until(point);
    }
  }
  return infinirtSuccess;
}

namespace engine_api {

infinirtError_t EventCreate(infinirtEvent_t* event) { return create(event, 0); }
infinirtError_t EventCreateWithFlags(infinirtEvent_t* event, unsigned int flags) { return create(event, flags); }

infinirtError_t EventDestroy(infinirtEvent_t event) {
  RESOLVE_EVENT(e, event);
  destroy_event(e);
  return infinirtSuccess;
}

infinirtError_t EventRecord(infinirtEvent_t event, infinirtStream_t stream) { return record(event, stream, 0); }

infinirtError_t EventRecordWithFlags(infinirtEvent_t event, infinirtStream_t stream, unsigned int flags) {
  return record(event, stream, flags);
}

infinirtError_t EventQuery(infinirtEvent_t event) {
  RESOLVE_EVENT(e, event);
  const infinirtError_t error = engine_quiet_event_query(event);
  return error == infinirtSuccess && !e.shared ? take_async_error(*e.device) : error;
}

infinirtError_t EventSynchronize(infinirtEvent_t event) {
  RESOLVE_EVENT(e, event);
  EngineDevice& device = *e.device;
  if (auto error = engine_quiet_event_synchronize(event)) return error;
  pools_after_synchronize(device);
  return take_async_error(device);
}

infinirtError_t EventElapsedTime(float* ms, infinirtEvent_t start, infinirtEvent_t end) {
  if (!ms) return fail(infinirtErrorInvalidValue, "ms is null; it must point at where the time goes");
  RESOLVE_EVENT(first, start);
  RESOLVE_EVENT(second, end);
  int64_t stamps[2];
  Event* events[2] = {&first, &second};
  const char* names[2] = {"start", "end"};
  for (int i = 0; i < 2; ++i) {
    Event& e = *events[i];
    infinirtError_t error = infinirtSuccess;
    if (capture_uses_event(e, false, &error)) return error;
    std::lock_guard guard(e.mutex);
    if (e.flags & infinirtEventDisableTiming) {
      return fail(infinirtErrorInvalidResourceHandle,
                  "%s was created with infinirtEventDisableTiming; create it without to measure time", names[i]);
    }
    if (!e.recorded)
      return fail(infinirtErrorInvalidResourceHandle, "%s was never recorded; call infinirtEventRecord first",
                  names[i]);
    if (e.point.lost()) return lost_event();
    if (e.stamp_ns == 0 || !e.point.reached()) return infinirtErrorNotReady;
    stamps[i] = e.stamp_ns;
  }
  if (first.device != second.device) {
    return fail(infinirtErrorInvalidResourceHandle, "start and end belong to different devices (%d and %d)",
                first.device->ordinal, second.device->ordinal);
  }
  *ms = static_cast<float>(static_cast<double>(stamps[1] - stamps[0]) / 1e6);
  return infinirtSuccess;
}

infinirtError_t EventElapsedTime_v2(float* ms, infinirtEvent_t start, infinirtEvent_t end) {
  return EventElapsedTime(ms, start, end);
}

}  // namespace engine_api

}  // namespace infinirt
