#include "bindings/objects/release.h"

#include <utility>
#include <vector>

#include "bindings/objects/capture.h"
#include "bindings/objects/deferred.h"

namespace infinirt::objects {

namespace {

StreamObject* as_stream(const python::Ref& reference) { return reinterpret_cast<StreamObject*>(reference.get()); }

// Of another device type than the memory's.
bool is_foreign(const StreamObject* stream, const DeviceObject* device) {
  return stream->device && stream->device->type != device->type;
}

// A block on its way back: the Buffer object itself may be gone already.
struct Block {
  void* pointer;
  size_t size;
  DeviceObject* device;
  python::Ref resource;
  python::Ref stream;                // may be empty
  std::vector<python::Ref> others;   // whose work comes first
  bool from_pool;
  infinirtXCache_t cache;

  // Freed by a call of the runtime, which can wait for streams without a thread that does.
  bool in_stream_order() const { return from_pool || cache; }
};

// Takes the references out of the buffer.
Block* take(BufferObject* buffer) {
  PyObject *resource = nullptr, *stream = nullptr;
  exclusively(buffer, [&] {
    resource = std::exchange(buffer->resource, nullptr);
    stream = std::exchange(buffer->stream, nullptr);
  });
  return new Block{buffer->pointer,       buffer->size,        buffer->device,
                   python::Ref(resource), python::Ref(stream), other_streams(buffer, true),
                   buffer->from_pool,     buffer->cache};
}

// The opposite, when nothing could be done: nothing is lost.
void give_back(Block* block, BufferObject* buffer) {
  buffer->resource = block->resource.release();
  buffer->stream = block->stream.release();
  for (const auto& other : block->others) add_stream(buffer, as_stream(other));
  delete block;
}

// With an exception set, perhaps, which destructors must neither see nor replace.
void drop(Block* block) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  delete block;
  PyErr_Restore(type, value, trace);
}

// Frees of memory whose own stream is out of reach go to a stream of ours: one per device, made on demand.
infinirtStream_t last_resort(const DeviceObject* device) {
  constexpr int kTypes = 16, kDevices = 64;
  static std::atomic<const char*> types[kTypes];
  static std::atomic<infinirtStream_t> streams[kTypes][kDevices];
  int row = 0;
  for (; row < kTypes; ++row) {
    const char* found = nullptr;
    if (types[row].compare_exchange_strong(found, device->type) || found == device->type) break;
  }
  if (row == kTypes || device->ordinal >= kDevices) return nullptr;
  auto& slot = streams[row][device->ordinal];
  infinirtStream_t there = slot.load();
  if (there && rt.StreamQuery(there) != infinirtErrorInvalidResourceHandle) return there;  // a device reset ends it
  OnDevice guard(device);
  infinirtStream_t made = nullptr;
  if (guard.error() || rt.StreamCreateWithPriority(&made, infinirtStreamNonBlocking, 0)) return nullptr;
  if (slot.compare_exchange_strong(there, made)) return made;
  rt.StreamDestroy(made);
  return there;
}

bool barred(const StreamObject* stream) {
  if (is_out_of_reach(stream)) return false;
  return on_stream(stream, [](infinirtStream_t s) {
           return is_in_capture(s) ? infinirtErrorNotReady : infinirtSuccess;
         }) != infinirtSuccess;
}

// An accelerator's stream may wait for another type's on the host, which is no thing to do for memory that nobody asks about.
bool is_busy_elsewhere(const StreamObject* stream, const DeviceObject* device) {
  if (!is_foreign(stream, device) || is_out_of_reach(stream)) return false;
  return on_stream(stream, [](infinirtStream_t s) { return rt.StreamQuery(s); }) == infinirtErrorNotReady;
}

infinirtError_t free_now(void* pointer, infinirtXCache_t cache, infinirtStream_t stream) {
  return cache ? infinirtXCacheFree(pointer, cache, stream) : rt.FreeAsync(pointer, stream);
}

// Everything that needs no interpreter: order `stream` after the others and, for memory that has one, free it.
infinirtError_t order_and_free(const Block& block, const StreamObject* stream) {
  const auto work = [&](infinirtStream_t s) {
    infinirtError_t error = infinirtSuccess;
    if (is_out_of_reach(stream)) error = join(s, stream);
    for (const auto& other : block.others) {
      if (error != infinirtSuccess || is_same_stream(as_stream(other), stream)) continue;
      // A cache can keep a block until others of its device type are done with it; nobody has to wait for them.
      const bool noted = block.cache && !is_foreign(as_stream(other), block.device) &&
                         !is_out_of_reach(as_stream(other)) && !is_per_thread(as_stream(other));
      error = noted ? infinirtXCacheRecordStream(block.pointer, block.cache, as_stream(other)->handle)
                    : join(s, as_stream(other));
    }
    if (error == infinirtSuccess && block.in_stream_order()) error = free_now(block.pointer, block.cache, s);
    return error;
  };
  infinirtError_t error = infinirtErrorInvalidResourceHandle;
  if (!is_out_of_reach(stream)) error = on_stream(stream, work);
  if (error != infinirtErrorInvalidResourceHandle) return error;
  // Closed, another thread's, or gone with a reset of the device.
  const infinirtStream_t target = last_resort(block.device);
  return target ? work(target) : error;
}

bool deallocate_by_resource(const Block& block, PyObject* stream) {
  static PyObject* const method = PyUnicode_InternFromString("deallocate");
  static PyObject* const names = Py_BuildValue("(s)", "stream");
  python::Ref pointer(PyLong_FromVoidPtr(block.pointer)), size(PyLong_FromSize_t(block.size));
  if (!pointer || !size) return false;
  PyObject* args[] = {block.resource.get(), pointer.get(), size.get(), stream ? stream : Py_None};
  python::Ref done(PyObject_VectorcallMethod(method, args, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, names));
  return static_cast<bool>(done);
}

// A resource in Python orders its own work by a stream. Without one that it can use, our waiting has to be done here.
infinirtError_t wait_without_stream(const Block& block, const StreamObject* stream) {
  infinirtError_t error = stream->end ? rt.EventSynchronize(stream->end) : infinirtSuccess;
  for (const auto& reference : block.others) {
    const StreamObject* other = as_stream(reference);
    if (error != infinirtSuccess) break;
    if (is_out_of_reach(other)) {
      if (other->end) error = rt.EventSynchronize(other->end);
    } else {
      error = on_stream(other, [](infinirtStream_t s) { return rt.StreamSynchronize(s); });
    }
  }
  return error;
}

Outcome free_block(void* data) {
  auto* block = static_cast<Block*>(data);
  auto* stream = as_stream(block->stream);
  // What a resource in Python does may be unsafe in any capture; what a pool does only in one of its streams.
  if (!block->in_stream_order() && captures_under_way.load(std::memory_order_relaxed) > 0) return Outcome::NotNow;
  if (is_in_host_function() || (stream && barred(stream))) return Outcome::NotNow;
  for (const auto& other : block->others) {
    if (barred(as_stream(other))) return Outcome::NotNow;
    if (block->device->may_block.how == MayBlock::Ask && is_busy_elsewhere(as_stream(other), block->device))
      return Outcome::NotNow;
  }
  const RelaxedCaptureScope relaxed(block->device->type);
  const bool in_reach = stream && !is_out_of_reach(stream);
  if (stream) {
    without_gil(block->device->may_block || !block->others.empty() || !block->in_stream_order(), [&] {
      return in_reach || block->in_stream_order() ? order_and_free(*block, stream)
                                                  : wait_without_stream(*block, stream);
    });
  }
  if (!block->in_stream_order()) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (!deallocate_by_resource(*block, in_reach ? block->stream.get() : nullptr))
      PyErr_WriteUnraisable(block->resource.get());
    PyErr_Restore(type, value, trace);
  }
  delete block;
  return Outcome::Done;
}

// The common case, without a Block: pool memory that only its own stream used.
infinirtError_t free_on_own_stream(BufferObject* buffer) {
  auto* stream = reinterpret_cast<StreamObject*>(buffer->stream);
  return without_gil(stream->may_block, [&] {
    return on_stream(stream, [&](infinirtStream_t s) { return free_now(buffer->pointer, buffer->cache, s); });
  });
}

bool is_used_by_own_stream_only(const BufferObject* buffer) {
  return (buffer->from_pool || buffer->cache) && buffer->use_count == 0 && buffer->stream != nullptr &&
         !is_out_of_reach(reinterpret_cast<StreamObject*>(buffer->stream));
}

// False: not possible now.
bool free_at_once(BufferObject* buffer) {
  if (barred(reinterpret_cast<StreamObject*>(buffer->stream))) return false;
  const RelaxedCaptureScope relaxed(buffer->device->type);  // somebody else may be capturing
  const infinirtError_t error = free_on_own_stream(buffer);
  if (error == infinirtErrorNotPermitted || error == infinirtErrorInvalidResourceHandle) return false;
  Py_CLEAR(buffer->resource);
  Py_CLEAR(buffer->stream);
  return true;
}

// Of errors: the call came at the wrong moment, and nothing has happened.
bool is_not_now(infinirtError_t error) {
  return error == infinirtErrorNotPermitted ||
         (error >= infinirtErrorStreamCaptureUnsupported && error <= infinirtErrorStreamCaptureWrongThread);
}

// The same of the exception that is set, by a resource in Python.
bool raised_not_now() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  python::Ref code(value ? PyObject_GetAttrString(value, "_code") : nullptr);  // InfiniRTError's
  const long number = code && PyLong_Check(code.get()) ? PyLong_AsLong(code.get()) : 0;
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
  return is_not_now(static_cast<infinirtError_t>(number));
}

}  // namespace

bool release_memory(BufferObject* buffer, StreamObject* given) {
  if (!given && is_used_by_own_stream_only(buffer) && free_on_own_stream(buffer) == infinirtSuccess) {
    Py_CLEAR(buffer->resource);
    Py_CLEAR(buffer->stream);
    return true;
  }
  Block* block = take(buffer);
  auto* own = as_stream(block->stream);
  StreamObject* stream = given ? given : own;
  // Freed on another stream than its own, the memory is free after its own stream's work, too.
  const bool elsewhere = given && own && !is_same_stream(given, own);
  infinirtError_t error = infinirtSuccess;
  if (stream) {
    error =
        without_gil(block->device->may_block || elsewhere || !block->others.empty() || !block->in_stream_order(), [&] {
          infinirtError_t failed = infinirtSuccess;
          if (elsewhere) failed = on_stream(given, [&](infinirtStream_t s) { return join(s, own); });
          if (failed != infinirtSuccess) return failed;
          return block->in_stream_order() || !is_out_of_reach(stream) ? order_and_free(*block, stream)
                                                                      : wait_without_stream(*block, stream);
        });
  }
  if (error != infinirtSuccess) {
    raise_error(error);  // first: destructors of what the block refers to must not replace the message
    if (is_not_now(error)) {
      give_back(block, buffer);
    } else {
      drop(block);
    }
    return false;
  }
  PyObject* usable = stream && !is_out_of_reach(stream) ? reinterpret_cast<PyObject*>(stream) : nullptr;
  const bool done = block->in_stream_order() || deallocate_by_resource(*block, usable);
  if (!done && raised_not_now()) {
    give_back(block, buffer);
  } else {
    drop(block);
  }
  return done;
}

void release_memory_at_end(BufferObject* buffer) {
  if (buffer->capture != 0) {
    // A graph's own memory: freed in the graph while that is still being captured, otherwise the graph's to keep.
    auto* stream = reinterpret_cast<StreamObject*>(buffer->stream);
    const bool open = !is_out_of_reach(stream) && capture_state(stream->handle).id == buffer->capture;
    Block* block = take(buffer);
    if (open) order_and_free(*block, stream);
    delete block;
    return;
  }
  if (is_used_by_own_stream_only(buffer) && free_at_once(buffer)) return;
  do_or_defer(free_block, take(buffer));
}

}  // namespace infinirt::objects
