// What is done when a cache's memory is out, and what is said when that did not help.
#include <algorithm>
#include <new>
#include <string>

#include "cache/cache.h"
#include "cache/device_calls.h"

namespace infinirt::cache {

// Memory that was freed, but that work still uses, can be had by waiting; and what is had in the wrong pieces goes back to the
// device and comes again in the right ones. Unless it is this cache's own limit that is in the way, others can give some back.
Status attempt_in_shortage(Cache& cache, size_t size, const std::function<Status()>& attempt) {
  Status status = kStatusOutOfMemory;
  const AllocatorStats stats = cache.allocator.stats();
  if (stats.reserved_current != stats.used_current) {
    wait_for_marks(cache);
    cache.allocator.trim_to(0);
    status = attempt();
  }
  const size_t limit = cache.allocator.limit();
  const bool may_grow = limit == 0 || size <= limit - std::min(limit, cache.allocator.stats().reserved_current);
  if (status == kStatusOutOfMemory && may_grow && trim_others(cache)) status = attempt();
  if (ThreadExtra* extra = thread_state().extra) extra->has_pending = false;  // of attempts that failed
  return status;
}

namespace {

struct Held {
  size_t reserves = 0;  // set aside for graphs, in use or not
  size_t pending = 0;
  size_t unused = 0;
};

Held look_through(const Cache& cache) {
  Held held;
  cache.allocator.for_each_block([&](const SegmentInfo&, const BlockInfo& block) {
    if (block.pinned)
      held.reserves += block.size;
    else if (block.state == BlockState::pending)
      held.pending += block.size;
    else if (block.state == BlockState::free)
      held.unused += block.size;
  });
  return held;
}

std::string number(size_t value) { return std::to_string(value); }

// What would help, the surest first.
std::string advice(size_t size, size_t limit, const AllocatorStats& stats, const Held& held, const OthersMemory& others,
                   size_t device_free) {
  if (limit && size > limit) return "ask for less, or raise the limit";
  if (limit && limit < AllocatorOptions{}.min_segment)
    return "a cache takes its memory in pieces of 2 MiB: raise the limit to one at least";
  if (limit && stats.reserved_current + size > limit && device_free > size)
    return "free blocks, or raise the limit of the cache";
  if (held.reserves > size) return "destroy graphs that are not needed any more: their memory is set aside for them";
  if (held.unused > size)
    return "the unused memory lies in pieces between blocks in use: allocate what lives long first, or free blocks";
  if (others.used > size) return "free blocks of the other caches, or let this one serve their users, too";
  return "free blocks, or ask for less";
}

}  // namespace

infinirtError_t explain_shortage(Cache& cache, size_t size) try {
  const AllocatorStats stats = cache.allocator.stats();
  const Held held = look_through(cache);
  const OthersMemory others = held_by_others(cache);
  const size_t limit = cache.allocator.limit();
  std::string text = number(size) + " bytes were asked for; the cache of " + cache.backend.name + ":" +
                     std::to_string(cache.device) + " holds " + number(stats.reserved_current);
  if (limit) text += " of at most " + number(limit);
  text += ": " + number(stats.used_current) + " in use, " + number(held.unused) + " unused (largest block " +
          number(stats.largest_free_block) + ")";
  if (held.pending) text += ", " + number(held.pending) + " waiting for other streams";
  if (held.reserves) text += ", " + number(held.reserves) + " set aside for graphs";
  if (others.caches) {
    text += "; " + std::to_string(others.caches) + (others.caches == 1 ? " other cache" : " other caches") +
            " of the process " + (others.caches == 1 ? "holds " : "hold ") + number(others.reserved) + ", " +
            number(others.used) + " in use";
  }
  size_t device_free = 0, device_total = 0;
  if (cache.memory == infinirtXCacheMemoryDevice) {
    const DeviceCalls calls(cache.backend, cache.device);
    if (calls->MemGetInfo(&device_free, &device_total) == infinirtSuccess)
      text += "; " + number(device_free) + " of the device's " + number(device_total) + " are free";
  }
  text += "; no more could be had: " + advice(size, limit, stats, held, others, device_free);
  return fail(infinirtErrorMemoryAllocation, "%s", text.c_str());
} catch (const std::bad_alloc&) {
  return fail(infinirtErrorMemoryAllocation, "%zu bytes were asked for, and no more could be had", size);
}

}  // namespace infinirt::cache
