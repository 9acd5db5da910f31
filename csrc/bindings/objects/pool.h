// Stream-ordered memory pools as Python objects.
#pragma once

#include "bindings/objects/buffer.h"

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

/// Allocates from what `device` has as its memory resource. The hot way for pools, a method call for the others.
PyObject* allocate_on_device(PyObject* device, PyObject* const* args, Py_ssize_t count, PyObject* names);

}  // namespace infinirt::objects
