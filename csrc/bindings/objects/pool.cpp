#include "bindings/objects/pool.h"

#include "bindings/objects/arguments.h"
#include "bindings/objects/cache.h"
#include "bindings/objects/capture.h"
#include "bindings/objects/deferred.h"

namespace infinirt::objects {

PyTypeObject* pool_class = nullptr;

namespace {

PoolObject* as_pool(PyObject* object) { return reinterpret_cast<PoolObject*>(object); }

Outcome destroy_handle(void* data) {
  if (is_in_host_function()) return Outcome::NotNow;
  const RelaxedCaptureScope relaxed(nullptr);
  return rt.MemPoolDestroy(static_cast<infinirtMemPool_t>(data)) == infinirtErrorNotPermitted ? Outcome::NotNow
                                                                                              : Outcome::Done;
}

bool check_open(const PoolObject* pool) {
  if (!pool->closed.load(std::memory_order_relaxed)) [[likely]]
    return true;
  raise_error(infinirtErrorInvalidResourceHandle, "the memory pool was closed; create another one");
  return false;
}

PyObject* allocate_from(PoolObject* pool, PyObject* size_object, PyObject* stream_object) {
  if (!check_open(pool)) return nullptr;
  size_t size = 0;
  if (!read_size(size_object, "size", &size)) return nullptr;
  python::Ref reference(stream_from(stream_object, pool->device));
  if (!reference) return nullptr;
  auto* stream = reinterpret_cast<StreamObject*>(reference.get());
  void* pointer = nullptr;
  unsigned long long capture = 0;
  infinirtError_t error = infinirtSuccess;
  if (size > 0) {
    error = without_gil(stream->may_block, [&] {
      return on_stream(stream, [&](infinirtStream_t s) {
        const infinirtError_t failed = rt.MallocFromPoolAsync(&pointer, size, pool->handle, s);
        if (failed == infinirtSuccess) capture = capture_state(s).id;
        return failed;
      });
    });
  }
  if (error != infinirtSuccess) return raise_error(error);
  BufferObject* buffer =
      new_buffer(pointer, size, pool->device, reinterpret_cast<PyObject*>(pool), reference.get(), nullptr);
  if (buffer == nullptr) {
    if (pointer) rt.FreeAsync(pointer, stream->handle);
    return nullptr;
  }
  buffer->from_pool = true;
  buffer->capture = capture;
  return reinterpret_cast<PyObject*>(buffer);
}

PyObject* allocate(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  drain_deferred();
  PyObject* values[2];
  return read_allocation(args, count, names, values) ? allocate_from(as_pool(self), values[0], values[1]) : nullptr;
}

PyObject* deallocate(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return deallocate_in_order(as_pool(self)->device, args, count, names,
                             [](void* pointer, infinirtStream_t s) { return rt.FreeAsync(pointer, s); });
}

PyObject* close(PyObject* self, PyObject*) {
  drain_deferred();
  auto* pool = as_pool(self);
  if (pool->owns) {
    if (!pool->closed.exchange(true)) do_or_defer(destroy_handle, pool->handle);
    Py_RETURN_NONE;
  }
  // Somebody else's pool is left alone, but the device's own cannot be meant to go: the runtime says so.
  return none_or_raise(without_gil(pool->device->may_block, [&] {
    OnDevice guard(pool->device);
    if (guard.error()) return guard.error();
    infinirtMemPool_t fixed = nullptr;
    const infinirtError_t error = rt.DeviceGetDefaultMemPool(&fixed, pool->device->ordinal);
    return error == infinirtSuccess && fixed == pool->handle ? rt.MemPoolDestroy(fixed) : error;
  }));
}

PyObject* get_handle(PyObject* self, void*) {
  return check_open(as_pool(self)) ? PyLong_FromVoidPtr(as_pool(self)->handle) : nullptr;
}
PyObject* get_device(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(as_pool(self)->device)); }
PyObject* get_closed(PyObject* self, void*) { return PyBool_FromLong(as_pool(self)->closed.load()); }

// _PoolBase(device, handle, owns): for the Python classes only.
PyObject* pool_new(PyTypeObject* type, PyObject* args, PyObject*) {
  if (PyTuple_GET_SIZE(args) != 3) {
    return PyErr_Format(PyExc_TypeError, "%.100s: a pool is made of (device, handle, owns)", type->tp_name);
  }
  DeviceObject* device = device_from(PyTuple_GET_ITEM(args, 0));
  void* handle = nullptr;
  if (device == nullptr || !read_pointer(PyTuple_GET_ITEM(args, 1), "handle", &handle)) return nullptr;
  PyObject* made = type->tp_alloc(type, 0);
  if (made == nullptr) return nullptr;
  as_pool(made)->device = device;
  as_pool(made)->handle = static_cast<infinirtMemPool_t>(handle);
  as_pool(made)->owns = PyObject_IsTrue(PyTuple_GET_ITEM(args, 2)) == 1;
  return made;
}

void dealloc(PyObject* self) {
  auto* pool = as_pool(self);
  if (pool->owns && !pool->closed.load()) {
    without_gil(pool->device->may_block, [&] { return do_or_defer(destroy_handle, pool->handle), 0; });
  }
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

#define KEYWORDS(function) \
  reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL | METH_KEYWORDS

PyMethodDef methods[] = {{"allocate", KEYWORDS(allocate),
                          "allocate($self, /, size, *, stream=None)\n--\n\nA Buffer of `size` bytes, allocated in the "
                          "order of `stream` (by default the\n"
                          "device's default stream): it may be used at once by work of that stream."},
                         {"deallocate", KEYWORDS(deallocate),
                          "deallocate($self, /, ptr, size, *, stream=None)\n--\n\nFrees memory by its address, in "
                          "stream order. Buffers do this themselves."},
                         {"close", close, METH_NOARGS,
                          "close($self, /)\n--\n\nGives the pool back; memory in use lives until it is freed. A "
                          "device's default pool\ncannot be given back: InvalidValueError."},
                         {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {{"handle", get_handle, nullptr, "The infinirtMemPool_t as an integer.", nullptr},
                            {"device", get_device, nullptr, "The device that the pool's memory belongs to.", nullptr},
                            {"is_closed", get_closed, nullptr, "Whether close() was called.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(pool_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_doc, const_cast<char*>("What memory pools are made of; use MemoryPool.")},
                       {0, nullptr}};

PyType_Spec spec = {"infinirt._core.PoolBase", sizeof(PoolObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

bool read_allocation(PyObject* const* args, Py_ssize_t count, PyObject* names, PyObject** values) {
  static const Signature signature("allocate", {"size", "stream"}, 1);
  values[0] = nullptr;
  values[1] = Py_None;
  if (!signature.read(args, count, names, values)) return false;
  if (values[0] == nullptr) PyErr_SetString(PyExc_TypeError, "allocate() needs a size");
  return values[0] != nullptr;
}

PyTypeObject* make_pool_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)); }

PyObject* allocate_on_device(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  drain_deferred();
  auto* device = reinterpret_cast<DeviceObject*>(self);
  PyObject* values[2];
  if (!read_allocation(args, count, names, values)) return nullptr;
  python::Ref resource(field_of(device, device->resource));
  if (!resource) resource = python::Ref(PyObject_GetAttrString(self, "memory_resource"));
  if (!resource) return nullptr;
  // A subclass may allocate in its own way.
  if (Py_TYPE(resource.get()) == pool_class) return allocate_from(as_pool(resource.get()), values[0], values[1]);
  if (Py_TYPE(resource.get()) == cache_class) {
    return allocate_from_cache(reinterpret_cast<CacheObject*>(resource.get()), values[0], values[1]);
  }
  python::Ref stream(stream_from(values[1], device));
  if (!stream) return nullptr;
  static PyObject* const method = PyUnicode_InternFromString("allocate");
  static PyObject* const stream_name = Py_BuildValue("(s)", "stream");
  PyObject* call[] = {resource.get(), values[0], stream.get()};
  return PyObject_VectorcallMethod(method, call, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, stream_name);
}

}  // namespace infinirt::objects
