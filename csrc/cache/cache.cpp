#include "cache/cache.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "cache/device_calls.h"
#include "core/endings.h"
#include "core/wait_hooks.h"

namespace infinirt::cache {

namespace {

// All caches of the process. The list is locked before anything of a cache.
struct AllCaches {
  Mutex mutex;
  std::vector<Cache*> caches;
  std::vector<Cache*> retired;  // empty ones, to be used again
  std::atomic<Cache*> newest{nullptr};  // of all there ever were, each with the one before it: for those who only look
};

AllCaches& all_caches() {
  static auto* instance = new AllCaches;
  return *instance;
}

template <class Visit>
void for_each_cache(Visit&& visit) {
  auto& all = all_caches();
  std::lock_guard guard(all.mutex);
  for (Cache* cache : all.caches) visit(*cache);
}

// Also of those that are to be used again: they know streams and have events.
template <class Visit>
void for_each_cache_ever(Visit&& visit) {
  auto& all = all_caches();
  std::lock_guard guard(all.mutex);
  for (Cache* cache : all.caches) visit(*cache);
  for (Cache* cache : all.retired) visit(*cache);
}

// What was recorded for a stream that ends becomes a use up to its end.
void settle_recorded(Cache& cache, infinirtStream_t stream, Fence end) {
  std::lock_guard guard(cache.recorded_mutex);
  for (auto entry = cache.recorded.begin(); entry != cache.recorded.end();) {
    auto& [pointer, streams] = *entry;
    if (std::erase(streams, stream) != 0) cache.allocator.record_use(pointer, key_of(stream), end);
    if (!streams.empty()) {
      ++entry;
      continue;
    }
    entry = cache.recorded.erase(entry);
    cache.recorded_blocks.fetch_sub(1, std::memory_order_release);
  }
}

void forget_stream(Cache& cache, StreamKey key) {
  cache.allocator.retire_stream(key);
  cache.order.forget(key);
}

void stream_ends(const Backend& backend, infinirtStream_t stream) {
  if (reinterpret_cast<uintptr_t>(stream) <= 2) return;
  for_each_cache_ever([&](Cache& cache) {
    if (&cache.backend != &backend || cache.lost.load()) return;
    const StreamKey key = key_of(stream);
    if (cache.recorded_blocks.load() != 0) settle_recorded(cache, stream, cache.order.now(key));
    forget_stream(cache, key);
  });
}

void device_resets(const Backend& backend, int device) {
  for_each_cache_ever([&](Cache& cache) {
    if (&cache.backend != &backend) return;
    cache.order.device_was_reset(device);
    if (cache.device != device) return;
    cache.lost.store(true);
    cache.segments.lost.store(true);
  });
  auto& all = all_caches();
  std::lock_guard guard(all.mutex);
  std::erase_if(all.retired, [](const Cache* cache) { return cache->lost.load(); });
}

// A thread's own stream goes with the thread; its frees were marked one by one.
void thread_ends(ThreadExtra& extra) {
  if (extra.number == 0) return;
  for_each_cache_ever([&](Cache& cache) {
    if (!cache.lost.load()) forget_stream(cache, key_of_thread(extra.number));
  });
}

// Asked at every free, so without a lock: caches are never freed, and look their memory up without one.
bool owns(const void* pointer) {
  const Cache* cache = all_caches().newest.load(std::memory_order_acquire);
  for (; cache; cache = cache->older) {
    if (cache->is_in_use.load(std::memory_order_acquire) && cache->allocator.owns(pointer)) return true;
  }
  return false;
}

// Allocators ask about order under their locks, so those come first.
void before_fork() {
  auto& all = all_caches();
  all.mutex.lock();
  for (Cache* cache : all.caches) {
    cache->recorded_mutex.lock();
    cache->allocator.prepare_fork();
    cache->order.lock_for_fork();
    cache->segments.lock_for_fork();
    cache->trace.lock_for_fork();
  }
}

void after_fork() {
  auto& all = all_caches();
  for (Cache* cache : all.caches) {
    cache->trace.unlock_after_fork();
    cache->segments.unlock_after_fork();
    cache->order.unlock_after_fork();
    cache->allocator.after_fork_parent();
    cache->recorded_mutex.unlock();
  }
  all.mutex.unlock();
}

// Once, after the first backend: fork handlers that were registered later run earlier, and the engines' locks come after ours.
void listen() {
  static const bool done = [] {
    static constexpr EndingListener listener{stream_ends, device_resets, owns};
    g_ending_listener.store(&listener, std::memory_order_release);
    add_thread_exit_hook(thread_ends);
    pthread_atfork(before_fork, after_fork, after_fork);
    return true;
  }();
  (void)done;
}

AllocatorOptions keeping_everything() {
  AllocatorOptions options;
  options.release_threshold = ~size_t{0};
  return options;
}

// One that was retired or a new one, in the list of all. The list's lock is held.
Cache* take_cache(AllCaches& all, const Backend& backend, int device, infinirtXCacheMemory memory) {
  all.caches.reserve(all.caches.size() + 1);
  all.retired.reserve(all.caches.size() + all.retired.size() + 1);  // for all to be put there one day
  const auto found = std::find_if(all.retired.begin(), all.retired.end(), [&](const Cache* cache) {
    return &cache->backend == &backend && cache->device == device && cache->memory == memory;
  });
  Cache* cache = nullptr;
  if (found != all.retired.end()) {
    cache = *found;
    all.retired.erase(found);
  } else {
    cache = new Cache(backend, device, memory);
    cache->older = all.newest.load(std::memory_order_relaxed);
    all.newest.store(cache, std::memory_order_release);
  }
  all.caches.push_back(cache);
  cache->is_in_use.store(true, std::memory_order_release);
  return cache;
}

}  // namespace

Cache::Cache(const Backend& backend_, int device_, infinirtXCacheMemory memory_)
    : backend(backend_),
      device(device_),
      memory(memory_),
      one_of_several(backend.device_count(backend) > 1),
      segments(backend, device, memory),
      order(backend, device),
      allocator(segments, order, keeping_everything()) {}

Cache* create(const infinirtXCacheProps& props) try {
  ThreadState& ts = thread_state();
  const Backend* backend = route_current(ts);
  if (!backend) return nullptr;
  const int devices = backend->device_count(*backend);
  if (props.device < 0 || props.device >= devices) {
    fail(infinirtErrorInvalidDevice, "props->device %d does not exist; device type '%s' has %d", props.device,
         backend->name.c_str(), devices);
    return nullptr;
  }
  listen();
  auto& all = all_caches();
  std::lock_guard guard(all.mutex);
  Cache* cache = take_cache(all, *backend, props.device, props.memory);
  cache->handle = handle_create(HandleKind::Cache, backend->index, cache);
  if (!cache->handle) {
    all.caches.pop_back();
    all.retired.push_back(cache);
    cache->is_in_use.store(false, std::memory_order_release);
    fail(infinirtErrorMemoryAllocation, "no room for another handle");
    return nullptr;
  }
  cache->allocator.set_limit(props.maxSize);
  cache->allocator.reset_used_high();
  cache->allocator.reset_reserved_high();
  cache->before = cache->allocator.stats();
  return cache;
} catch (const std::bad_alloc&) {
  fail(infinirtErrorMemoryAllocation, "no host memory for another cache");
  return nullptr;
}

void wait_for_marks(Cache& cache) {
  const RareWaitScope waiting;
  cache.order.wait_for_marks();
}

namespace {

bool competes(const Cache& other, const Cache& cache) {
  return &other != &cache && &other.backend == &cache.backend && other.device == cache.device &&
         other.memory == cache.memory && !other.lost.load();
}

}  // namespace

OthersMemory held_by_others(const Cache& cache) {
  OthersMemory held;
  for_each_cache([&](const Cache& other) {
    if (!competes(other, cache)) return;
    const AllocatorStats stats = other.allocator.stats();
    held.caches += stats.reserved_current != 0;
    held.reserved += stats.reserved_current;
    held.used += stats.used_current;
  });
  return held;
}

// Giving back may wait for the device, so not under the list's lock; caches are never freed, and one that was destroyed meanwhile
// has nothing to give.
bool trim_others(const Cache& cache) try {
  std::vector<Cache*> others;
  for_each_cache([&](Cache& other) {
    if (competes(other, cache) && other.allocator.stats().reserved_current != 0) others.push_back(&other);
  });
  for (Cache* other : others) {
    wait_for_marks(*other);
    other->allocator.trim_to(0);
  }
  return !others.empty();
} catch (const std::bad_alloc&) {
  return false;
}

namespace {

// Until the device has nothing left to do, which a capture does not survive: it has a message then.
infinirtError_t wait_for_device(Cache& cache) {
  const RareWaitScope waiting;
  DeviceCalls calls(cache.backend, cache.device);
  const auto wait = cache.backend.extensions.QuietDeviceSynchronize ? cache.backend.extensions.QuietDeviceSynchronize
                                                                    : calls->DeviceSynchronize;
  const infinirtError_t error = wait();
  if (error != infinirtSuccess) calls.keep_message();
  return error;
}

// What was freed in stream order may still be in use by the device.
infinirtError_t give_everything_back(Cache& cache) {
  cache.allocator.trim_to(0);  // and so all frees have marks
  wait_for_marks(cache);
  cache.allocator.trim_to(0);
  if (cache.allocator.stats().reserved_current == 0) return infinirtSuccess;
  // Reserves, whose graphs may be running anywhere, and frees that could not be marked.
  const infinirtError_t error = wait_for_device(cache);
  if (error >= infinirtErrorStreamCaptureUnsupported && error <= infinirtErrorStreamCaptureWrongThread) return error;
  cache.order.device_was_idle();
  return infinirtSuccess;
}

}  // namespace

infinirtError_t destroy(Cache& cache, infinirtXCache_t handle) {
  auto& all = all_caches();
  const bool lost = cache.lost.load();
  if (!lost) {
    const size_t live = cache.allocator.stats().live_blocks;
    if (live != 0) {
      return fail(infinirtErrorInvalidValue, "%zu block%s of the cache %s still in use; free %s first", live,
                  live == 1 ? "" : "s", live == 1 ? "is" : "are", live == 1 ? "it" : "them");
    }
    if (auto error = give_everything_back(cache)) return error;
  }
  {
    std::lock_guard guard(all.mutex);
    if (cache.handle != handle)  // and perhaps it is somebody else's by now
      return fail(infinirtErrorInvalidResourceHandle, "another thread destroyed the cache meanwhile");
    std::erase(all.caches, &cache);
    cache.is_in_use.store(false, std::memory_order_release);
    handle_destroy(std::exchange(cache.handle, nullptr));
  }
  cache.trace.forget();
  if (lost) return infinirtSuccess;  // its memory went with the device; what it knew about it cannot be used again
  cache.allocator.release_pins();
  cache.allocator.trim_to(0);
  std::lock_guard guard(all.mutex);
  all.retired.push_back(&cache);
  return infinirtSuccess;
}

Cache* resolve(infinirtXCache_t handle) {
  auto* cache = handle_resolve<Cache>(handle, HandleKind::Cache);
  if (!cache) [[unlikely]] {
    char text[96];
    fail(infinirtErrorInvalidResourceHandle, "cache %s", describe_handle(handle, HandleKind::Cache, text, sizeof text));
  }
  return cache;
}

namespace {

infinirtError_t refused(const Cache& cache, FreeResult result, const void* pointer) {
  switch (result) {
    case FreeResult::ok:
      return infinirtSuccess;
    case FreeResult::double_free:
      return fail(infinirtErrorInvalidValue, "ptr %p was freed already", pointer);
    case FreeResult::interior_pointer:
      return fail(infinirtErrorInvalidValue, "ptr %p lies in memory of the cache, but no block begins there", pointer);
    case FreeResult::out_of_memory:
      return fail(infinirtErrorMemoryAllocation, "no host memory to note the free of ptr %p; it is still allocated",
                  pointer);
    case FreeResult::not_ours:
      break;
  }
  return fail(infinirtErrorInvalidValue, "ptr %p is no memory of this cache (of %s:%d)", pointer,
              cache.backend.name.c_str(), cache.device);
}

}  // namespace

infinirtError_t free_block(Cache& cache, void* pointer, infinirtStream_t stream) {
  const StreamKey key = key_of(stream);
  if (cache.recorded_blocks.load(std::memory_order_acquire) != 0) [[unlikely]] {
    std::lock_guard guard(cache.recorded_mutex);
    if (const auto found = cache.recorded.find(pointer); found != cache.recorded.end()) {
      for (infinirtStream_t other : found->second) {
        const StreamKey other_key = key_of(other);
        if (other_key == key) continue;
        if (cache.allocator.record_use(pointer, other_key, cache.order.now(other_key)) == kStatusOutOfMemory)
          return refused(cache, FreeResult::out_of_memory, pointer);
      }
      cache.recorded.erase(found);
      cache.recorded_blocks.fetch_sub(1, std::memory_order_release);
    }
  }
  const FreeResult result = is_of_thread(key) ? cache.allocator.free(pointer, key, cache.order.mark_own_stream())
                                              : cache.allocator.free(pointer, key);
  return result == FreeResult::ok ? infinirtSuccess : refused(cache, result, pointer);
}

infinirtError_t record_stream(Cache& cache, void* pointer, infinirtStream_t stream) try {
  BlockInfo block;
  if (!cache.allocator.block_info(pointer, &block) || block.base != pointer || block.state != BlockState::live) {
    return fail(infinirtErrorInvalidValue, "ptr %p is not the start of a block that was allocated from this cache",
                pointer);
  }
  const StreamKey key = key_of(stream);
  // Nobody else can mark a thread's own stream when the block is freed: its use counts up to here.
  if (is_of_thread(key)) {
    return cache.allocator.record_use(pointer, key, cache.order.mark_own_stream()) == kStatusOk
               ? infinirtSuccess
               : fail(infinirtErrorMemoryAllocation, "no host memory to note the use of ptr %p", pointer);
  }
  std::lock_guard guard(cache.recorded_mutex);
  if (const auto known = cache.recorded.find(pointer); known != cache.recorded.end()) {
    auto& streams = known->second;
    if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
    return infinirtSuccess;
  }
  cache.recorded.emplace(pointer, std::vector<infinirtStream_t>{stream});
  cache.recorded_blocks.fetch_add(1, std::memory_order_release);
  return infinirtSuccess;
} catch (const std::bad_alloc&) {
  return fail(infinirtErrorMemoryAllocation, "no host memory to note the use of ptr %p", pointer);
}

}  // namespace infinirt::cache
