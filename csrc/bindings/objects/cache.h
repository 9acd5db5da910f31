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
  std::atomic<bool> observed;                        // the observer is called with each Buffer that is allocated
};

/// CachingPool; registered by the Python side, a subclass of CacheBase.
extern PyTypeObject* cache_class;

PyTypeObject* make_cache_type();

/// Raises and returns false when the pool was closed.
bool check_open(const CacheObject* cache);

PyObject* allocate_from_cache(CacheObject* cache, PyObject* size, PyObject* stream);
PyObject* allocate_from_cache(CacheObject* cache, size_t size, PyObject* stream);
/// A Buffer whose memory only the reserve hands out again.
PyObject* allocate_from_reserve(CacheObject* cache, infinirtXCacheReserve_t reserve, size_t size, PyObject* stream);

/// cache_stats(handle): the counters of infinirtXCacheStats, in their order.
PyObject* cache_stats(PyObject*, PyObject* handle);
/// cache_blocks(handle): a list of (segment, its size, base, size, requested, state, is reserved, stream).
PyObject* cache_blocks(PyObject*, PyObject* handle);
/// set_allocation_observer(callable): what observed caches call with each Buffer; the first one stays.
PyObject* set_allocation_observer(PyObject*, PyObject* observer);
/// cache_trace_begin(handle, max_events), cache_trace_end(handle)
PyObject* cache_trace_begin(PyObject*, PyObject* args);
PyObject* cache_trace_end(PyObject*, PyObject* handle);
/// cache_trace_read(handle): ([(kind, address, size, stream, time)], lost); what was read is gone.
PyObject* cache_trace_read(PyObject*, PyObject* handle);
/// cache_set_limit(handle, bytes)
PyObject* cache_set_limit(PyObject*, PyObject* args);
/// cache_reset_peaks(handle)
PyObject* cache_reset_peaks(PyObject*, PyObject* handle);
/// create_cache(device, memory, max_size): a handle.
PyObject* create_cache(PyObject*, PyObject* args);

}  // namespace infinirt::objects
