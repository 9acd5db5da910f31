#include "backends/cpu/heap.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "core/watched_memory.h"

namespace infinirt::cpu {

namespace {

constexpr size_t kSmallUnit = 512;
constexpr size_t kSmallLimit = size_t{64} << 10;  // below: packed, several to a page

// An address that was just freed is not handed out again before so many others were freed: a use after free then meets
// memory that the registry does not know, and is recognised.
constexpr size_t kRestingSpans = 1024;
constexpr size_t kRestingBytes = size_t{4} << 20;

}  // namespace

// One file, seen at the heap's addresses and at `other`.
bool Heap::map_twice(uintptr_t other) {
  const int file = memfd_create("infinirt", MFD_CLOEXEC);
  if (file < 0) return false;
  bool good = ftruncate(file, static_cast<off_t>(range_.size)) == 0;
  for (uintptr_t base : {range_.base, other}) {
    good = good && mmap(reinterpret_cast<void*>(base), range_.size, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                        file, 0) != MAP_FAILED;
  }
  close(file);
  return good;
}

bool Heap::open(size_t wanted, HeapAccess access, size_t cache_bytes) {
  constexpr size_t kLeast = size_t{64} << 20;
  range_ = reserve_range(wanted, kLeast);
  if (range_.size == 0) return false;
  watched_ = access == HeapAccess::Watched;
  if (access != HeapAccess::Plain) {
    const ReservedRange memory = reserve_range(range_.size, range_.size);
    if (memory.size == 0 || (watched_ && !map_twice(memory.base))) return false;
    offset_ = memory.base - range_.base;
  }
  if (watched_) add_watchable(range_.base, range_.size);
  cache_limit_ = cache_bytes;
  const uintptr_t small_end = range_.base + range_.size / 16, medium_end = range_.base + range_.size / 4;
  zones_.push_back(std::make_unique<Zone>(range_.base, small_end, watched_ ? kPage : kSmallUnit));
  zones_.push_back(std::make_unique<Zone>(small_end, medium_end, kPage));
  zones_.push_back(std::make_unique<Zone>(medium_end, range_.base + range_.size, kHugePage));
  return true;
}

Heap::Zone* Heap::zone_of(uintptr_t address) {
  for (auto& zone : zones_) {
    if (address - zone->begin < zone->end - zone->begin) return zone.get();
  }
  return nullptr;
}

bool Heap::make_ready(Zone& zone, uintptr_t end) {
  if (end <= zone.ready) return true;
  // In steps, so that most allocations need no system call; exactly as much as needed when the system is short of it.
  const size_t step = zone.unit == kHugePage ? size_t{64} << 20 : size_t{4} << 20;
  for (uintptr_t target : {std::min(zone.end, round_up(end, step)), round_up(end, kPage)}) {
    void* from = reinterpret_cast<void*>(zone.ready + offset_);
    if (mprotect(from, target - zone.ready, PROT_READ | PROT_WRITE) != 0) continue;
    if (watched_ && mprotect(reinterpret_cast<void*>(zone.ready), target - zone.ready, PROT_READ | PROT_WRITE) != 0)
      continue;
    if (zone.unit == kHugePage) madvise(from, target - zone.ready, MADV_HUGEPAGE);
    zone.ready = target;
    return true;
  }
  return false;
}

uintptr_t Heap::take_fresh(Zone& zone, size_t size, size_t alignment) {
  const uintptr_t base = zone.spans.take(size, alignment);
  if (base == 0) return 0;
  if (make_ready(zone, base + size)) return base;
  zone.spans.give(base, size);
  return 0;
}

uintptr_t Heap::take_cached(Zone& zone, size_t size) {
  auto found = zone.by_size.lower_bound({size, 0});
  if (found == zone.by_size.end() || found->first > 2 * size) return 0;
  // Of those with this size the one freed last: its pages are the warmest.
  found = std::prev(zone.by_size.upper_bound({found->first, UINT64_MAX}));
  const Cached span = uncache(by_age_.find(found->second));
  if (span.size > size) cache(zone, span.base + size, span.size - size);
  return span.base;
}

void* Heap::take(size_t size) {
  if (size == 0 || size > range_.size) return nullptr;
  const size_t first = size < kSmallLimit ? 0 : size < kHugePage ? 1 : 2;
  std::lock_guard guard(mutex_);
  for (int attempt = 0; attempt < 2; ++attempt) {
    // A full zone sends its requests to the next one.
    for (size_t i = first; i < zones_.size(); ++i) {
      Zone& zone = *zones_[i];
      const size_t span = round_up(size, zone.unit);
      uintptr_t base = i > 0 ? take_cached(zone, span) : 0;
      if (base == 0) base = take_fresh(zone, span, i == 0 && size >= kPage ? kPage : zone.unit);
      if (base != 0) return reinterpret_cast<void*>(base);
    }
    evict_to(0);  // cached spans may be what is in the way
  }
  return nullptr;
}

void Heap::give(void* pointer, size_t size) {
  const auto base = reinterpret_cast<uintptr_t>(pointer);
  std::lock_guard guard(mutex_);
  Zone* zone = zone_of(base);
  if (!zone) return;
  const size_t span = round_up(size, zone->unit);
  if (zone == zones_.front().get()) {
    give_small(*zone, base, span);
  } else if (span > cache_limit_) {
    discard_pages(base, span);
    zone->spans.give(base, span);
  } else {
    evict_to(cache_limit_ - span);
    cache(*zone, base, span);
  }
}

void Heap::give_small(Zone& zone, uintptr_t base, size_t size) {
  resting_.push_back({base, size});
  resting_bytes_ += size;
  while (resting_.size() > kRestingSpans || resting_bytes_ > kRestingBytes) {
    const Freed oldest = resting_.front();
    resting_.pop_front();
    resting_bytes_ -= oldest.size;
    zone.spans.give(oldest.base, oldest.size);
    small_free_resident_ += oldest.size;
  }
  if (small_free_resident_ > std::max(cache_limit_, kRestingBytes)) {
    small_free_resident_ = 0;
    zone.spans.for_each_free([&](uintptr_t start, size_t bytes) {
      const uintptr_t first = round_up(start, kPage), last = std::min(start + bytes, zone.ready) / kPage * kPage;
      if (first < last) discard_pages(first, last - first);
    });
  }
}

void Heap::cache(Zone& zone, uintptr_t base, size_t size) {
  const uint64_t age = clock_++;
  by_age_.emplace(age, Cached{&zone, base, size});
  zone.by_size.emplace(size, age);
  cached_ += size;
}

Heap::Cached Heap::uncache(std::map<uint64_t, Cached>::iterator entry) {
  const Cached span = entry->second;
  span.zone->by_size.erase({span.size, entry->first});
  by_age_.erase(entry);
  cached_ -= span.size;
  return span;
}

void Heap::evict_to(size_t bytes) {
  while (cached_ > bytes) {
    const Cached span = uncache(by_age_.begin());
    discard_pages(span.base, span.size);
    span.zone->spans.give(span.base, span.size);
  }
}

void Heap::discard_pages(uintptr_t base, size_t size) {
  madvise(reinterpret_cast<void*>(base + offset_), size, watched_ ? MADV_REMOVE : MADV_DONTNEED);
}

size_t Heap::cached_bytes() {
  std::lock_guard guard(mutex_);
  return cached_;
}

void Heap::drop_cache() {
  std::lock_guard guard(mutex_);
  evict_to(0);
}

}  // namespace infinirt::cpu
