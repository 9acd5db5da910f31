// Places: where work happens. A device, a stream, the pool that memory comes from, and the operators' handle.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_set>

#include "bindings/infinicore/library.h"

namespace infinicore {

class DescriptorCache;
class Recording;

struct PlaceObject {
  PyObject ob_base;
  uint64_t number;   // that no other place of the process has had
  PyObject* device;  // as the Python side knows it
  PyObject* stream;  // infinirt.Stream
  PyObject* pool;    // infinirt.CachingPool
  infinirtStream_t stream_handle;
  bool
      needs_device;  // current on the thread for calls on the stream: it is a predefined one, or there are several devices
  bool is_host;  // "cpu": memory of NumPy and others is its own
  infiniopHandle_t handle;
  std::shared_ptr<void>* handle_life;  // whoever uses the handle without the interpreter's lock holds it; null: closed
  DescriptorCache* descriptors;
  std::unordered_set<infinirtXCacheReserve_t>*
      shared_reserves;  // of recordings, with memory that others use in place; or null
  std::unordered_set<infinirtXCacheReserve_t>*
      waiting_reserves;  // of recordings whose graph has not run: what lies there has no values yet; or null
  unsigned long long shares;  // how often memory was given to others in place; graphs look again when it has changed
  Recording* recordings;  // what threads record here, one after another in a list; under the interpreter's lock
  std::atomic<bool> closed;
  PyObject* weak_references;
};

extern PyTypeObject* place_class;
PyTypeObject* make_place_type();

inline bool is_place(PyObject* object) { return PyObject_TypeCheck(object, place_class); }

/// Raises and returns false when the place was closed.
bool check_open(const PlaceObject* place);

/// A Buffer of `size` bytes, while this thread records from the recording's reserve: a new reference, or null with an exception.
PyObject* allocate(PlaceObject* place, size_t size);

/// The thread's current place, or the default one: a new reference, or null with an exception.
PlaceObject* current_place();

/// set_current(place_or_none), current(), set_default(function); end with an empty entry.
extern PyMethodDef place_functions[];

}  // namespace infinicore
