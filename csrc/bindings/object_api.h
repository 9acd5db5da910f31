// What another extension module needs of infinirt's objects, as a table of C functions: `infinirt._core.object_api`, a capsule.
//
// The structures behind Stream, Buffer and CachingPool stay in csrc/bindings/objects; whoever builds on them reads this table once,
// at import. All functions need the interpreter's lock; those that return a bool or an object set an exception when they fail.
#pragma once

#include "bindings/python.h"
#include "infinirt_ext.h"

namespace infinirt {

struct ObjectApi {
  static constexpr const char* kCapsule = "infinirt._core.object_api";

  size_t struct_size;

  bool (*is_stream)(PyObject* object);
  bool (*is_caching_pool)(PyObject* object);
  bool (*is_buffer)(PyObject* object);

  /// The handle of an open stream.
  bool (*stream_handle)(PyObject* stream, infinirtStream_t* handle);
  /// The device type and number of a stream; the text lives as long as the process.
  bool (*stream_device)(PyObject* stream, const char** type, int* ordinal);
  /// Whether a call that enqueues on the stream may have to wait, so that the interpreter's lock must be given away.
  bool (*may_block)(PyObject* stream);
  /// Runs `call(data)` with the stream's device current on this thread. Needs no lock.
  infinirtError_t (*on_device)(PyObject* stream, infinirtError_t (*call)(void*), void* data);

  /// A Buffer of the pool, in the order of the stream.
  PyObject* (*allocate)(PyObject* pool, size_t size, PyObject* stream);
  /// Memory that only its own reserve hands out again; see infinirtXCacheReserveCreate.
  bool (*reserve_create)(PyObject* pool, infinirtXCacheReserve_t* reserve);
  PyObject* (*reserve_allocate)(PyObject* pool, infinirtXCacheReserve_t reserve, size_t size, PyObject* stream);
  /// Later, where this is not possible now. Never fails, never raises.
  void (*reserve_destroy)(PyObject* pool, infinirtXCacheReserve_t reserve, PyObject* stream);

  /// Makes a graph the next step of what a stream captures. Needs no lock.
  infinirtError_t (*embed_graph)(infinirtStream_t stream, infinirtGraph_t child);
  /// Destroys an executable graph: later, where this is not possible now. Never fails, never raises.
  void (*graph_exec_destroy)(infinirtGraphExec_t exec);

  /// Address and size of an open Buffer.
  bool (*buffer_memory)(PyObject* buffer, void** pointer, size_t* size);
  /// Where the host reaches the memory; null, without an exception, where it does not.
  void* (*host_address)(PyObject* buffer);
  /// Work on `stream` uses the buffer: it is freed after that work.
  bool (*note_use)(PyObject* buffer, PyObject* stream);
  /// Waits, or makes `stream` wait, for everything that was enqueued on the buffer.
  bool (*wait_for_work)(PyObject* buffer);
  bool (*order_after_work)(PyObject* buffer, PyObject* stream);

  /// Raises the exception that belongs to the error, with the thread's last message, which is reset; or with `message`. Returns null.
  PyObject* (*raise_error)(infinirtError_t error);
  PyObject* (*raise_message)(infinirtError_t error, const char* message);
};

}  // namespace infinirt
