#include <mutex>
#include <new>

#include "cache/cache.h"
#include "cache/device_calls.h"
#include "core/wait_hooks.h"

namespace infinirt::cache {

infinirtError_t DeviceSegments::take(size_t bytes, void** memory) {
  DeviceCalls calls(backend_, device_);
  const infinirtError_t error = memory_ == infinirtXCacheMemoryHost
                                    ? calls->HostAlloc(memory, bytes, infinirtHostAllocPortable)
                                    : calls->Malloc(memory, bytes);
  // Of memory that is out the allocation has its own message, if it comes to that.
  if (error != infinirtSuccess && error != infinirtErrorMemoryAllocation) calls.keep_message();
  return error;
}

// Backends wait for the device here, where a host function may need what the caller holds: an interpreter's lock.
void DeviceSegments::give_back(void* memory) {
  const RareWaitScope waiting;
  const DeviceCalls calls(backend_, device_);
  if (memory_ == infinirtXCacheMemoryHost)
    calls->FreeHost(memory);
  else
    calls->Free(memory);
}

Status DeviceSegments::map(size_t bytes, size_t alignment, void** base) noexcept try {
  for (;;) {
    const bool poorly_aligned = poorly_aligned_.load(std::memory_order_relaxed);
    void* memory = nullptr;
    if (auto error = take(poorly_aligned ? bytes + alignment : bytes, &memory)) return error;
    *base = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory) + alignment - 1) & ~(alignment - 1));
    if (*base == memory) return kStatusOk;
    std::lock_guard guard(mutex_);
    if (poorly_aligned) {
      shifted_.emplace(*base, memory);
      return kStatusOk;
    }
    unwanted_.push_back(memory);
    poorly_aligned_.store(true, std::memory_order_relaxed);
  }
} catch (const std::bad_alloc&) {
  return kStatusOutOfMemory;
}

void DeviceSegments::unmap(void* base, size_t) noexcept {
  std::vector<void*> unwanted;
  void* memory = base;
  {
    std::lock_guard guard(mutex_);
    unwanted.swap(unwanted_);
    if (const auto found = shifted_.find(base); found != shifted_.end()) {
      memory = found->second;
      shifted_.erase(found);
    }
  }
  if (lost.load(std::memory_order_acquire)) return;
  give_back(memory);
  for (void* other : unwanted) give_back(other);
}

}  // namespace infinirt::cache
