#include "bindings/objects/buffer.h"

#include <structmember.h>
#include <cstddef>
#include <utility>

#include "bindings/objects/arguments.h"
#include "bindings/objects/callable.h"
#include "bindings/objects/capture.h"
#include "bindings/objects/deferred.h"
#include "bindings/objects/dlpack.h"
#include "bindings/objects/release.h"

namespace infinirt::objects {

PyTypeObject* buffer_class = nullptr;

namespace {

BufferObject* as_buffer(PyObject* object) { return reinterpret_cast<BufferObject*>(object); }

// Held for a few instructions, around the list of uses only.
class UsesLock {
 public:
  explicit UsesLock(BufferObject* buffer) : flag_(buffer->lock) {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~UsesLock() { flag_.clear(std::memory_order_release); }
  UsesLock(const UsesLock&) = delete;
  UsesLock& operator=(const UsesLock&) = delete;

 private:
  std::atomic_flag& flag_;
};

// The object among the other streams that stands for this one, a new reference; null: none does.
PyObject* known_use(BufferObject* buffer, const StreamObject* stream) {
  UsesLock guard(buffer);
  for (uint32_t i = 0; i < buffer->use_count; ++i) {
    if (is_same_stream(buffer->uses[i], stream)) return Py_NewRef(reinterpret_cast<PyObject*>(buffer->uses[i]));
  }
  return nullptr;
}

// Other threads cannot wait for a per-thread stream, so each use leaves its own mark.
infinirtError_t mark_use(StreamObject* stream) {
  OnDevice guard(stream->device);
  if (guard.error()) return guard.error();
  if (stream->end == nullptr) {
    if (infinirtError_t error = rt.EventCreateWithFlags(&stream->end, infinirtEventDisableTiming)) return error;
  }
  return rt.EventRecord(stream->end, stream->handle);
}

PyObject* close(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  auto* buffer = as_buffer(self);
  drain_deferred();
  PyObject* given[1] = {Py_None};
  static const Signature signature("close", {"stream"}, 1);
  if (!signature.read(args, count, names, given)) return nullptr;
  if (buffer->closed.load()) Py_RETURN_NONE;
  if (buffer->exports.load() > 0) {
    PyErr_SetString(
        PyExc_BufferError,
        "the buffer cannot be closed while views of it exist (memoryview, array, tensor) or are being worked "
        "on; delete them first");
    return nullptr;
  }
  python::Ref stream;
  if (given[0] != Py_None) {
    stream = python::Ref(stream_from(given[0], buffer->device));
    if (!stream) return nullptr;
    auto* other = reinterpret_cast<StreamObject*>(stream.get());
    if ((buffer->from_pool || buffer->cache) && other->device->type != buffer->device->type) {
      // It is waited for, but frees no memory of this type.
      CaptureState capture;
      if (const infinirtError_t error = look_at_capture(other, &capture)) return raise_error(error);
      if (capture.active) {
        return raise_error(infinirtErrorStreamCaptureUnsupported,
                           "the buffer is of another device type than the stream, which is being captured; close it "
                           "after the capture");
      }
      if (const infinirtError_t error = note_use(buffer, other)) return raise_error(error);
      stream = python::Ref();
    }
  }
  if (buffer->closed.exchange(true)) Py_RETURN_NONE;
  if (buffer->stays_for_graph) Py_RETURN_NONE;
  if (buffer->resource && buffer->pointer && !release_memory(buffer, reinterpret_cast<StreamObject*>(stream.get()))) {
    // Tried and failed is closed, too: the memory is not tried again behind the program's back, when the failure could not
    // be reported any more. Only what could not even be tried is still the buffer's.
    if (buffer->resource) buffer->closed.store(false);
    return nullptr;
  }
  if (!buffer->is_view) release_owner(buffer);  // a view goes on knowing what it is a part of
  Py_RETURN_NONE;
}

PyObject* record_stream(PyObject* self, PyObject* given) {
  auto* buffer = as_buffer(self);
  if (!check_open(buffer)) return nullptr;
  python::Ref stream(stream_from(given, buffer->device));
  if (!stream) return nullptr;
  return none_or_raise(note_use(buffer, reinterpret_cast<StreamObject*>(stream.get())));
}

PyObject* item(PyObject* self, PyObject* key) {
  auto* buffer = as_buffer(self);
  if (!check_open(buffer)) return nullptr;
  if (!PySlice_Check(key)) {
    PyErr_SetString(PyExc_TypeError, "a Buffer is sliced by bytes, buffer[start:stop]; copy_to() reads single values");
    return nullptr;
  }
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(key, &start, &stop, &step) < 0) return nullptr;
  const Py_ssize_t length = PySlice_AdjustIndices(static_cast<Py_ssize_t>(buffer->size), &start, &stop, step);
  if (step != 1) {
    PyErr_SetString(PyExc_ValueError, "a part of a Buffer must be contiguous: the step of a slice must be 1");
    return nullptr;
  }
  BufferObject* view =
      new_buffer(buffer->pointer + start, static_cast<size_t>(length), buffer->device, nullptr, nullptr, self);
  if (view == nullptr) return nullptr;
  view->is_view = true;
  view->read_only = buffer->read_only;
  return reinterpret_cast<PyObject*>(view);
}

Py_ssize_t length(PyObject* self) { return static_cast<Py_ssize_t>(as_buffer(self)->size); }

PyObject* get_size(PyObject* self, void*) { return PyLong_FromSize_t(as_buffer(self)->size); }
PyObject* get_pointer(PyObject* self, void*) {
  return check_open(as_buffer(self)) ? PyLong_FromVoidPtr(as_buffer(self)->pointer) : nullptr;
}
PyObject* get_device(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(as_buffer(self)->device)); }
PyObject* get_closed(PyObject* self, void*) { return PyBool_FromLong(as_buffer(self)->closed.load()); }
PyObject* get_read_only(PyObject* self, void*) { return PyBool_FromLong(as_buffer(self)->read_only); }

PyObject* none_for_null(PyObject* owned) { return owned ? owned : Py_NewRef(Py_None); }
PyObject* get_owner(PyObject* self, void*) { return none_for_null(field_of(self, as_buffer(self)->owner)); }
PyObject* get_resource(PyObject* self, void*) {
  BufferObject* buffer = whole(as_buffer(self));
  return none_for_null(field_of(buffer, buffer->resource));
}
PyObject* get_stream(PyObject* self, void*) {
  BufferObject* buffer = whole(as_buffer(self));
  return none_for_null(field_of(buffer, buffer->stream));
}

PyObject* get_host_accessible(PyObject* self, void*) {
  if (!check_open(as_buffer(self))) return nullptr;
  return PyBool_FromLong(as_buffer(self)->size == 0 || host_address(as_buffer(self)) != nullptr);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* buffer = as_buffer(self);
  Py_VISIT(buffer->resource);
  Py_VISIT(buffer->stream);
  Py_VISIT(buffer->owner);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

// The memory needs its resource and stream to be freed, so a cycle is broken at the owner only.
int clear(PyObject* self) {
  if (!as_buffer(self)->is_view) release_owner(as_buffer(self));
  return 0;
}

// The memory goes back while everything that is needed for it is intact: when a cycle is collected, the resource's own
// attributes may be gone by the time of dealloc().
void finalize(PyObject* self) {
  auto* buffer = as_buffer(self);
  if (!buffer->resource || !buffer->pointer) return;
  if (!buffer->closed.exchange(true) || buffer->stays_for_graph) release_memory_at_end(buffer);
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto* buffer = as_buffer(self);
  if (buffer->weak_references) PyObject_ClearWeakRefs(self);
  finalize(self);
  if (!buffer->is_view) release_owner(buffer);
  for (uint32_t i = 0; i < buffer->use_count; ++i) Py_DECREF(buffer->uses[i]);
  if (buffer->uses) PyMem_Free(buffer->uses);
  Py_XDECREF(buffer->resource);
  Py_XDECREF(buffer->stream);
  Py_XDECREF(buffer->owner);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* forbidden_new(PyTypeObject* type, PyObject*, PyObject*) {
  return PyErr_Format(PyExc_TypeError, "%.100s objects are made by allocate(), Buffer.from_handle() and from_dlpack()",
                      type->tp_name);
}

#define KEYWORDS(function) \
  reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL | METH_KEYWORDS

PyMethodDef methods[] = {
    {"copy_to", KEYWORDS(buffer_copy_to),
     "copy_to($self, /, dst=None, *, stream=None)\n--\n\nCopies all bytes to `dst`, in stream order, and returns "
     "`dst`.\n\n"
     "`dst` is a Buffer or a writable object with the buffer protocol (NumPy array, bytearray), of the same size; "
     "without\n"
     "one a Buffer is allocated from the same memory resource. `stream` defaults to the buffer's own."},
    {"copy_from", KEYWORDS(buffer_copy_from),
     "copy_from($self, /, src, *, stream=None)\n--\n\nCopies all bytes of `src` here, in stream order. `src` is a "
     "Buffer or an\n"
     "object with the buffer protocol (NumPy array, bytes), of the same size."},
    {"fill", KEYWORDS(buffer_fill),
     "fill($self, /, value, *, stream=None)\n--\n\nFills the memory, in stream order, with a byte (0 to 255) or with "
     "repetitions of\n"
     "the bytes of an object with the buffer protocol, whose size must divide the buffer's."},
    {"close", KEYWORDS(close),
     "close($self, /, stream=None)\n--\n\nFrees the memory in stream order: after all work of our API that used it, "
     "and after what\n"
     "`stream` has been given so far. Closing twice does nothing.\n\n"
     "If freeing fails, the error is raised and the buffer counts as closed: it is not tried again. Where nothing can "
     "be\n"
     "freed at the moment (in a host function, or on a stream that is being captured) the buffer stays open."},
    {"record_stream", record_stream, METH_O,
     "record_stream($self, stream, /)\n--\n\nSays that work on `stream` uses the memory, through its address: it is "
     "freed after what\n"
     "that stream has been given by then."},
    {"__dlpack__", KEYWORDS(buffer_dlpack),
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nThe DLPack protocol: "
     "one dimension of\n"
     "bytes, without a copy. Memory that the host reads is handed out when its pending work is done; of other memory "
     "the\n"
     "consumer's stream waits for it: None and 1 are the legacy stream, 2 the per-thread one, -1 asks for no order."},
    {"__dlpack_device__", buffer_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\nThe DLPack device: (type, number). Memory that the host reads in place is (1, "
     "0); of an "
     "NVIDIA\n"
     "device it is (3, 0) if it is page-locked and (13, number) if it is managed."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {
    {"size", get_size, nullptr, "The number of bytes.", nullptr},
    {"ptr", get_pointer, nullptr, "The address.", nullptr},
    {"handle", get_pointer, nullptr, "The address, under the name that cuda.core gives it.", nullptr},
    {"device", get_device, nullptr, "The device that the memory belongs to.", nullptr},
    {"owner", get_owner, nullptr, "The object that owns the memory, when it is not this one.", nullptr},
    {"memory_resource", get_resource, nullptr,
     "What the memory came from and goes back to; None when it is not ours to free.", nullptr},
    {"stream", get_stream, nullptr, "The stream in whose order the memory is allocated and freed, or None.", nullptr},
    {"is_closed", get_closed, nullptr, "Whether close() was called.", nullptr},
    {"is_read_only", get_read_only, nullptr, "Whether the memory may not be written: it came from a read-only object.",
     nullptr},
    {"is_host_accessible", get_host_accessible, nullptr, "Whether the host can read and write the memory in place.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(BufferObject, weak_references), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(forbidden_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_finalize, reinterpret_cast<void*>(finalize)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_mp_length, reinterpret_cast<void*>(length)},
                       {Py_mp_subscript, reinterpret_cast<void*>(item)},
                       {Py_bf_getbuffer, reinterpret_cast<void*>(buffer_get_view)},
                       {Py_bf_releasebuffer, reinterpret_cast<void*>(buffer_release_view)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_members, members},
                       {Py_tp_doc, const_cast<char*>("What buffers are made of; use Buffer.")},
                       {0, nullptr}};

PyType_Spec spec = {"infinirt._core.BufferBase", sizeof(BufferObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

PyTypeObject* make_buffer_type() {
  python::Ref type(PyType_FromSpec(&spec)), exchange(dlpack::make_exchange_capsule());
  if (!type || !exchange) return nullptr;
  if (PyObject_SetAttrString(type.get(), "__dlpack_c_exchange_api__", exchange.get()) < 0) return nullptr;
  return reinterpret_cast<PyTypeObject*>(type.release());
}

BufferObject* new_buffer(void* pointer, size_t size, DeviceObject* device, PyObject* resource, PyObject* stream,
                         PyObject* owner) {
  auto* buffer = reinterpret_cast<BufferObject*>(buffer_class->tp_alloc(buffer_class, 0));
  if (buffer == nullptr) return nullptr;
  buffer->pointer = static_cast<char*>(pointer);
  buffer->size = size;
  buffer->device = device;
  buffer->resource = Py_XNewRef(resource);
  buffer->stream = Py_XNewRef(stream);
  if (stream) reinterpret_cast<StreamObject*>(stream)->outlives.store(true, std::memory_order_relaxed);
  buffer->owner = Py_XNewRef(owner);
  return buffer;
}

bool check_open(const BufferObject* buffer) {
  const bool closed =
      buffer->closed.load(std::memory_order_relaxed) ||
      (buffer->is_view && whole(const_cast<BufferObject*>(buffer))->closed.load(std::memory_order_relaxed));
  if (!closed) [[likely]]
    return true;
  raise_error(infinirtErrorInvalidValue, "the buffer was closed, its memory is gone; allocate another one");
  return false;
}

infinirtError_t note_use(BufferObject* buffer, StreamObject* stream) {
  CaptureState capture;
  if (const infinirtError_t error = look_at_capture(stream, &capture)) return error;
  return note_use(buffer, stream, capture);
}

infinirtError_t note_use(BufferObject* given, StreamObject* stream, const CaptureState& capture) {
  BufferObject* buffer = whole(given);
  if (capture.active && buffer->capture != capture.id) {
    buffer->in_graphs.store(true, std::memory_order_relaxed);
    return graph_keeps(capture.graph, Py_NewRef(reinterpret_cast<PyObject*>(buffer)), drop_object);
  }
  python::Ref known(field_of(buffer, buffer->stream));
  if (!known || !is_same_stream(reinterpret_cast<StreamObject*>(known.get()), stream))
    known = python::Ref(known_use(buffer, stream));
  if (!known) {
    if (!add_stream(buffer, stream)) return infinirtErrorMemoryAllocation;
    known = python::Ref(Py_NewRef(reinterpret_cast<PyObject*>(stream)));
  }
  auto* noted = reinterpret_cast<StreamObject*>(known.get());
  return is_per_thread(noted) ? mark_use(noted) : infinirtSuccess;
}

bool add_stream(BufferObject* buffer, StreamObject* stream) {
  UsesLock guard(buffer);
  if (buffer->use_count == buffer->use_capacity) {
    const uint32_t capacity = buffer->use_capacity ? buffer->use_capacity * 2 : 2;
    auto* grown = static_cast<StreamObject**>(PyMem_Realloc(buffer->uses, capacity * sizeof(StreamObject*)));
    if (grown == nullptr) return false;
    buffer->uses = grown;
    buffer->use_capacity = capacity;
  }
  Py_INCREF(stream);
  buffer->uses[buffer->use_count++] = stream;
  stream->outlives.store(true, std::memory_order_relaxed);
  return true;
}

std::vector<python::Ref> other_streams(BufferObject* buffer, bool take) {
  std::vector<python::Ref> streams;
  UsesLock guard(buffer);
  for (uint32_t i = 0; i < buffer->use_count; ++i) {
    auto* stream = reinterpret_cast<PyObject*>(buffer->uses[i]);
    streams.emplace_back(take ? stream : Py_NewRef(stream));
  }
  if (take) buffer->use_count = 0;
  return streams;
}

PyObject* stream_for(BufferObject* given, PyObject* stream) {
  if (stream != Py_None) return stream_from(stream, given->device);
  BufferObject* buffer = whole(given);
  python::Ref own(field_of(buffer, buffer->stream));
  if (own && !is_out_of_reach(reinterpret_cast<StreamObject*>(own.get()))) return own.release();
  return Py_XNewRef(default_stream(buffer->device));
}

}  // namespace infinirt::objects
