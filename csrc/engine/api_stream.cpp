// Stream functions of engine-run backends, capture excepted.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "engine/capture.h"
#include "engine/event.h"
#include "engine/ipc.h"
#include "engine/pool.h"
#include "engine/stream.h"
#include "infinirt_ext.h"

namespace infinirt {

namespace {

#define RESOLVE_STREAM(name, handle)                                          \
  infinirtError_t name##_error = infinirtSuccess;                             \
  Stream* name##_ptr = resolve_stream(thread_state(), handle, &name##_error); \
  if (!name##_ptr) return name##_error;                                       \
  Stream& name = *name##_ptr

infinirtError_t create(infinirtStream_t* out, unsigned flags, int priority) {
  if (!out) return fail(infinirtErrorInvalidValue, "pStream is null; it must point at where the new stream goes");
  if (flags & ~static_cast<unsigned>(infinirtStreamNonBlocking)) {
    return fail(infinirtErrorInvalidValue,
                "flags 0x%x: only infinirtStreamDefault (0) and infinirtStreamNonBlocking (1) are allowed", flags);
  }
  EngineDevice& device = current_device(thread_state());
  if (auto error = check_device(device)) return error;
  Stream* stream = create_stream(device, flags, std::clamp(priority, 1 - kUrgencyLevels, 0), StreamRole::Created);
  if (!stream) return fail(infinirtErrorMemoryAllocation, "no room for another handle: 16 million objects are alive");
  *out = stream->handle;
  return infinirtSuccess;
}

// Barred while the stream, or for the legacy stream a blocking stream of its device, captures.
infinirtError_t check_host_look(Stream& stream, const char* what) {
  if (auto error = check_device(*stream.device)) return error;
  infinirtError_t error = infinirtSuccess;
  if (stream.capture.load(std::memory_order_acquire) && capture_bars_stream(stream, what, &error)) return error;
  if (stream.role == StreamRole::Legacy && stream.device->blocking_captures.load(std::memory_order_relaxed) > 0) {
    return capture_bars_legacy(*stream.device);
  }
  return check_capture_unsafe(thread_state());
}

// These look harmless, but a GPU was measured to refuse them on a capturing stream, and to invalidate the capture.
infinirtError_t check_look(Stream& stream, const char* what) {
  infinirtError_t error = infinirtSuccess;
  if (stream.capture.load(std::memory_order_acquire)) capture_bars_stream(stream, what, &error);
  return error;
}

// The event is of a backend whose handles are its vendor's. A worker waits, and does not count meanwhile.
infinirtError_t wait_for_native_event(Stream& stream, const Backend& native, infinirtEvent_t event) {
  if (stream.capture.load(std::memory_order_acquire)) {
    return fail(infinirtErrorStreamCaptureUnsupported,
                "event belongs to device type '%s'; a wait for it cannot be captured", native.name.c_str());
  }
  void* snapshot = nullptr;
  if (auto error = native.extensions.SnapshotEvent(event, &stream.native_lane, &snapshot)) return error;
  Work work;
  work.type = WorkType::Host;
  work.host = {native.extensions.WaitForSnapshot, snapshot, native.extensions.DropSnapshot};
  return submit(stream, work);
}

infinirtError_t launch_host(infinirtStream_t handle, infinirtHostFn_t fn, void* data, infinirtHostFn_t destroy) {
  Work work;  // owns the data from here on: whatever fails below disposes of it
  work.type = WorkType::Host;
  work.host = {fn, data, destroy};
  infinirtError_t error = infinirtSuccess;
  Stream* stream = resolve_stream(thread_state(), handle, &error);
  if (stream && fn) return submit(*stream, work);
  if (stream) error = fail(infinirtErrorInvalidValue, "fn is null; a host function was expected");
  dispose_work(work);
  return error;
}

}  // namespace

namespace engine_api {

infinirtError_t StreamCreate(infinirtStream_t* pStream) { return create(pStream, 0, 0); }

infinirtError_t StreamCreateWithFlags(infinirtStream_t* pStream, unsigned int flags) {
  return create(pStream, flags, 0);
}

infinirtError_t StreamCreateWithPriority(infinirtStream_t* pStream, unsigned int flags, int priority) {
  return create(pStream, flags, priority);
}

infinirtError_t StreamDestroy(infinirtStream_t stream) {
  if (reinterpret_cast<uintptr_t>(stream) <= 2) {
    return fail(infinirtErrorInvalidResourceHandle,
                "stream %p is a default stream; only created streams can be destroyed", static_cast<void*>(stream));
  }
  RESOLVE_STREAM(s, stream);
  return destroy_stream(s, s.id) ? infinirtSuccess : stream_destroyed_meanwhile();
}

infinirtError_t StreamQuery(infinirtStream_t stream) {
  RESOLVE_STREAM(s, stream);
  if (auto error = check_host_look(s, "querying it")) return error;
  return stream_is_done(s) ? take_async_error(*s.device) : infinirtErrorNotReady;
}

infinirtError_t StreamSynchronize(infinirtStream_t stream) {
  RESOLVE_STREAM(s, stream);
  if (auto error = check_host_look(s, "synchronising with it")) return error;
  EngineDevice& device = *s.device;
  const infinirtError_t error = synchronize_stream(s);
  pools_after_synchronize(device);
  return error;
}

infinirtError_t StreamWaitEvent(infinirtStream_t stream, infinirtEvent_t event, unsigned int flags) {
  RESOLVE_STREAM(s, stream);
  if (event && !handle_is_ours(event)) {
    const Backend* native = g_hot.native_backend.load(std::memory_order_acquire);
    if (native && native->extensions.SnapshotEvent) return wait_for_native_event(s, *native, event);
  }
  Event* e = resolve_event(event, "event");
  if (!e) return infinirtErrorInvalidResourceHandle;
  if (flags & ~static_cast<unsigned>(infinirtEventWaitExternal)) {
    return fail(infinirtErrorInvalidValue,
                "flags 0x%x: only infinirtEventWaitDefault and infinirtEventWaitExternal are allowed", flags);
  }
  if (auto error = check_device(*s.device)) return error;
  infinirtError_t error = infinirtSuccess;
  if (capture_wait_event(s, *e, flags, &error)) return error;
  if (s.role == StreamRole::Legacy && s.device->blocking_captures.load(std::memory_order_relaxed) > 0) {
    return capture_bars_legacy(*s.device);
  }
  if (e->shared) {
    stream_wait_point(s, event_point(*e));  // recorded in this process: no need to look across
    Work work;
    work.type = WorkType::WaitShared;
    work.shared = shared_event_snapshot(*e);
    return submit(s, work);
  }
  const Point point = event_point(*e);
  if (point.lost())
    return fail(infinirtErrorInvalidResourceHandle,
                "event was pending when the process forked and is lost in the child; record it again");
  stream_wait_point(s, point);
  keep_legacy_order(s);
  return infinirtSuccess;
}

infinirtError_t StreamAddCallback(infinirtStream_t stream, infinirtStreamCallback_t callback, void* userData,
                                  unsigned int flags) {
  RESOLVE_STREAM(s, stream);
  if (!callback) return fail(infinirtErrorInvalidValue, "callback is null");
  if (flags != 0) return fail(infinirtErrorInvalidValue, "flags 0x%x must be 0", flags);
  infinirtError_t error = infinirtSuccess;
  if (s.capture.load(std::memory_order_acquire) &&
      capture_bars_stream(s, "adding a callback, which cannot be captured,", &error))
    return error;
  Work work;
  work.type = WorkType::Callback;
  work.callback = {callback, stream, userData};
  return submit(s, work);
}

infinirtError_t LaunchHostFunc(infinirtStream_t stream, infinirtHostFn_t fn, void* userData) {
  return launch_host(stream, fn, userData, nullptr);
}

infinirtError_t StreamGetFlags(infinirtStream_t hStream, unsigned int* flags) {
  RESOLVE_STREAM(s, hStream);
  if (auto error = check_look(s, "asking for its flags")) return error;
  if (!flags) return fail(infinirtErrorInvalidValue, "flags is null");
  *flags = s.flags;
  return infinirtSuccess;
}

infinirtError_t StreamGetPriority(infinirtStream_t hStream, int* priority) {
  RESOLVE_STREAM(s, hStream);
  if (!priority) return fail(infinirtErrorInvalidValue, "priority is null");
  *priority = s.priority;
  return infinirtSuccess;
}

infinirtError_t StreamGetId(infinirtStream_t hStream, unsigned long long* streamId) {
  RESOLVE_STREAM(s, hStream);
  if (auto error = check_look(s, "asking for its id")) return error;
  if (!streamId) return fail(infinirtErrorInvalidValue, "streamId is null");
  *streamId = s.id;
  return infinirtSuccess;
}

infinirtError_t StreamGetDevice(infinirtStream_t hStream, int* device) {
  RESOLVE_STREAM(s, hStream);
  if (auto error = check_look(s, "asking for its device")) return error;
  if (!device) return fail(infinirtErrorInvalidValue, "device is null");
  *device = s.device->ordinal;
  return infinirtSuccess;
}

infinirtError_t StreamSetAttribute(infinirtStream_t stream, infinirtStreamAttrID attr,
                                   const infinirtStreamAttrValue* param) {
  RESOLVE_STREAM(s, stream);
  if (!param) return fail(infinirtErrorInvalidValue, "value is null");
  std::lock_guard guard(s.mutex);
  switch (attr) {
    case infinirtLaunchAttributePriority:
      s.priority = std::clamp(param->priority, 1 - kUrgencyLevels, 0);
      return infinirtSuccess;  // takes effect when the stream is next started; until then `urgency` is the scheduler's
    case infinirtLaunchAttributeSynchronizationPolicy:
      if (param->syncPolicy < infinirtSyncPolicyAuto || param->syncPolicy > infinirtSyncPolicyBlockingSync) {
        return fail(infinirtErrorInvalidValue, "syncPolicy %d is not one of infinirtSynchronizationPolicy",
                    static_cast<int>(param->syncPolicy));
      }
      s.attributes.sync_policy = param->syncPolicy;
      return infinirtSuccess;
    case infinirtLaunchAttributeAccessPolicyWindow:
      s.attributes.window = param->accessPolicyWindow;
      return infinirtSuccess;
    case infinirtLaunchAttributeMemSyncDomain:
      s.attributes.domain = param->memSyncDomain;
      return infinirtSuccess;
    case infinirtLaunchAttributeMemSyncDomainMap:
      s.attributes.domain_map = param->memSyncDomainMap;
      return infinirtSuccess;
    default:
      return fail(infinirtErrorInvalidValue, "attr %d is not an attribute of streams", static_cast<int>(attr));
  }
}

infinirtError_t StreamGetAttribute(infinirtStream_t stream, infinirtStreamAttrID attr, infinirtStreamAttrValue* value) {
  RESOLVE_STREAM(s, stream);
  if (!value) return fail(infinirtErrorInvalidValue, "value_out is null");
  std::lock_guard guard(s.mutex);
  std::memset(value, 0, sizeof *value);
  switch (attr) {
    case infinirtLaunchAttributePriority:
      value->priority = s.priority;
      return infinirtSuccess;
    case infinirtLaunchAttributeSynchronizationPolicy:
      value->syncPolicy = s.attributes.sync_policy;
      return infinirtSuccess;
    case infinirtLaunchAttributeAccessPolicyWindow:
      value->accessPolicyWindow = s.attributes.window;
      return infinirtSuccess;
    case infinirtLaunchAttributeMemSyncDomain:
      value->memSyncDomain = s.attributes.domain;
      return infinirtSuccess;
    case infinirtLaunchAttributeMemSyncDomainMap:
      value->memSyncDomainMap = s.attributes.domain_map;
      return infinirtSuccess;
    default:
      return fail(infinirtErrorInvalidValue, "attr %d is not an attribute of streams", static_cast<int>(attr));
  }
}

infinirtError_t StreamCopyAttributes(infinirtStream_t dst, infinirtStream_t src) {
  RESOLVE_STREAM(to, dst);
  RESOLVE_STREAM(from, src);
  if (&to == &from) return infinirtSuccess;
  if (to.device != from.device) {
    return fail(infinirtErrorInvalidValue, "dst is a stream of device %d, src of device %d; both must be of one device",
                to.device->ordinal, from.device->ordinal);
  }
  StreamAttributes copied;
  {
    std::lock_guard guard(from.mutex);
    copied = from.attributes;
  }
  std::lock_guard guard(to.mutex);
  to.attributes = copied;
  return infinirtSuccess;
}

}  // namespace engine_api

infinirtError_t engine_quiet_stream_query(infinirtStream_t stream) {
  RESOLVE_STREAM(s, stream);
  if (auto error = check_host_look(s, "querying it")) return error;
  return stream_is_done(s) ? infinirtSuccess : infinirtErrorNotReady;
}

infinirtError_t engine_stream_get_device(infinirtStream_t stream, int* device) {
  RESOLVE_STREAM(s, stream);
  *device = s.device->ordinal;
  return infinirtSuccess;
}

// infinirtXLaunchHostFunc for streams of engine-run backends.
infinirtError_t engine_launch_host_func(infinirtStream_t stream, infinirtHostFn_t fn, void* data,
                                        infinirtHostFn_t destroy) {
  return launch_host(stream, fn, data, destroy);
}

}  // namespace infinirt
