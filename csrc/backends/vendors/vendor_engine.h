// A vendor's runtime library as an engine-run device type: the engine's workers call its few functions.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/vendors/vendor.h"
#include "engine/emulated_engine.h"
#include "engine/shown_addresses.h"

namespace infinirt::vendors {

class VendorEngine final : public EmulatedEngine {
 public:
  // Nothing is looked for yet.
  explicit VendorEngine(Vendor vendor);

  // How many devices there are; the first call looks for the library.
  int count_devices();

  infinirtError_t allocate(int device, size_t size, MemoryKind kind, unsigned flags, void** out) override;
  void release(int device, void* pointer, size_t size, MemoryKind kind) override;
  void memory_info(int device, size_t* free_bytes, size_t* total_bytes) override;
  bool memory_size_known(int device) const override;
  void properties(int device, struct infinirtDeviceProp* properties) override;
  bool in_device_range(const void* pointer) const override;
  infinirtError_t wait_for_others(int device) override;
  void lock_for_fork() override;
  void unlock_after_fork(bool in_child) override;

 private:
  void load();
  void use(int devices);
  void mark_support();
  void refuse_in_forked_child();

  infinirtError_t set_current(int device) override;
  infinirtError_t wait_for_all(int) override { return infinirtSuccess; }  // every copy and fill is complete on return
  infinirtError_t take_memory(int device, size_t size, void** out) override;
  void give_memory(int device, void* pointer) override;
  infinirtError_t move(int device, void* dst, const void* src, size_t bytes, enum infinirtMemcpyKind kind) override;
  infinirtError_t move_between(int dst_device, int src_device, void* dst, const void* src, size_t bytes) override;
  infinirtError_t set_bytes(int device, void* dst, unsigned char value, size_t bytes) override;
  infinirtError_t make_native_stream(int device, void** stream) override;
  infinirtError_t wait_for_native_stream(int device, void* stream) override;

  // Success, or the library's failure with its words.
  infinirtError_t checked(int status, const char* doing);
  std::string words(int status);
  // Calls work(stream) with a stream of the library's own, if its copies need one.
  template <class Work>
  infinirtError_t with_stream(int device, const char* doing, Work&& work);

  int physical(int device) const { return visible_[static_cast<size_t>(device)]; }

  const Vendor vendor_;
  std::once_flag loading_;
  std::atomic<bool> loaded_{false};
  std::unique_ptr<Native> native_;
  std::string path_;
  std::vector<int> visible_;  // which of the library's devices are ours
  ShownAddresses shown_;
  Mutex host_blocks_mutex_;
  std::map<uintptr_t, void*> host_blocks_;  // pinned memory: aligned address → the library's
};

}  // namespace infinirt::vendors
