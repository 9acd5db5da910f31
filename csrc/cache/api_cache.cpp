// The functions of infinirt_ext.h that begin with infinirtXCache.
#include <new>

#include "cache/cache.h"
#include "cache/device_calls.h"

namespace infinirt::cache {

namespace {

// The cache, if this thread may call and the device is still there; null with a message.
Cache* usable(infinirtXCache_t handle) {
  if (barred()) return nullptr;
  Cache* cache = resolve(handle);
  if (cache && cache->lost.load(std::memory_order_acquire)) [[unlikely]] {
    fail(infinirtErrorContextIsDestroyed, "%s:%d was reset after the cache was created; create another cache",
         cache->backend.name.c_str(), cache->device);
    return nullptr;
  }
  return cache;
}

infinirtError_t pending_code() { return thread_extra(thread_state()).pending_code; }

infinirtError_t check_stream(const Cache& cache, infinirtStream_t stream) {
  thread_state().routed = &cache.backend;
  if (reinterpret_cast<uintptr_t>(stream) <= 2) return infinirtSuccess;
  HandleKind kind = HandleKind::None;
  const HandleSlot* slot = handle_slot(stream, &kind);
  if (slot ? kind == HandleKind::Stream && slot->backend == cache.backend.index
           : cache.backend.native_handles && !handle_is_ours(stream)) [[likely]]
    return infinirtSuccess;
  if (slot && kind == HandleKind::Stream) {
    return fail(infinirtErrorInvalidResourceHandle, "stream %p belongs to device type '%s', the cache to '%s'",
                static_cast<void*>(stream), backend_at(slot->backend)->name.c_str(), cache.backend.name.c_str());
  }
  char text[96];
  return fail(infinirtErrorInvalidResourceHandle, "stream %s",
              describe_handle(stream, HandleKind::Stream, text, sizeof text));
}

// The predefined streams are those of the cache's device, which need not be the thread's.
infinirtError_t ask_whether_capturing(const Cache& cache, infinirtStream_t stream,
                                      enum infinirtStreamCaptureStatus* status) {
  int current = cache.device;
  if (cache.one_of_several && reinterpret_cast<uintptr_t>(stream) <= 2) cache.backend.table.GetDevice(&current);
  if (current != cache.device) [[unlikely]] {
    const DeviceCalls calls(cache.backend, cache.device);
    return calls->StreamIsCapturing(stream, status);
  }
  return cache.backend.table.StreamIsCapturing(stream, status);
}

infinirtError_t check_not_capturing(const Cache& cache, infinirtStream_t stream) {
  const RoutedScope scope(thread_state(), &cache.backend);
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  // The legacy stream cannot be asked while another one's capture bars it; it does not capture itself.
  const infinirtError_t error = ask_whether_capturing(cache, stream, &status);
  if (error == infinirtErrorStreamCaptureImplicit) {
    thread_extra(thread_state()).has_pending = false;
    return infinirtSuccess;
  }
  if (error != infinirtSuccess) return error;
  if (status == infinirtStreamCaptureStatusNone) [[likely]]
    return infinirtSuccess;
  return fail(infinirtErrorStreamCaptureUnsupported,
              "stream %p is capturing, and the graph would keep using memory that the cache hands to others; allocate "
              "before the capture, or from a reserve (infinirtXCacheReserveCreate)",
              static_cast<void*>(stream));
}

// A warm allocation succeeds at once; what is done when it does not, and what is said, stands in shortage.cpp.
template <class Attempt>
Status attempt_and_wait(Cache& cache, size_t size, Attempt attempt) {
  const Status status = attempt();
  return status != kStatusOutOfMemory ? status : attempt_in_shortage(cache, size, attempt);
}

infinirtError_t finish_allocation(Cache& cache, Status status, void* ptr, size_t size, infinirtStream_t stream) {
  if (status == kStatusOk) [[likely]] {
    if (cache.trace.is_on() && ptr) [[unlikely]]
      cache.trace.note(infinirtXCacheEventAllocate, ptr, size, key_of(stream));
    return infinirtSuccess;
  }
  return status == kStatusOutOfMemory ? explain_shortage(cache, size) : static_cast<infinirtError_t>(status);
}

// Before it happens: another thread may be given the same block before we could say so. A free that will be refused is none.
void note_free(Cache& cache, void* ptr, infinirtStream_t stream) {
  BlockInfo block;
  if (cache.allocator.block_info(ptr, &block) && block.base == ptr && block.state == BlockState::live)
    cache.trace.note(infinirtXCacheEventFree, ptr, 0, key_of(stream));
}

infinirtError_t create_cache(infinirtXCache_t* out, const infinirtXCacheProps* props) {
  if (auto error = barred()) return error;
  if (!out || !props) return fail(infinirtErrorInvalidValue, "cache and props must not be null");
  *out = nullptr;
  if (props->structSize != sizeof *props) {
    return fail(infinirtErrorInvalidValue, "props->structSize is %zu; sizeof(infinirtXCacheProps), %zu, was expected",
                props->structSize, sizeof *props);
  }
  if (props->memory != infinirtXCacheMemoryDevice && props->memory != infinirtXCacheMemoryHost) {
    return fail(infinirtErrorInvalidValue, "props->memory is %d, no infinirtXCacheMemory",
                static_cast<int>(props->memory));
  }
  Cache* cache = create(*props);
  if (!cache) return routing_failed(thread_state());
  *out = static_cast<infinirtXCache_t>(cache->handle);
  return infinirtSuccess;
}

infinirtError_t destroy_cache(infinirtXCache_t handle) {
  if (auto error = barred()) return error;
  Cache* cache = resolve(handle);
  return cache ? destroy(*cache, handle) : infinirtErrorInvalidResourceHandle;
}

infinirtError_t allocate(void** ptr, size_t size, infinirtXCache_t handle, infinirtStream_t stream) {
  if (!ptr) return fail(infinirtErrorInvalidValue, "ptr is null");
  *ptr = nullptr;
  Cache* cache = usable(handle);
  if (!cache) return pending_code();
  if (auto error = check_stream(*cache, stream)) return error;
  if (auto error = check_not_capturing(*cache, stream)) return error;
  const Status status =
      attempt_and_wait(*cache, size, [&] { return cache->allocator.allocate(size, key_of(stream), ptr); });
  return finish_allocation(*cache, status, *ptr, size, stream);
}

infinirtError_t free(void* ptr, infinirtXCache_t handle, infinirtStream_t stream) {
  if (auto error = barred()) return error;
  Cache* cache = resolve(handle);
  if (!cache) return infinirtErrorInvalidResourceHandle;
  if (!ptr || cache->lost.load(std::memory_order_acquire)) return infinirtSuccess;
  if (auto error = check_stream(*cache, stream)) return error;
  if (cache->trace.is_on()) [[unlikely]]
    note_free(*cache, ptr, stream);
  return free_block(*cache, ptr, stream);
}

infinirtError_t record(void* ptr, infinirtXCache_t handle, infinirtStream_t stream) {
  Cache* cache = usable(handle);
  if (!cache) return pending_code();
  if (auto error = check_stream(*cache, stream)) return error;
  const infinirtError_t error = record_stream(*cache, ptr, stream);
  if (error == infinirtSuccess && cache->trace.is_on()) [[unlikely]]
    cache->trace.note(infinirtXCacheEventUse, ptr, 0, key_of(stream));
  return error;
}

infinirtError_t trim(infinirtXCache_t handle, size_t keep) {
  Cache* cache = usable(handle);
  if (!cache) return pending_code();
  cache->allocator.trim_to(keep);
  return infinirtSuccess;
}

infinirtError_t get_stats(infinirtXCacheStats* out, infinirtXCache_t handle) {
  if (!out) return fail(infinirtErrorInvalidValue, "stats is null");
  Cache* cache = resolve(handle);
  if (!cache) return infinirtErrorInvalidResourceHandle;
  const AllocatorStats now = cache->allocator.stats();
  const AllocatorStats& before = cache->before;
  *out = {};
  out->reservedCurrent = now.reserved_current;
  out->reservedHigh = now.reserved_high;
  out->usedCurrent = now.used_current;
  out->usedHigh = now.used_high;
  out->requestedCurrent = now.requested_current;
  out->segments = now.segments;
  out->liveBlocks = now.live_blocks;
  out->pendingBlocks = now.pending_blocks;
  out->largestFreeBlock = now.largest_free_block;
  out->allocations = now.allocations - before.allocations;
  out->frees = now.frees - before.frees;
  out->segmentsMapped = now.segment_maps - before.segment_maps;
  out->segmentsUnmapped = now.segment_unmaps - before.segment_unmaps;
  out->outOfMemory = now.out_of_memory - before.out_of_memory;
  return infinirtSuccess;
}

infinirtError_t set_max_size(infinirtXCache_t handle, size_t bytes) {
  Cache* cache = usable(handle);
  if (!cache) return pending_code();
  cache->allocator.set_limit(bytes);
  return infinirtSuccess;
}

infinirtError_t get_segment(void** base, size_t* size, infinirtXCache_t handle, const void* ptr) {
  if (!base || !size) return fail(infinirtErrorInvalidValue, "base and size must not be null");
  const Cache* cache = usable(handle);
  if (!cache) return pending_code();
  *base = nullptr;
  *size = 0;
  if (cache->allocator.owns(ptr)) {
    cache->allocator.for_each_segment([&](const SegmentInfo& segment) {
      const auto offset = static_cast<const char*>(ptr) - static_cast<const char*>(segment.base);
      if (offset < 0 || static_cast<size_t>(offset) >= segment.bytes) return;
      *base = segment.base;
      *size = segment.bytes;
    });
  }
  if (*base) return infinirtSuccess;
  return fail(infinirtErrorInvalidValue, "ptr %p is no memory of this cache (of %s:%d)", ptr,
              cache->backend.name.c_str(), cache->device);
}

infinirtXCacheBlockState public_state(BlockState state) {
  switch (state) {
    case BlockState::live:
      return infinirtXCacheBlockUsed;
    case BlockState::pending:
      return infinirtXCacheBlockPending;
    case BlockState::free:
      break;
  }
  return infinirtXCacheBlockFree;
}

infinirtError_t get_blocks(infinirtXCacheBlock* blocks, size_t* count, infinirtXCache_t handle) try {
  if (!count) return fail(infinirtErrorInvalidValue, "count is null");
  if (!blocks && *count != 0) return fail(infinirtErrorInvalidValue, "blocks is null, and *count %zu", *count);
  const Cache* cache = usable(handle);
  if (!cache) return pending_code();
  const size_t room = *count;
  *count = 0;
  // Runs under the allocator's locks: only writes to the caller's memory.
  cache->allocator.for_each_block([&](const SegmentInfo& segment, const BlockInfo& block) {
    const size_t index = (*count)++;
    if (index >= room) return;
    infinirtXCacheBlock& out = blocks[index];
    out = {};
    out.segment = segment.base;
    out.segmentSize = segment.bytes;
    out.base = block.base;
    out.size = block.size;
    out.requested = block.requested;
    out.state = public_state(block.state);
    out.isReserved = block.pinned ? 1 : 0;
    out.stream = block.stream.id;
  });
  return infinirtSuccess;
} catch (const std::bad_alloc&) {
  return fail(infinirtErrorMemoryAllocation, "no host memory to look through the cache");
}

infinirtError_t begin_trace(infinirtXCache_t handle, size_t most) {
  Cache* cache = usable(handle);
  if (!cache) return pending_code();
  return cache->trace.begin(most) ? infinirtSuccess
                                  : fail(infinirtErrorInvalidValue, "the cache records already; end that first");
}

infinirtError_t read_trace(infinirtXCacheEvent* events, size_t* count, size_t* lost, infinirtXCache_t handle) {
  if (!count || (!events && *count != 0)) return fail(infinirtErrorInvalidValue, "events and count must not be null");
  if (auto error = barred()) return error;
  Cache* cache = resolve(handle);
  if (!cache) return infinirtErrorInvalidResourceHandle;
  cache->trace.read(events, count, lost);
  return infinirtSuccess;
}

infinirtError_t end_trace(infinirtXCache_t handle) {
  if (auto error = barred()) return error;
  Cache* cache = resolve(handle);
  if (!cache) return infinirtErrorInvalidResourceHandle;
  cache->trace.end();
  return infinirtSuccess;
}

infinirtError_t reset_peaks(infinirtXCache_t handle) {
  Cache* cache = usable(handle);
  if (!cache) return pending_code();
  cache->allocator.reset_used_high();
  cache->allocator.reset_reserved_high();
  return infinirtSuccess;
}

infinirtError_t create_reserve(infinirtXCacheReserve_t* reserve, infinirtXCache_t handle) {
  if (!reserve) return fail(infinirtErrorInvalidValue, "reserve is null");
  *reserve = 0;
  Cache* cache = usable(handle);
  if (!cache) return pending_code();
  *reserve = cache->allocator.make_pin().id;
  return *reserve ? infinirtSuccess : fail(infinirtErrorMemoryAllocation, "no host memory for another reserve");
}

infinirtError_t no_such_reserve(infinirtXCacheReserve_t reserve) {
  return fail(infinirtErrorInvalidValue, "reserve %llu is none of this cache, or was destroyed", reserve);
}

infinirtError_t allocate_from_reserve(void** ptr, size_t size, infinirtXCache_t handle, infinirtXCacheReserve_t reserve,
                                      infinirtStream_t stream) {
  if (!ptr) return fail(infinirtErrorInvalidValue, "ptr is null");
  *ptr = nullptr;
  Cache* cache = usable(handle);
  if (!cache) return pending_code();
  if (auto error = check_stream(*cache, stream)) return error;
  if (reserve == 0) return no_such_reserve(reserve);
  const Status status = attempt_and_wait(
      *cache, size, [&] { return cache->allocator.allocate(size, key_of(stream), PinToken{reserve}, ptr); });
  if (status == kStatusInvalidValue) return no_such_reserve(reserve);
  return finish_allocation(*cache, status, *ptr, size, stream);
}

infinirtError_t destroy_reserve(infinirtXCache_t handle, infinirtXCacheReserve_t reserve, infinirtStream_t stream) {
  if (auto error = barred()) return error;
  Cache* cache = resolve(handle);
  if (!cache) return infinirtErrorInvalidResourceHandle;
  if (cache->lost.load()) return infinirtSuccess;
  if (auto error = check_stream(*cache, stream)) return error;
  const StreamKey key = key_of(stream);
  const Fence last_use = is_of_thread(key) ? cache->order.mark_own_stream() : cache->order.now(key);
  return cache->allocator.release_pin(PinToken{reserve}, last_use) == kStatusOk ? infinirtSuccess
                                                                                : no_such_reserve(reserve);
}

}  // namespace

}  // namespace infinirt::cache

using infinirt::finish_error;
namespace cache = infinirt::cache;

extern "C" {

infinirtError_t infinirtXCacheCreate(infinirtXCache_t* cache, const infinirtXCacheProps* props) {
  return finish_error(__func__, cache::create_cache(cache, props));
}

infinirtError_t infinirtXCacheDestroy(infinirtXCache_t cache) {
  return finish_error(__func__, cache::destroy_cache(cache));
}

infinirtError_t infinirtXCacheAllocate(void** ptr, size_t size, infinirtXCache_t cache, infinirtStream_t stream) {
  const auto call = [&] { return finish_error("infinirtXCacheAllocate", cache::allocate(ptr, size, cache, stream)); };
  return infinirt::observe_extension(infinirt::ExtensionId::CacheAllocate, call, ptr, size, cache, stream);
}

infinirtError_t infinirtXCacheFree(void* ptr, infinirtXCache_t cache, infinirtStream_t stream) {
  const auto call = [&] { return finish_error("infinirtXCacheFree", cache::free(ptr, cache, stream)); };
  return infinirt::observe_extension(infinirt::ExtensionId::CacheFree, call, ptr, cache, stream);
}

infinirtError_t infinirtXCacheRecordStream(void* ptr, infinirtXCache_t cache, infinirtStream_t stream) {
  const auto call = [&] { return finish_error("infinirtXCacheRecordStream", cache::record(ptr, cache, stream)); };
  return infinirt::observe_extension(infinirt::ExtensionId::CacheRecordStream, call, ptr, cache, stream);
}

infinirtError_t infinirtXCacheTrimTo(infinirtXCache_t cache, size_t minBytesToKeep) {
  return finish_error(__func__, cache::trim(cache, minBytesToKeep));
}

infinirtError_t infinirtXCacheGetStats(infinirtXCacheStats* stats, infinirtXCache_t cache) {
  return finish_error(__func__, cache::get_stats(stats, cache));
}

infinirtError_t infinirtXCacheSetMaxSize(infinirtXCache_t cache, size_t maxSize) {
  return finish_error(__func__, cache::set_max_size(cache, maxSize));
}

infinirtError_t infinirtXCacheGetSegment(void** base, size_t* size, infinirtXCache_t cache, const void* ptr) {
  return finish_error(__func__, cache::get_segment(base, size, cache, ptr));
}

infinirtError_t infinirtXCacheResetPeaks(infinirtXCache_t cache) {
  return finish_error(__func__, cache::reset_peaks(cache));
}

infinirtError_t infinirtXCacheGetBlocks(infinirtXCacheBlock* blocks, size_t* count, infinirtXCache_t cache) {
  return finish_error(__func__, cache::get_blocks(blocks, count, cache));
}

infinirtError_t infinirtXCacheTraceBegin(infinirtXCache_t cache, size_t maxEvents) {
  return finish_error(__func__, cache::begin_trace(cache, maxEvents));
}

infinirtError_t infinirtXCacheTraceRead(infinirtXCacheEvent* events, size_t* count, size_t* lost,
                                        infinirtXCache_t cache) {
  return finish_error(__func__, cache::read_trace(events, count, lost, cache));
}

infinirtError_t infinirtXCacheTraceEnd(infinirtXCache_t cache) {
  return finish_error(__func__, cache::end_trace(cache));
}

infinirtError_t infinirtXCacheReserveCreate(infinirtXCacheReserve_t* reserve, infinirtXCache_t cache) {
  return finish_error(__func__, cache::create_reserve(reserve, cache));
}

infinirtError_t infinirtXCacheReserveAllocate(void** ptr, size_t size, infinirtXCache_t cache,
                                              infinirtXCacheReserve_t reserve, infinirtStream_t stream) {
  const auto call = [&] {
    return finish_error("infinirtXCacheReserveAllocate",
                        cache::allocate_from_reserve(ptr, size, cache, reserve, stream));
  };
  return infinirt::observe_extension(infinirt::ExtensionId::CacheReserveAllocate, call, ptr, size, cache, reserve,
                                     stream);
}

infinirtError_t infinirtXCacheReserveDestroy(infinirtXCache_t cache, infinirtXCacheReserve_t reserve,
                                             infinirtStream_t stream) {
  const auto call = [&] {
    return finish_error("infinirtXCacheReserveDestroy", cache::destroy_reserve(cache, reserve, stream));
  };
  return infinirt::observe_extension(infinirt::ExtensionId::CacheReserveDestroy, call, cache, reserve, stream);
}

}  // extern "C"
