// An engine on top of the smallest possible backend: five functions in the CUDA shape and a device count.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "engine/engine.h"
#include "engine/native_streams.h"

namespace infinirt {

// What a backend must have. All functions are synchronous except that a device-to-device copy may return early.
struct RequiredFunctions {
  infinirtError_t (*SetDevice)(int device) = nullptr;  // for the calling thread
  infinirtError_t (*DeviceSynchronize)() = nullptr;
  infinirtError_t (*Malloc)(void** pointer, size_t size) = nullptr;
  infinirtError_t (*Free)(void* pointer) = nullptr;
  infinirtError_t (*Memcpy)(void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind) = nullptr;
  int device_count = 0;
  size_t memory_bytes = 0;  // of each device, for infinirtMemGetInfo; 0: not known, reported as if it were the host's
  bool thread_safe = false;  // otherwise one call at a time
  bool shared_with_others = false;  // others in the process set the thread's device, too: it is set before every call
};

// Fills in what is missing: sets and 2D and 3D copies become 1D copies, copies between devices go through the host, pinned
// memory is plain host memory, memory is accounted for here. Managed memory cannot be made up and is unsupported.
class EmulatedEngine : public Engine {
 public:
  infinirtError_t allocate(int device, size_t size, MemoryKind kind, unsigned flags, void** out) override;
  void release(int device, void* pointer, size_t size, MemoryKind kind) override;
  void memory_info(int device, size_t* free_bytes, size_t* total_bytes) override;
  bool memory_size_known(int device) const override;
  infinirtError_t copy(const CopyWork& work) override;
  infinirtError_t fill(const FillWork& work) override;
  // C functions need memory they can reach; a backend whose memory is the host's own overrides both.
  bool runs_kernels() const override { return false; }
  infinirtError_t run_kernel(const KernelWork& work, int device) override;
  infinirtError_t set_memory_limit(int device, size_t bytes) override;
  void lock_for_fork() override;
  void unlock_after_fork(bool in_child) override;

 protected:
  // Call last in the constructor. Marks everything as emulated but the functions that the backend really has.
  void initialise_emulated(const char* name, const char* origin, const RequiredFunctions& functions);

  // The primitives: the functions that initialise_emulated was given, unless a backend needs more than those. All but the
  // first are called with the device current.
  virtual infinirtError_t set_current(int device) { return functions_.SetDevice(device); }
  virtual infinirtError_t wait_for_all(int /*device*/) { return functions_.DeviceSynchronize(); }
  virtual infinirtError_t take_memory(int /*device*/, size_t size, void** out) { return functions_.Malloc(out, size); }
  virtual void give_memory(int /*device*/, void* pointer) { functions_.Free(pointer); }
  virtual infinirtError_t move(int /*device*/, void* dst, const void* src, size_t bytes, enum infinirtMemcpyKind kind) {
    return functions_.Memcpy(dst, src, bytes, kind);
  }
  // What a backend may lack: NotSupported, without a message, where it does; then it is made of the primitives.
  virtual infinirtError_t move_between(int /*dst_device*/, int /*src_device*/, void* /*dst*/, const void* /*src*/,
                                       size_t /*bytes*/) {
    return infinirtErrorNotSupported;
  }
  virtual infinirtError_t set_bytes(int /*device*/, void* /*dst*/, unsigned char /*value*/, size_t /*bytes*/) {
    return infinirtErrorNotSupported;
  }
  virtual bool moves_within_device() const { return true; }

  // A copy that is not over on return, on a stream of the backend's own; NotSupported, without a message, where `move` has to
  // do it. The wait for it follows without an entry: others may use the backend meanwhile.
  virtual infinirtError_t begin_move(int /*device*/, void* /*dst*/, const void* /*src*/, size_t /*bytes*/,
                                     enum infinirtMemcpyKind /*kind*/, void** /*stream*/) {
    return infinirtErrorNotSupported;
  }
  // Streams of the backend's own. The first is called with the device current, the second makes its own entry.
  virtual infinirtError_t make_native_stream(int /*device*/, void** /*stream*/) { return infinirtErrorNotSupported; }
  virtual infinirtError_t wait_for_native_stream(int /*device*/, void* /*stream*/) { return infinirtErrorNotSupported; }
  infinirtError_t take_native_stream(int device,
                                     void** stream);  // with the device current; native_streams().give ends it
  NativeStreams& native_streams(int device) { return native_streams_[static_cast<size_t>(device)]; }
  void offer_native_streams();  // to programs, by infinirtXStreamBeginNative

  // What the engine itself brings to every device, and identities that keep devices apart; all else is 0. The device's
  // UUID is made from the seed.
  void describe_emulated(int device, const std::string& seed, struct infinirtDeviceProp* p);

  // BackendExtensions::CopyNow for engines whose memory others cannot reach: one side is its memory, the other the host's.
  static infinirtError_t copy_with_host(const CrossCopy& copy);

  // Makes the device current for this thread and, unless the backend is thread-safe, keeps everybody else out.
  class Entry {
   public:
    Entry(EmulatedEngine& engine, int device);
    infinirtError_t error() const { return error_; }

   private:
    std::optional<std::lock_guard<Mutex>> lock_;
    infinirtError_t error_ = infinirtSuccess;
  };

  size_t memory_limit(int device) const {
    return accounts_[static_cast<size_t>(device)].limit.load(std::memory_order_relaxed);
  }

  // The process ends: from now on every entry fails. False when somebody is inside and does not come out.
  bool close();

 private:
  struct Account {
    std::atomic<size_t> used{0};
    std::atomic<size_t> limit{0};
  };

  struct Ending;
  infinirtError_t begin_native(infinirtStream_t stream, void** native);
  infinirtError_t end_native(infinirtStream_t stream, void* native);
  static void finish_native(void* ending);

  infinirtError_t allocate_on_device(int device, size_t size, size_t alignment, void** out);
  infinirtError_t copy_span(void* dst, const void* src, size_t bytes, int dst_device, int src_device);
  infinirtError_t copy_through_host(void* dst, const void* src, size_t bytes, int dst_device, int src_device);
  infinirtError_t fill_span(int device, char* dst, unsigned char value, size_t bytes);
  size_t total(int device) const;

  std::atomic<bool> closed_{false};
  RequiredFunctions functions_;
  Mutex mutex_;  // held during every call of the backend, unless it is thread-safe
  int last_device_ = -1;  // under mutex_: what the latest call made current, on whatever thread
  std::unique_ptr<Account[]> accounts_;
  std::unique_ptr<NativeStreams[]> native_streams_;
  Mutex shifted_mutex_;
  std::map<void*, void*> shifted_;  // pointers given out that are not where the backend's allocation begins
};

}  // namespace infinirt
