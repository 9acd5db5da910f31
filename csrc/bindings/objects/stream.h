// Streams as Python objects.
#pragma once

#include "bindings/objects/device.h"

namespace infinirt::objects {

struct StreamObject {
  PyObject ob_base;
  infinirtStream_t handle;
  DeviceObject* device;  // borrowed (devices live for ever); null: a default stream of whichever device is current
  PyObject* owner;  // whose stream this is; null when it is ours or nobody's
  std::atomic<bool> closed;
  std::atomic<bool> outlives;  // memory of other streams was used here: whoever frees it must still find our end
  // For them: recorded at close(), and on a per-thread stream, which other threads cannot name, at every such use. Null
  // when nobody needs it.
  infinirtEvent_t end;
  uint64_t thread;  // of a per-thread stream: whose it is
  bool owns;  // destroyed with the object
  bool is_default;  // handle 1 or 2: its meaning depends on the current device
  MayBlock may_block;  // see DeviceObject
  PyObject* weak_references;
};

extern PyTypeObject* stream_class;

PyTypeObject* make_stream_type();

inline bool is_stream(PyObject* object) { return PyObject_TypeCheck(object, stream_class); }

/// A new Stream around a handle. `owner` (may be null) is kept alive.
PyObject* new_stream(infinirtStream_t handle, DeviceObject* device, PyObject* owner, bool owns);

/// A Stream for whatever was given where a stream is expected: a Stream, an object with __cuda_stream__, or None for the
/// default stream of `device` (null: of the current device). A new reference, or null with an exception. The stream is open,
/// has a device and, if it is a per-thread one, belongs to this thread.
PyObject* stream_from(PyObject* given, DeviceObject* device);

inline bool is_per_thread(const StreamObject* stream) { return reinterpret_cast<uintptr_t>(stream->handle) == 2; }

/// A number that no other thread of the process has or will have.
uint64_t this_thread();

/// Whether this thread cannot give the stream work any more: it was closed, or is another thread's own.
inline bool is_out_of_reach(const StreamObject* stream) {
  return stream->closed.load(std::memory_order_relaxed) || (is_per_thread(stream) && stream->thread != this_thread());
}

/// Whether two objects stand for the same stream.
inline bool is_same_stream(const StreamObject* a, const StreamObject* b) {
  return a == b || (a->handle == b->handle && a->device == b->device && a->thread == b->thread && !a->closed.load() &&
                    !b->closed.load());
}

/// Raises and returns false when the stream was closed.
bool check_open(const StreamObject* stream);

/// Calls `call(handle)` with the stream's device current where the handle's meaning depends on it.
template <class Call>
infinirtError_t on_stream(const StreamObject* stream, Call call) {
  if (!stream->is_default || stream->device == nullptr) return call(stream->handle);
  OnDevice guard(stream->device);
  return guard.error() ? guard.error() : call(stream->handle);
}

/// Makes `target` wait for what `other` has been given so far; for a stream that is out of reach, for its end. Needs no
/// interpreter.
infinirtError_t join(infinirtStream_t target, const StreamObject* other);

/// True when somebody set a release threshold, so that synchronising with an idle stream has something to give back.
extern std::atomic<bool> pools_release_on_sync;

}  // namespace infinirt::objects
