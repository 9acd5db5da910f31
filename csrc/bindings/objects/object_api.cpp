#include "bindings/object_api.h"

#include <memory>
#include <new>

#include "bindings/objects/cache.h"
#include "bindings/objects/deferred.h"
#include "bindings/objects/graph.h"
#include "bindings/objects/object_table.h"

namespace infinirt::objects {

namespace {

StreamObject* as_stream(PyObject* object) { return reinterpret_cast<StreamObject*>(object); }
BufferObject* as_buffer(PyObject* object) { return reinterpret_cast<BufferObject*>(object); }
CacheObject* as_cache(PyObject* object) { return reinterpret_cast<CacheObject*>(object); }

bool succeeded(infinirtError_t error) {
  if (error != infinirtSuccess) raise_error(error);
  return error == infinirtSuccess;
}

bool stream_handle(PyObject* stream, infinirtStream_t* handle) {
  *handle = as_stream(stream)->handle;
  return check_open(as_stream(stream));
}

bool stream_device(PyObject* stream, const char** type, int* ordinal) {
  const DeviceObject* device = as_stream(stream)->device ? as_stream(stream)->device : current_device();
  if (device == nullptr) return false;
  *type = device->type;
  *ordinal = device->ordinal;
  return true;
}

infinirtError_t on_device(PyObject* stream, infinirtError_t (*call)(void*), void* data) {
  if (as_stream(stream)->device == nullptr) return call(data);
  OnDevice guard(as_stream(stream)->device);
  return guard.error() ? guard.error() : call(data);
}

PyObject* allocate(PyObject* pool, size_t size, PyObject* stream) {
  drain_deferred();
  return allocate_from_cache(as_cache(pool), size, stream);
}

bool reserve_create(PyObject* pool, infinirtXCacheReserve_t* reserve) {
  return check_open(as_cache(pool)) && succeeded(infinirtXCacheReserveCreate(reserve, as_cache(pool)->handle));
}

PyObject* reserve_allocate(PyObject* pool, infinirtXCacheReserve_t reserve, size_t size, PyObject* stream) {
  drain_deferred();
  return allocate_from_reserve(as_cache(pool), reserve, size, stream);
}

struct Reserve {
  python::Ref pool, stream;
  infinirtXCacheReserve_t number;
};

Outcome destroy_reserve(void* data) {
  auto* reserve = static_cast<Reserve*>(data);
  auto* stream = as_stream(reserve->stream.get());
  if (is_in_host_function() || (!stream->closed.load() && is_in_capture(stream->handle))) return Outcome::NotNow;
  const infinirtError_t error = without_gil(true, [&] {
    const RelaxedCaptureScope relaxed(as_cache(reserve->pool.get())->device->type);
    OnDevice guard(as_cache(reserve->pool.get())->device);
    // A stream that was closed has been given all that it will ever be given.
    const infinirtStream_t order = stream->closed.load() ? infinirtStreamLegacy : stream->handle;
    return infinirtXCacheReserveDestroy(as_cache(reserve->pool.get())->handle, reserve->number, order);
  });
  if (error != infinirtSuccess) rt.GetLastError();
  delete reserve;
  return Outcome::Done;
}

void reserve_destroy(PyObject* pool, infinirtXCacheReserve_t reserve, PyObject* stream) {
  auto* data = new (std::nothrow) Reserve{python::Ref(Py_NewRef(pool)), python::Ref(Py_NewRef(stream)), reserve};
  if (data) do_or_defer(destroy_reserve, data);
}

bool buffer_memory(PyObject* buffer, void** pointer, size_t* size) {
  *pointer = as_buffer(buffer)->pointer;
  *size = as_buffer(buffer)->size;
  return check_open(as_buffer(buffer));
}

const ObjectApi table = {
    sizeof(ObjectApi),
    is_stream,
    [](PyObject* object) -> bool { return PyObject_TypeCheck(object, cache_class); },
    is_buffer,
    stream_handle,
    stream_device,
    [](PyObject* stream) -> bool { return as_stream(stream)->may_block; },
    on_device,
    allocate,
    reserve_create,
    reserve_allocate,
    reserve_destroy,
    embed_in_capture,
    destroy_graph_exec,
    buffer_memory,
    [](PyObject* buffer) { return host_address(as_buffer(buffer)); },
    [](PyObject* buffer, PyObject* stream) { return succeeded(note_use(as_buffer(buffer), as_stream(stream))); },
    [](PyObject* buffer) { return wait_for_work(as_buffer(buffer)); },
    [](PyObject* buffer, PyObject* stream) { return order_after_work(as_buffer(buffer), as_stream(stream)); },
    [](infinirtError_t error) { return raise_error(error); },
    [](infinirtError_t error, const char* message) { return raise_error(error, "%s", message); },
};

}  // namespace

PyObject* make_object_table() { return PyCapsule_New(const_cast<ObjectApi*>(&table), ObjectApi::kCapsule, nullptr); }

}  // namespace infinirt::objects
