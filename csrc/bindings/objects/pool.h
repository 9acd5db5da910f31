// Stream-ordered memory pools as Python objects.
#pragma once

#include "bindings/objects/arguments.h"
#include "bindings/objects/buffer.h"
#include "bindings/objects/deferred.h"

namespace infinirt::objects {

struct PoolObject {
  PyObject ob_base;
  infinirtMemPool_t handle;
  DeviceObject* device;   // borrowed
  std::atomic<bool> closed;
  bool owns;              // destroyed with the object
};

/// MemoryPool; registered by the Python side, a subclass of PoolBase.
extern PyTypeObject* pool_class;

PyTypeObject* make_pool_type();

/// Arguments of allocate(size, *, stream=None), into two places. False with an exception set.
bool read_allocation(PyObject* const* args, Py_ssize_t count, PyObject* names, PyObject** values);

/// deallocate(ptr, size, *, stream=None) of a resource in the order of streams: `free` is called with address and stream.
template <class Free>
PyObject* deallocate_in_order(DeviceObject* device, PyObject* const* args, Py_ssize_t count, PyObject* names,
                              Free free) {
  drain_deferred();
  static const Signature signature("deallocate", {"ptr", "size", "stream"}, 2);
  PyObject* values[3] = {nullptr, Py_None, Py_None};
  if (!signature.read(args, count, names, values)) return nullptr;
  void* pointer = nullptr;
  if (values[0] == nullptr) return PyErr_Format(PyExc_TypeError, "deallocate() needs an address");
  if (!read_pointer(values[0], "ptr", &pointer)) return nullptr;
  python::Ref reference(stream_from(values[2], device));
  if (!reference) return nullptr;
  auto* stream = reinterpret_cast<StreamObject*>(reference.get());
  return none_or_raise(without_gil(
      stream->may_block, [&] { return on_stream(stream, [&](infinirtStream_t s) { return free(pointer, s); }); }));
}

/// Allocates from what `device` has as its memory resource. The hot way for pools, a method call for the others.
PyObject* allocate_on_device(PyObject* device, PyObject* const* args, Py_ssize_t count, PyObject* names);

}  // namespace infinirt::objects
