// Memory as Python objects: a range of bytes, who frees it, and which streams use it.
#pragma once

#include <vector>

#include "bindings/objects/capture.h"

namespace infinirt::objects {

struct BufferObject {
  PyObject ob_base;
  char* pointer;
  size_t size;
  DeviceObject* device;          // borrowed
  PyObject* resource;            // frees the memory; null: somebody else does
  PyObject* stream;              // in whose order the memory was allocated and is freed; null when there is no order
  PyObject* owner;               // kept alive; of a view, the Buffer it is a part of
  StreamObject** uses;           // other streams that our API used it on, each once; guarded by `lock`
  uint32_t use_count;
  uint32_t use_capacity;
  unsigned long long capture;    // the capture whose graph owns the memory; 0: none does
  std::atomic<int> exports;      // views of the memory that NumPy and others hold
  std::atomic_flag lock;
  std::atomic<bool> closed;
  std::atomic<bool> in_graphs;   // recorded into a graph at least once
  bool is_view;
  bool from_pool;                // freed by infinirtFreeAsync, without asking `resource`
  infinirtXCache_t cache;        // freed by infinirtXCacheFree, likewise; null: not of a cache
  bool
      stays_for_graph;  // of a cache, allocated in a capture: goes with the object, which the graph keeps, not with close()
  bool read_only;
  PyObject* weak_references;
};

extern PyTypeObject* buffer_class;

PyTypeObject* make_buffer_type();

inline bool is_buffer(PyObject* object) { return PyObject_TypeCheck(object, buffer_class); }

/// A new Buffer. Any of `resource`, `stream`, `owner` may be null; references are taken.
BufferObject* new_buffer(void* pointer, size_t size, DeviceObject* device, PyObject* resource, PyObject* stream,
                         PyObject* owner);

/// Raises and returns false when the buffer was closed.
bool check_open(const BufferObject* buffer);

/// The other streams that use the buffer, as owned references; with `take` the buffer forgets them.
std::vector<python::Ref> other_streams(BufferObject* buffer, bool take);
/// Adds a stream to them. False when there is no memory for it.
bool add_stream(BufferObject* buffer, StreamObject* stream);

/// Work on `stream` uses the buffer: it is freed after that work, or kept alive by the graph that records it.
infinirtError_t note_use(BufferObject* buffer, StreamObject* stream);
/// The same for one of several buffers, when the stream has been looked at.
infinirtError_t note_use(BufferObject* buffer, StreamObject* stream, const CaptureState& capture);

/// The stream that work on the buffer goes to when none is named: the buffer's own, else its device's default stream. A new
/// reference, or null with an exception.
PyObject* stream_for(BufferObject* buffer, PyObject* given);

/// Waits until everything that our API enqueued on the memory is done. False with an exception set.
bool wait_for_work(BufferObject* buffer);

/// Makes work that `target` is given from now on wait for the same, without making the host wait. False with an exception set.
bool order_after_work(BufferObject* buffer, StreamObject* target);

/// Where the host can reach the memory; null when it cannot.
void* host_address(const BufferObject* buffer);

/// What is known of an address, asked on a device (null: the current one): whose it is does not depend on that, but a thread that has
/// chosen no device would otherwise look for one, and start a driver.
infinirtError_t attributes_of(const void* pointer, const DeviceObject* device, infinirtPointerAttributes* attributes);
/// Plain host memory, which may be pageable.
bool is_unregistered(const void* pointer, const DeviceObject* device);

/// The Buffer that owns the memory: the buffer itself, or what it is a view of.
inline BufferObject* whole(BufferObject* buffer) {
  while (buffer->is_view) buffer = reinterpret_cast<BufferObject*>(buffer->owner);
  return buffer;
}

// The parts of the type that stand in files of their own.
int buffer_get_view(PyObject* self, Py_buffer* view, int flags);
void buffer_release_view(PyObject* self, Py_buffer* view);
PyObject* buffer_copy_to(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names);
PyObject* buffer_copy_from(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names);
PyObject* buffer_fill(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names);
PyObject* buffer_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names);
PyObject* buffer_dlpack_device(PyObject* self, PyObject*);

/// order_after(stream, buffer): the stream, by default the buffer's own, after the buffer's pending work.
PyObject* order_after(PyObject*, PyObject* args);

}  // namespace infinirt::objects
