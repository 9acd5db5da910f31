// A cache: the caching allocator over memory of one device of any backend. See infinirt_ext.h for what it promises.
//
// Objects are recycled and never unmapped, as everything behind handles: a thread that still uses a cache while another destroys
// it meets an empty allocator, not freed memory.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "allocator/caching_allocator.h"
#include "cache/event_order.h"
#include "core/mutex.h"
#include "infinirt_ext.h"

namespace infinirt::cache {

// Where segments come from: the backend's Malloc or HostAlloc.
class DeviceSegments final : public SegmentSource {
 public:
  DeviceSegments(const Backend& backend, int device, infinirtXCacheMemory memory)
      : backend_(backend), device_(device), memory_(memory) {}
  Status map(size_t bytes, size_t alignment, void** base) noexcept override;
  void unmap(void* base, size_t bytes) noexcept override;

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

  std::atomic<bool> lost{false};  // with the device: there is nothing to give back

 private:
  infinirtError_t take(size_t bytes, void** memory);
  void give_back(void* memory);

  const Backend& backend_;
  const int device_;
  const infinirtXCacheMemory memory_;
  std::atomic<bool> poorly_aligned_{false};  // the backend's memory; more is taken from then on
  Mutex mutex_;
  std::map<void*, void*> shifted_;  // segments that do not begin where the backend's allocation does
  std::vector<void*> unwanted_;  // taken, and not aligned well enough: given back when giving back is due anyway
};

// What a cache was asked for while somebody recorded it.
class Trace {
 public:
  bool is_on() const { return on_.load(std::memory_order_relaxed); }
  bool begin(size_t most);
  void end() { on_.store(false); }
  void note(infinirtXCacheEventKind kind, void* ptr, size_t size, StreamKey stream) noexcept;
  void read(infinirtXCacheEvent* events, size_t* count, size_t* lost);
  void forget();

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  std::atomic<bool> on_{false};
  Mutex mutex_;
  std::deque<infinirtXCacheEvent> events_;
  size_t noted_ = 0, most_ = 0, lost_ = 0;
};

struct Cache {
  Cache(const Backend& backend, int device, infinirtXCacheMemory memory);

  const Backend& backend;
  const int device;
  const infinirtXCacheMemory memory;
  const bool one_of_several;  // devices of its type
  void* handle = nullptr;  // of the list's lock
  DeviceSegments segments;
  EventOrder order;
  CachingAllocator allocator;
  AllocatorStats before;  // what its allocator had counted when this cache was made of it
  std::atomic<bool> lost{false};  // the device was reset
  std::atomic<bool> is_in_use{false};  // created, and not destroyed
  Cache* older = nullptr;  // made before this one; constant once it is in the list
  Trace trace;

  // Streams that blocks are used on besides their own, until they are freed. No list is empty.
  Mutex recorded_mutex;
  std::atomic<size_t> recorded_blocks{0};
  std::unordered_map<void*, std::vector<infinirtStream_t>> recorded;
};

// Of the calling thread's device type. Null with a message.
Cache* create(const infinirtXCacheProps& props);
// Refused while blocks of it are in use. Waits for their last uses.
infinirtError_t destroy(Cache& cache, infinirtXCache_t handle);

// Until what was freed so far is not used any more, as far as that is known. Holding no lock.
void wait_for_marks(Cache& cache);

// What the other caches of the same kind of memory of the same device hold, and how many of them hold something.
struct OthersMemory {
  size_t caches = 0;
  size_t reserved = 0;
  size_t used = 0;
};
OthersMemory held_by_others(const Cache& cache);

// After an allocation failed for want of memory: tries again with what can be had by waiting, then with what other caches can
// spare. Holding no lock.
Status attempt_in_shortage(Cache& cache, size_t size, const std::function<Status()>& attempt);
// Out of memory, with a message that says who holds it and what to do.
infinirtError_t explain_shortage(Cache& cache, size_t size);
// Has the other caches of the same memory give back what they do not use; whether there were any.
bool trim_others(const Cache& cache);

// The cache behind a handle; null with a message.
Cache* resolve(infinirtXCache_t handle);

// `stream` has been checked. Frees of blocks with recorded streams come after what those have been given so far.
infinirtError_t free_block(Cache& cache, void* pointer, infinirtStream_t stream);
infinirtError_t record_stream(Cache& cache, void* pointer, infinirtStream_t stream);

}  // namespace infinirt::cache
