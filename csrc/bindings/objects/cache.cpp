#include "bindings/objects/cache.h"

#include "bindings/objects/arguments.h"
#include "bindings/objects/callable.h"
#include "bindings/objects/capture.h"
#include "bindings/objects/deferred.h"
#include "bindings/objects/pool.h"

namespace infinirt::objects {

PyTypeObject* cache_class = nullptr;

namespace {

// Told of what observed caches allocate. Registered once, by the Python side, and never let go of.
PyObject* allocation_observer = nullptr;

CacheObject* as_cache(PyObject* object) { return reinterpret_cast<CacheObject*>(object); }

// Destroying waits for the device, where host functions may be waiting for the interpreter.
Outcome destroy_handle(void* data) {
  if (is_in_host_function()) return Outcome::NotNow;
  const auto handle = static_cast<infinirtXCache_t>(data);
  const infinirtError_t error = without_gil(true, [&] {
    const RelaxedCaptureScope relaxed(nullptr);
    return infinirtXCacheDestroy(handle);
  });
  const bool not_now = error == infinirtErrorNotPermitted || (error >= infinirtErrorStreamCaptureUnsupported &&
                                                              error <= infinirtErrorStreamCaptureWrongThread);
  if (not_now) rt.GetLastError();
  return not_now ? Outcome::NotNow : Outcome::Done;
}

}  // namespace

bool check_open(const CacheObject* cache) {
  if (!cache->closed.load(std::memory_order_relaxed)) [[likely]]
    return true;
  raise_error(infinirtErrorInvalidResourceHandle, "the caching pool was closed; create another one");
  return false;
}

namespace {

// The reserve that memory of graphs comes from: made on demand, once.
infinirtError_t reserve_for_graphs(CacheObject* cache, infinirtXCacheReserve_t* reserve) {
  *reserve = cache->for_graphs.load();
  if (*reserve != 0) return infinirtSuccess;
  infinirtXCacheReserve_t made = 0;
  if (auto error = infinirtXCacheReserveCreate(&made, cache->handle)) return error;
  if (cache->for_graphs.compare_exchange_strong(*reserve, made)) {
    *reserve = made;
    return infinirtSuccess;
  }
  return infinirtXCacheReserveDestroy(cache->handle, made, infinirtStreamLegacy);
}

// In a capture: the graph keeps the Buffer, and so its memory, as long as it lives.
infinirtError_t allocate_for_graph(CacheObject* cache, size_t size, infinirtStream_t stream, void** pointer) {
  for (;;) {
    infinirtXCacheReserve_t reserve = 0;
    if (auto error = reserve_for_graphs(cache, &reserve)) return error;
    const infinirtError_t error = infinirtXCacheReserveAllocate(pointer, size, cache->handle, reserve, stream);
    if (error != infinirtErrorInvalidValue || cache->for_graphs.load() == reserve) return error;
    rt.GetLastError();  // another thread let go of the reserve meanwhile
  }
}

// Outside of captures: blocks of graphs stay in use until the graphs are gone, and what is free of the reserve is for everybody.
void let_go_of_reserve(CacheObject* cache, infinirtStream_t stream) {
  if (cache->for_graphs.load(std::memory_order_relaxed) == 0) [[likely]]
    return;
  if (const infinirtXCacheReserve_t reserve = cache->for_graphs.exchange(0))
    infinirtXCacheReserveDestroy(cache->handle, reserve, stream);
}

PyObject* allocate(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  drain_deferred();
  PyObject* values[2];
  return read_allocation(args, count, names, values) ? allocate_from_cache(as_cache(self), values[0], values[1])
                                                     : nullptr;
}

PyObject* deallocate(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const infinirtXCache_t handle = as_cache(self)->handle;
  return deallocate_in_order(as_cache(self)->device, args, count, names, [handle](void* pointer, infinirtStream_t s) {
    return infinirtXCacheFree(pointer, handle, s);
  });
}

PyObject* trim(PyObject* self, PyObject* given) {
  drain_deferred();
  size_t keep = 0;
  if (!check_open(as_cache(self)) || !read_size(given, "keep", &keep)) return nullptr;
  return none_or_raise(without_gil(true, [&] {
    let_go_of_reserve(as_cache(self), infinirtStreamLegacy);
    return infinirtXCacheTrimTo(as_cache(self)->handle, keep);
  }));
}

// Memory in use refers to this object: the cache itself goes with the last of it.
PyObject* close(PyObject* self, PyObject*) {
  drain_deferred();
  as_cache(self)->closed.store(true);
  Py_RETURN_NONE;
}

PyObject* get_handle(PyObject* self, void*) {
  return check_open(as_cache(self)) ? PyLong_FromVoidPtr(as_cache(self)->handle) : nullptr;
}
PyObject* get_device(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(as_cache(self)->device)); }
PyObject* get_closed(PyObject* self, void*) { return PyBool_FromLong(as_cache(self)->closed.load()); }

// CacheBase(device, handle): for the Python classes only.
PyObject* cache_new(PyTypeObject* type, PyObject* args, PyObject*) {
  if (PyTuple_GET_SIZE(args) != 2) {
    return PyErr_Format(PyExc_TypeError, "%.100s: a cache is made of (device, handle)", type->tp_name);
  }
  DeviceObject* device = device_from(PyTuple_GET_ITEM(args, 0));
  void* handle = nullptr;
  if (device == nullptr || !read_pointer(PyTuple_GET_ITEM(args, 1), "handle", &handle)) return nullptr;
  PyObject* made = type->tp_alloc(type, 0);
  if (made == nullptr) return nullptr;
  as_cache(made)->device = device;
  as_cache(made)->handle = static_cast<infinirtXCache_t>(handle);
  return made;
}

PyObject* set_observed(PyObject* self, PyObject* given) {
  const int observed = PyObject_IsTrue(given);
  if (observed < 0) return nullptr;
  as_cache(self)->observed.store(observed != 0);
  Py_RETURN_NONE;
}

// The allocation has happened: a failing observer is reported, and changes nothing.
void tell_observer(PyObject* buffer) {
  if (allocation_observer == nullptr) return;
  python::Ref answer(PyObject_CallOneArg(allocation_observer, buffer));
  if (!answer) PyErr_WriteUnraisable(allocation_observer);
}

void dealloc(PyObject* self) {
  if (as_cache(self)->handle) let_go_of_reserve(as_cache(self), infinirtStreamLegacy);
  if (as_cache(self)->handle) do_or_defer(destroy_handle, as_cache(self)->handle);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// _allocate_reserved(size, stream, reserve): a Buffer of memory that nobody else gets before the reserve is destroyed.
PyObject* allocate_reserved(PyObject* self, PyObject* args) {
  drain_deferred();
  PyObject *given = nullptr, *stream = nullptr;
  unsigned long long reserve = 0;
  size_t size = 0;
  if (!PyArg_ParseTuple(args, "OOK", &given, &stream, &reserve) || !read_size(given, "size", &size)) return nullptr;
  return allocate_from_reserve(as_cache(self), reserve, size, stream);
}

PyObject* create_reserve(PyObject* self, PyObject*) {
  drain_deferred();
  infinirtXCacheReserve_t reserve = 0;
  if (!check_open(as_cache(self))) return nullptr;
  const infinirtError_t error = infinirtXCacheReserveCreate(&reserve, as_cache(self)->handle);
  return error == infinirtSuccess ? PyLong_FromUnsignedLongLong(reserve) : raise_error(error);
}

// _destroy_reserve(reserve, stream): also of a pool that was closed, whose memory it may be the last to hold.
PyObject* destroy_reserve(PyObject* self, PyObject* args) {
  unsigned long long reserve = 0;
  PyObject* given = nullptr;
  if (!PyArg_ParseTuple(args, "KO", &reserve, &given)) return nullptr;
  python::Ref reference(stream_from(given, as_cache(self)->device));
  if (!reference) return nullptr;
  auto* stream = reinterpret_cast<StreamObject*>(reference.get());
  return none_or_raise(without_gil(stream->may_block, [&] {
    return on_stream(
        stream, [&](infinirtStream_t s) { return infinirtXCacheReserveDestroy(as_cache(self)->handle, reserve, s); });
  }));
}

#define KEYWORDS(function) \
  reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL | METH_KEYWORDS

PyMethodDef methods[] = {{"allocate", KEYWORDS(allocate),
                          "allocate($self, /, size, *, stream=None)\n--\n\nA Buffer of `size` bytes that work of "
                          "`stream` (by default the device's default\nstream) may use at once. In a capture the graph "
                          "keeps the Buffer."},
                         {"deallocate", KEYWORDS(deallocate),
                          "deallocate($self, /, ptr, size, *, stream=None)\n--\n\nFrees memory by its address, in "
                          "stream order. Buffers do this themselves."},
                         {"_trim", trim, METH_O, nullptr},
                         {"_allocate_reserved", allocate_reserved, METH_VARARGS, nullptr},
                         {"_set_observed", set_observed, METH_O, nullptr},
                         {"_create_reserve", create_reserve, METH_NOARGS, nullptr},
                         {"_destroy_reserve", destroy_reserve, METH_VARARGS, nullptr},
                         {"close", close, METH_NOARGS,
                          "close($self, /)\n--\n\nGives the pool up. Its memory goes back to the device when the last "
                          "Buffer of it has gone, and the\npool with it."},
                         {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {{"handle", get_handle, nullptr, "The infinirtXCache_t as an integer.", nullptr},
                            {"device", get_device, nullptr, "The device that the pool's memory belongs to.", nullptr},
                            {"is_closed", get_closed, nullptr, "Whether close() was called.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(cache_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_doc, const_cast<char*>("What caching pools are made of; use CachingPool.")},
                       {0, nullptr}};

PyType_Spec spec = {"infinirt._core.CacheBase", sizeof(CacheObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                    slots};

}  // namespace

PyTypeObject* make_cache_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)); }

namespace {

// A Buffer of a block, which is freed if that fails.
PyObject* buffer_of_block(CacheObject* cache, void* pointer, size_t size, PyObject* stream) {
  BufferObject* buffer = new_buffer(pointer, size, cache->device, reinterpret_cast<PyObject*>(cache), stream, nullptr);
  if (buffer == nullptr) {
    if (pointer) infinirtXCacheFree(pointer, cache->handle, reinterpret_cast<StreamObject*>(stream)->handle);
    return nullptr;
  }
  buffer->cache = cache->handle;
  if (cache->observed.load(std::memory_order_relaxed)) [[unlikely]]
    tell_observer(reinterpret_cast<PyObject*>(buffer));
  return reinterpret_cast<PyObject*>(buffer);
}

}  // namespace

PyObject* allocate_from_cache(CacheObject* cache, PyObject* size_object, PyObject* stream_object) {
  size_t size = 0;
  if (!check_open(cache) || !read_size(size_object, "size", &size)) return nullptr;
  return allocate_from_cache(cache, size, stream_object);
}

PyObject* allocate_from_cache(CacheObject* cache, size_t size, PyObject* stream_object) {
  if (!check_open(cache)) return nullptr;
  python::Ref reference(stream_from(stream_object, cache->device));
  if (!reference) return nullptr;
  auto* stream = reinterpret_cast<StreamObject*>(reference.get());
  void* pointer = nullptr;
  bool for_graph = false;
  const infinirtError_t error = without_gil(stream->may_block, [&] {
    return on_stream(stream, [&](infinirtStream_t s) {
      const infinirtError_t plain = infinirtXCacheAllocate(&pointer, size, cache->handle, s);
      if (plain != infinirtErrorStreamCaptureUnsupported) [[likely]] {
        let_go_of_reserve(cache, s);
        return plain;
      }
      rt.GetLastError();
      for_graph = true;
      return allocate_for_graph(cache, size, s, &pointer);
    });
  });
  if (error != infinirtSuccess) return raise_error(error);
  PyObject* made = buffer_of_block(cache, pointer, size, reference.get());
  if (made == nullptr || !for_graph || !pointer) return made;
  auto* buffer = reinterpret_cast<BufferObject*>(made);
  buffer->stays_for_graph = true;
  if (auto kept = note_use(buffer, stream)) {
    Py_DECREF(made);
    return raise_error(kept);
  }
  return made;
}

PyObject* allocate_from_reserve(CacheObject* cache, infinirtXCacheReserve_t reserve, size_t size,
                                PyObject* stream_object) {
  if (!check_open(cache)) return nullptr;
  python::Ref reference(stream_from(stream_object, cache->device));
  if (!reference) return nullptr;
  auto* stream = reinterpret_cast<StreamObject*>(reference.get());
  void* pointer = nullptr;
  const infinirtError_t error = without_gil(stream->may_block, [&] {
    return on_stream(stream, [&](infinirtStream_t s) {
      return infinirtXCacheReserveAllocate(&pointer, size, cache->handle, reserve, s);
    });
  });
  if (error != infinirtSuccess) return raise_error(error);
  return buffer_of_block(cache, pointer, size, reference.get());
}

PyObject* create_cache(PyObject*, PyObject* args) {
  PyObject *given = nullptr, *limit = nullptr;
  int memory = 0;
  infinirtXCacheProps props{};
  props.structSize = sizeof props;
  if (!PyArg_ParseTuple(args, "OiO", &given, &memory, &limit) || !read_size(limit, "max_size", &props.maxSize))
    return nullptr;
  DeviceObject* device = device_from(given);
  if (device == nullptr) return nullptr;
  props.memory = static_cast<infinirtXCacheMemory>(memory);
  props.device = device->ordinal;
  infinirtXCache_t handle = nullptr;
  const infinirtError_t error = without_gil(true, [&] {
    OnDevice guard(device);
    return guard.error() ? guard.error() : infinirtXCacheCreate(&handle, &props);
  });
  return error == infinirtSuccess ? PyLong_FromVoidPtr(handle) : raise_error(error);
}

PyObject* cache_reset_peaks(PyObject*, PyObject* number) {
  void* handle = nullptr;
  if (!read_pointer(number, "handle", &handle)) return nullptr;
  return none_or_raise(infinirtXCacheResetPeaks(static_cast<infinirtXCache_t>(handle)));
}

PyObject* cache_stats(PyObject*, PyObject* number) {
  void* handle = nullptr;
  if (!read_pointer(number, "handle", &handle)) return nullptr;
  infinirtXCacheStats stats{};
  if (auto error =
          without_gil(true, [&] { return infinirtXCacheGetStats(&stats, static_cast<infinirtXCache_t>(handle)); }))
    return raise_error(error);
  return Py_BuildValue("(nnnnnnnnnKKKKK)", stats.reservedCurrent, stats.reservedHigh, stats.usedCurrent, stats.usedHigh,
                       stats.requestedCurrent, stats.segments, stats.liveBlocks, stats.pendingBlocks,
                       stats.largestFreeBlock, stats.allocations, stats.frees, stats.segmentsMapped,
                       stats.segmentsUnmapped, stats.outOfMemory);
}

PyObject* cache_set_limit(PyObject*, PyObject* args) {
  PyObject *number = nullptr, *limit = nullptr;
  void* handle = nullptr;
  size_t bytes = 0;
  if (!PyArg_ParseTuple(args, "OO", &number, &limit) || !read_pointer(number, "handle", &handle) ||
      !read_size(limit, "limit", &bytes))
    return nullptr;
  return none_or_raise(infinirtXCacheSetMaxSize(static_cast<infinirtXCache_t>(handle), bytes));
}

PyObject* cache_blocks(PyObject*, PyObject* number) {
  void* handle = nullptr;
  if (!read_pointer(number, "handle", &handle)) return nullptr;
  std::vector<infinirtXCacheBlock> blocks;
  try {
    for (size_t count = 0;;) {
      if (auto error = without_gil(true, [&] {
            return infinirtXCacheGetBlocks(blocks.data(), &count, static_cast<infinirtXCache_t>(handle));
          }))
        return raise_error(error);
      const bool complete = count <= blocks.size();
      blocks.resize(complete ? count : count + count / 8);  // others may allocate meanwhile
      if (complete) break;
      count = blocks.size();
    }
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  python::Ref list(PyList_New(static_cast<Py_ssize_t>(blocks.size())));
  if (!list) return nullptr;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const infinirtXCacheBlock& block = blocks[i];
    PyObject* row = Py_BuildValue("(KnKnniiK)", reinterpret_cast<unsigned long long>(block.segment), block.segmentSize,
                                  reinterpret_cast<unsigned long long>(block.base), block.size, block.requested,
                                  static_cast<int>(block.state), block.isReserved, block.stream);
    if (row == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), row);
  }
  return list.release();
}

PyObject* set_allocation_observer(PyObject*, PyObject* observer) {
  if (allocation_observer == nullptr) allocation_observer = Py_NewRef(observer);
  Py_RETURN_NONE;
}

PyObject* cache_trace_begin(PyObject*, PyObject* args) {
  PyObject *number = nullptr, *most = nullptr;
  void* handle = nullptr;
  size_t events = 0;
  if (!PyArg_ParseTuple(args, "OO", &number, &most) || !read_pointer(number, "handle", &handle) ||
      !read_size(most, "max_events", &events))
    return nullptr;
  return none_or_raise(infinirtXCacheTraceBegin(static_cast<infinirtXCache_t>(handle), events));
}

PyObject* cache_trace_end(PyObject*, PyObject* number) {
  void* handle = nullptr;
  if (!read_pointer(number, "handle", &handle)) return nullptr;
  return none_or_raise(infinirtXCacheTraceEnd(static_cast<infinirtXCache_t>(handle)));
}

PyObject* cache_trace_read(PyObject*, PyObject* number) {
  void* handle = nullptr;
  if (!read_pointer(number, "handle", &handle)) return nullptr;
  python::Ref list(PyList_New(0));
  if (!list) return nullptr;
  size_t lost = 0;
  for (;;) {
    infinirtXCacheEvent events[256];
    size_t count = 256;
    if (auto error = infinirtXCacheTraceRead(events, &count, &lost, static_cast<infinirtXCache_t>(handle)))
      return raise_error(error);
    for (size_t i = 0; i < count; ++i) {
      const infinirtXCacheEvent& event = events[i];
      python::Ref row(Py_BuildValue("(iKnKK)", static_cast<int>(event.kind),
                                    reinterpret_cast<unsigned long long>(event.ptr), event.size, event.stream,
                                    event.time));
      if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
    }
    if (count < 256) return Py_BuildValue("(Nn)", list.release(), lost);
  }
}

}  // namespace infinirt::objects
