// Caches of memory as Python objects.
#pragma once

#include "bindings/objects/buffer.h"

namespace infinirt::objects {

struct CacheObject {
  PyObject ob_base;
  infinirtXCache_t handle;
  DeviceObject* device;                              // borrowed
  std::atomic<infinirtXCacheReserve_t> for_graphs;   // of what captures allocate; 0: none did
  std::atomic<bool> closed;
};

/// CachingPool; registered by the Python side, a subclass of CacheBase.
extern PyTypeObject* cache_class;

PyTypeObject* make_cache_type();

PyObject* allocate_from_cache(CacheObject* cache, PyObject* size, PyObject* stream);

/// cache_stats(handle): the counters of infinirtXCacheStats, in their order.
PyObject* cache_stats(PyObject*, PyObject* handle);
/// cache_reset_peaks(handle)
PyObject* cache_reset_peaks(PyObject*, PyObject* handle);
/// create_cache(device, memory, max_size): a handle.
PyObject* create_cache(PyObject*, PyObject* args);

}  // namespace infinirt::objects
