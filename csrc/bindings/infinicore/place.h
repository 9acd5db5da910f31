// Places: where work happens. A device, a stream, the pool that memory comes from, and the operators' handle.
#pragma once

#include <atomic>
#include <cstdint>

#include "bindings/infinicore/library.h"

namespace infinicore {

struct PlaceObject {
  PyObject ob_base;
  PyObject* device;  // as the Python side knows it
  PyObject* stream;  // infinirt.Stream
  PyObject* pool;    // infinirt.CachingPool
  infinirtStream_t stream_handle;
  bool stream_is_predefined;  // its meaning depends on the thread's current device
  bool is_host;               // "cpu": memory of NumPy and others is its own
  infiniopHandle_t handle;
  std::atomic<bool> closed;
  PyObject* weak_references;
};

extern PyTypeObject* place_class;
PyTypeObject* make_place_type();

inline bool is_place(PyObject* object) { return PyObject_TypeCheck(object, place_class); }

/// Raises and returns false when the place was closed.
bool check_open(const PlaceObject* place);

/// A Buffer of `size` bytes: a new reference, or null with an exception.
PyObject* allocate(PlaceObject* place, size_t size);

/// The thread's current place, or the default one: a new reference, or null with an exception.
PlaceObject* current_place();

/// set_current(place_or_none), current(), set_default(function); end with an empty entry.
extern PyMethodDef place_functions[];

}  // namespace infinicore
