// A heap in a reserved address range, with the pages of freed memory kept warm up to a bound.
//
// Every span of 4 KiB and more starts at a page boundary. That is deliberate: copies are slow when the destination lies a
// little after the source modulo 4096 (loads then look as if they depended on the stores just made), and the one
// difference that never does is 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "backends/cpu/address_space.h"
#include "core/mutex.h"

namespace infinirt::cpu {

// How the host reaches the memory.
enum class HeapAccess : uint8_t {
  Plain,
  Isolated,  // not at the addresses handed out; the memory lies at a constant distance (see backing())
  Watched,  // at these as well, and they can be shut (core/watched_memory.h): every span has its pages to itself
};

class Heap {
 public:
  // `cache_bytes`: how much freed memory keeps its pages. False when no address space could be had.
  bool open(size_t wanted, HeapAccess access, size_t cache_bytes);

  // Alignment: 512 below 4 KiB (4 KiB when watched), 4 KiB below 2 MiB, else 2 MiB. Contents are undefined. Null when there
  // is no room.
  void* take(size_t size);
  // `size` as given to take().
  void give(void* pointer, size_t size);

  bool contains(const void* pointer) const { return range_.contains(pointer); }
  // Work has to go to backing().
  bool translates() const { return offset_ != 0; }
  // Where the memory behind an address of this heap is. Other addresses are returned as they are.
  void* backing(const void* pointer) const {
    auto address = reinterpret_cast<uintptr_t>(pointer);
    if (offset_ != 0 && address - range_.base < range_.size) address += offset_;
    return reinterpret_cast<void*>(address);
  }

  size_t cached_bytes();
  // Gives the pages of all cached spans back to the system.
  void drop_cache();

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  struct Zone {
    Zone(uintptr_t begin, uintptr_t end, size_t unit)
        : spans(begin, end), begin(begin), end(end), unit(unit), ready(begin) {}
    SpanAllocator spans;
    uintptr_t begin, end;
    size_t unit;  // sizes are multiples of this
    uintptr_t ready;  // accessible up to here
    std::set<std::pair<size_t, uint64_t>> by_size;  // cached spans: size and age
  };
  struct Cached {
    Zone* zone;
    uintptr_t base;
    size_t size;
  };
  struct Freed {
    uintptr_t base;
    size_t size;
  };

  bool map_twice(uintptr_t other);
  Zone* zone_of(uintptr_t address);
  uintptr_t take_cached(Zone& zone, size_t size);
  uintptr_t take_fresh(Zone& zone, size_t size, size_t alignment);
  bool make_ready(Zone& zone, uintptr_t end);
  void give_small(Zone& zone, uintptr_t base, size_t size);
  void cache(Zone& zone, uintptr_t base, size_t size);
  Cached uncache(std::map<uint64_t, Cached>::iterator entry);
  void evict_to(size_t bytes);
  void discard_pages(uintptr_t base, size_t size);

  Mutex mutex_;
  ReservedRange range_;
  uintptr_t offset_ = 0;
  bool watched_ = false;
  size_t cache_limit_ = 0;
  size_t cached_ = 0;
  uint64_t clock_ = 0;
  std::vector<std::unique_ptr<Zone>> zones_;  // small, medium, large; in address order
  std::map<uint64_t, Cached> by_age_;
  std::deque<Freed> resting_;  // small spans that are not handed out again just yet
  size_t resting_bytes_ = 0;
  size_t small_free_resident_ = 0;  // freed small memory since its pages were last given back
};

}  // namespace infinirt::cpu
