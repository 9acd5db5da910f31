// The engine: whole devices out of a few synchronous primitives. One instance per engine-run backend.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "allocator/caching_allocator.h"
#include "core/backend.h"
#include "core/error.h"
#include "core/registry.h"
#include "engine/timeline.h"
#include "engine/work.h"

namespace infinirt {

struct Stream;
struct MemPool;
class Engine;

// One device of an engine-run backend. Created with the engine, never destroyed; DeviceReset empties it.
struct EngineDevice {
  Engine* engine = nullptr;
  int ordinal = 0;

  Mutex mutex;                      // guards the lists and settings below; taken before any stream's mutex
  std::vector<Stream*> streams;     // alive or still draining, the legacy stream excluded
  Stream* legacy = nullptr;
  std::atomic<int> sticky_error{0};  // infinirtError_t of a failed operation; every call returns it until reset
  std::atomic<int> async_error{0};   // a failed operation's other error: returned once, by a synchronising call
  std::string async_message;         // of whichever of the two is set; under `mutex`
  std::atomic<uint64_t> peers{0};   // bit i: access to device i's memory is enabled
  std::atomic<uint64_t> users{0};   // bit i: copies on device i's streams have used this device's memory
  std::atomic<unsigned> flags{0};   // infinirtSetDeviceFlags
  std::atomic<size_t> limits[8] = {};  // infinirtDeviceSetLimit, by enum value; 0: the default

  // Stream-ordered memory (pool.cpp). Created on first use, under `mutex`.
  std::atomic<MemPool*> default_pool{nullptr};
  std::atomic<MemPool*> current_pool{nullptr};
  std::atomic<bool> pools_freed{false};  // something was freed since the pools were last trimmed
  void* graph_memory = nullptr;     // graph-owned allocations (graph_memory.cpp)

  // What attributes are read from (attributes.cpp). Made on first use, never changed or freed: of what a device is, only its
  // memory varies, and that is no attribute.
  std::atomic<const struct infinirtDeviceProp*> described{nullptr};

  // Capture (capture.cpp): how many blocking streams of this device are capturing. While > 0 the legacy stream is barred.
  std::atomic<int> blocking_captures{0};
};

// Where other processes find memory that was shared. The file holds `token` at `token_offset` for as long as the memory
// is what it was when the token was given; then something else.
struct SharedRange {
  int file = -1;
  size_t offset = 0;
  uint64_t token = 0;
  size_t token_offset = 0;
};

// What an engine-run backend gives. All primitives are synchronous, may be called on any thread at any time (the engine
// serialises them when `thread_safe` is false) and return a CUDA error code, with fail() for the message.
class Engine {
 public:
  virtual ~Engine() = default;

  // Memory. `kind` is Device, Pinned, Managed or Pool (a segment, multiple of 2 MiB). `size` > 0. Alignment at least 512.
  // Out of memory: infinirtErrorMemoryAllocation with a message that says what was asked and what is held.
  virtual infinirtError_t allocate(int device, size_t size, MemoryKind kind, unsigned flags, void** out) = 0;
  virtual void release(int device, void* pointer, size_t size, MemoryKind kind) = 0;
  virtual void memory_info(int device, size_t* free_bytes, size_t* total_bytes) = 0;

  // False: memory_info is a guess, and an allocation is not refused by it.
  virtual bool memory_size_known(int /*device*/) const { return true; }
  // How large the segments of the device's pools should be; the default is the allocator's own.
  virtual SegmentSizes segment_sizes(int /*device*/) { return {}; }

  virtual infinirtError_t copy(const CopyWork& work) = 0;
  virtual infinirtError_t fill(const FillWork& work) = 0;
  virtual infinirtError_t run_kernel(const KernelWork& work, int device) = 0;

  virtual void properties(int device, struct infinirtDeviceProp* properties) = 0;

  // Whether registered C functions can run on this backend's memory. Without it every launch is unsupported.
  virtual bool runs_kernels() const { return true; }

  // Whether copies and sets of known memory up to this size may run in the calling thread on an idle stream.
  virtual size_t inline_limit() const { return 0; }

  // Whether the address lies in the range that only this backend's device memory comes from: only there is an address that
  // the registry does not know "freed or never allocated", and an error. False where the backend has no such range.
  virtual bool in_device_range(const void*) const { return false; }

  // Where the host can reach device memory: null when it cannot. The default is for memory the host cannot reach.
  virtual void* host_address(const void*) const { return nullptr; }

  // infinirtXSetMemoryLimit; 0 takes the limit away.
  virtual infinirtError_t set_memory_limit(int device, size_t bytes);

  // Looks for writes outside allocations, where the backend can tell: around the allocation that starts at `pointer`
  // before it is freed (infinirtErrorInvalidValue), or with null around all of the device's, when the device is
  // synchronised (infinirtErrorIllegalAddress). Each finding is returned once, with a message.
  virtual infinirtError_t verify_memory(int, const void*) { return infinirtSuccess; }

  // Waits for what others in the process have put on the device with the vendor's own functions: part of synchronising a
  // device. By default there is nothing of the kind.
  virtual infinirtError_t wait_for_others(int /*device*/) { return infinirtSuccess; }

  // Memory that other processes can map (share.cpp of a backend that can). All of it fails with NotSupported by default.
  virtual bool shares_memory() const { return false; }
  // Moves the memory of a live allocation, in place, into a file that other processes can open. Nothing uses the memory
  // meanwhile; its contents stay. Sharing it again gives the same answer. Ends when the memory is released.
  virtual infinirtError_t share(int device, void* base, size_t size, SharedRange* range);
  // The same into a file of the caller's, whose size it extends to hold it; the contents are lost. `offset` and `size` are
  // multiples of the page size.
  virtual infinirtError_t share_into(int device, void* base, size_t size, int file, size_t offset);
  // Maps `size` bytes of a file, from `offset` (a multiple of the page size), as memory of the device.
  virtual infinirtError_t map_shared(int device, int file, size_t offset, size_t size, void** out);
  virtual void unmap_shared(int device, void* pointer, size_t size);

  // Around fork: locks of the engine's own that the child must find free. They are taken last, so nothing else is locked
  // under them, and none is held during a primitive.
  virtual void lock_for_fork() {}
  virtual void unlock_after_fork(bool /*in_child*/) {}

  // The value of a device attribute, by default from the properties; false when there is no such attribute.
  virtual bool attribute(int device, enum infinirtDeviceAttr attribute, int* value);

  Backend backend;
  std::vector<std::unique_ptr<EngineDevice>> devices;
  std::atomic<bool> used_by_others{false};  // streams of other engines have used this one's memory

 protected:
  // Fills backend.table with the engine's functions and creates `count` devices. Call last in the constructor, or, for a
  // backend that is registered already, once before its device_count first answers more than 0.
  void initialise(const char* name, const char* origin, int count);
};

// The engine behind the thread's device type; only called from table functions, so it is one.
inline Engine& current_engine(ThreadState& ts) { return *static_cast<Engine*>(ts.backend->engine); }

inline EngineDevice& current_device(ThreadState& ts) {
  Engine& engine = current_engine(ts);
  return *engine.devices[static_cast<size_t>(ts.device[engine.backend.index])];
}

// The device with this number, or null with a message (infinirtErrorInvalidDevice).
EngineDevice* device_at(Engine& engine, int ordinal, const char* argument);

// Returns the device's sticky error with a message, or success.
inline infinirtError_t check_device(const EngineDevice& device);
[[gnu::cold]] infinirtError_t sticky_failure(const EngineDevice& device, int error);

inline infinirtError_t check_device(const EngineDevice& device) {
  const int error = device.sticky_error.load(std::memory_order_relaxed);
  return error == 0 ? infinirtSuccess : sticky_failure(device, error);
}

// An operation failed while running: sticky errors stay with the device, others are reported by the next synchronising
// call. `message` is kept for people.
void report_async_error(EngineDevice& device, infinirtError_t error, const char* message);
// Takes the non-sticky asynchronous error that is due, if any.
infinirtError_t take_async_error(EngineDevice& device);

// Where work comes from, for the message of a failure. All null: the calling thread does it at once, and its caller knows.
struct WorkOrigin {
  const Stream* stream = nullptr;
  const Issued* issued = nullptr;
  bool in_graph = false;
};

// Runs one piece of work on this thread (not Wait and Graph). Errors are reported to the device.
void execute_work(EngineDevice& device, Work& work, const WorkOrigin& origin);

// Waits until all streams of the engine are done, at most so long; false when work is left.
bool drain_engine(Engine& engine, int64_t timeout_ns);

// infinirtXStreamGetDevice and infinirtXLaunchHostFunc for streams of engine-run backends (api_stream.cpp).
infinirtError_t engine_stream_get_device(infinirtStream_t stream, int* device);
infinirtError_t engine_launch_host_func(infinirtStream_t stream, infinirtHostFn_t fn, void* data,
                                        infinirtHostFn_t destroy);
// infinirtXLaunchStep likewise (step.cpp); disposes of the data whatever happens.
infinirtError_t engine_launch_step(infinirtStream_t stream, const infinirtXStepInfo& info);
infinirtError_t engine_stream_use(infinirtStream_t stream, const void* pointer, size_t bytes, const char* argument,
                                  void** host);

// BackendExtensions::Quiet... (api_stream.cpp, api_event.cpp, api_device.cpp).
infinirtError_t engine_quiet_stream_query(infinirtStream_t stream);
infinirtError_t engine_quiet_event_query(infinirtEvent_t event);
infinirtError_t engine_quiet_event_synchronize(infinirtEvent_t event);
infinirtError_t engine_quiet_device_synchronize();

// Every engine of the process. Some are added later, at any time; none ever goes.
std::span<Engine* const> all_engines();
void engines_lock_for_fork();  // none is added meanwhile
void engines_unlock_after_fork();

// Names the table entries that the engine implements; weak, so that what is not defined is unsupported.
namespace engine_api {
#define INFINIRT_FN(NAME) [[gnu::weak]] extern std::remove_pointer_t<decltype(BackendTable::NAME)> NAME;
#include "infinirt/generated/api_list.inc"
#undef INFINIRT_FN
}  // namespace engine_api

}  // namespace infinirt
