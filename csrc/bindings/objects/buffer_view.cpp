// Buffers as seen by the host: the buffer protocol, and waiting for pending work before anybody looks.
#include <vector>

#include "bindings/objects/buffer.h"
#include "bindings/objects/deferred.h"
#include "infinirt_observe.h"

namespace infinirt::objects {

namespace {

// Waits for one stream without touching the interpreter. A closed stream is waited for by its end.
infinirtError_t wait_for(StreamObject* stream) {
  if (is_out_of_reach(stream)) return stream->end ? rt.EventSynchronize(stream->end) : infinirtSuccess;
  return on_stream(stream, [](infinirtStream_t s) { return rt.StreamSynchronize(s); });
}

// NotReady where nobody should ask. An asynchronous error is reported once, so it must be taken here.
infinirtError_t look_at(StreamObject* stream) {
  if (stream->may_block.how != MayBlock::Never || is_out_of_reach(stream)) return infinirtErrorNotReady;
  return on_stream(stream, [](infinirtStream_t s) { return rt.StreamQuery(s); });
}

bool captured(const StreamObject* stream) {
  return !is_out_of_reach(stream) && on_stream(stream, [](infinirtStream_t s) {
                                       return is_in_capture(s) ? infinirtErrorNotReady : infinirtSuccess;
                                     }) != infinirtSuccess;
}

// Graph launches are not noted per buffer, so memory that graphs use waits for the devices of its type.
infinirtError_t wait_for_devices(const DeviceObject* device) {
  OnDevice guard(device);
  if (guard.error()) return guard.error();
  int count = 0;
  infinirtError_t error = rt.GetDeviceCount(&count);
  for (int i = 0; i < count && error == infinirtSuccess; ++i) {
    if ((error = rt.SetDevice(i)) == infinirtSuccess) error = rt.DeviceSynchronize();
  }
  rt.SetDevice(device->ordinal);
  return error;
}

}  // namespace

bool wait_for_work(BufferObject* given) {
  BufferObject* buffer = whole(given);
  std::vector<python::Ref> streams = other_streams(buffer, false);
  if (PyObject* own = field_of(buffer, buffer->stream)) streams.emplace_back(own);
  bool all_quiet = !buffer->in_graphs.load();
  for (const auto& reference : streams) {
    auto* stream = reinterpret_cast<StreamObject*>(reference.get());
    if (captured(stream)) {
      PyErr_SetString(PyExc_BufferError,
                      "the memory cannot be read by the host while a stream that uses it is being captured, or from a "
                      "host function");
      return false;
    }
    if (!all_quiet) continue;
    const infinirtError_t looked = look_at(stream);
    if (looked != infinirtSuccess && looked != infinirtErrorNotReady) {
      raise_error_as("infinirtStreamSynchronize", looked);
      return false;
    }
    all_quiet = looked == infinirtSuccess;
  }
  if (all_quiet) return true;
  const infinirtError_t error = without_gil(true, [&] {
    infinirtError_t failed = buffer->in_graphs.load() ? wait_for_devices(buffer->device) : infinirtSuccess;
    for (const auto& reference : streams) {
      if (failed == infinirtSuccess) failed = wait_for(reinterpret_cast<StreamObject*>(reference.get()));
    }
    return failed;
  });
  if (error == infinirtSuccess) return true;
  raise_error(error);
  return false;
}

infinirtError_t attributes_of(const void* pointer, const DeviceObject* device, infinirtPointerAttributes* attributes) {
  if (device == nullptr) return rt.PointerGetAttributes(attributes, pointer);
  const OnDevice guard(device);
  return guard.error() ? guard.error() : rt.PointerGetAttributes(attributes, pointer);
}

bool is_unregistered(const void* pointer, const DeviceObject* device) {
  infinirtPointerAttributes attributes{};
  return attributes_of(pointer, device, &attributes) == infinirtSuccess &&
         attributes.type == infinirtMemoryTypeUnregistered;
}

void* host_address(const BufferObject* buffer) {
  infinirtPointerAttributes attributes{};
  if (attributes_of(buffer->pointer, buffer->device, &attributes) != infinirtSuccess) return nullptr;
  if (attributes.type == infinirtMemoryTypeUnregistered) return buffer->pointer;
  if (attributes.type == infinirtMemoryTypeHost || attributes.type == infinirtMemoryTypeManaged) {
    return attributes.hostPointer ? attributes.hostPointer : buffer->pointer;
  }
  // Device memory can be read in place where its address is the host's own; isolated memory has an alias, which is not for
  // programs.
  if (buffer->device->is_accelerator) return nullptr;
  void* host = nullptr;
  return infinirtXGetHostAddress(&host, buffer->pointer) == infinirtSuccess && host == buffer->pointer ? host : nullptr;
}

int buffer_get_view(PyObject* self, Py_buffer* view, int flags) {
  auto* buffer = reinterpret_cast<BufferObject*>(self);
  view->obj = nullptr;
  if (!check_open(buffer)) return -1;
  static char nothing;
  void* address = buffer->size ? host_address(buffer) : &nothing;
  if (address == nullptr) {
    PyErr_Format(
        PyExc_BufferError,
        "memory of %s:%d cannot be reached by the host; copy it: buffer.copy_to(array), or allocate from a PinnedPool",
        buffer->device->type, buffer->device->ordinal);
    return -1;
  }
  if (!wait_for_work(buffer)) return -1;
  if (PyBuffer_FillInfo(view, self, address, static_cast<Py_ssize_t>(buffer->size), buffer->read_only, flags) < 0)
    return -1;
  if (infinirtXObserved()) infinirtXShareMemory(buffer->pointer, buffer->size);
  whole(buffer)->exports.fetch_add(1);
  return 0;
}

void buffer_release_view(PyObject* self, Py_buffer*) {
  whole(reinterpret_cast<BufferObject*>(self))->exports.fetch_sub(1);
}

}  // namespace infinirt::objects
