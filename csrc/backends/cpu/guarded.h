// Guarded memory: red zones around every allocation, poison in fresh and freed memory, and a quarantine for the freed.
//
//   [ ... | red zone: one page | the allocation | red zone: 512 bytes up to the page's end and more ]
//
// A write into a red zone is found when the allocation is freed or its device synchronised. Freed memory is refilled with
// poison (small: a later write is found) or made inaccessible (large: a later access faults on the spot) until it leaves
// the quarantine. Blocks inside a pool's segment are not guarded one by one: the segment is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "backends/cpu/heap.h"

namespace infinirt::cpu {

inline constexpr unsigned char kRedZoneByte = 0xFB;
inline constexpr unsigned char kFreshByte = 0xCD;
inline constexpr unsigned char kFreedByte = 0xDD;

class GuardedMemory {
 public:
  explicit GuardedMemory(Heap& heap) : heap_(heap) {}

  // `alignment`: a page or a huge page (then `size` is at least that). Null when there is no memory.
  void* take(size_t size, size_t alignment, int device);
  void give(void* pointer, int device);

  // Checks one live allocation, or with null all of the device's and its freed ones in quarantine. False with a sentence
  // that says what was written where; each finding is reported once.
  bool intact(int device, const void* pointer, std::string* finding);

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  struct Guarded {
    uintptr_t span = 0;  // where the heap's span begins
    size_t span_size = 0;
    size_t size = 0;  // of the allocation itself
    int device = 0;
    bool reported = false;
    bool inaccessible = false;
  };
  struct Finding {
    int device;
    std::string text;
  };

  unsigned char* memory(uintptr_t address) const {
    return static_cast<unsigned char*>(heap_.backing(reinterpret_cast<void*>(address)));
  }
  bool check_zones(uintptr_t base, const Guarded& entry, std::string* finding) const;
  bool check_freed(uintptr_t base, const Guarded& entry, std::string* finding) const;
  void release_oldest();

  Heap& heap_;
  Mutex mutex_;
  std::map<uintptr_t, Guarded> live_;
  std::deque<std::pair<uintptr_t, Guarded>> quarantine_;
  size_t quarantine_bytes_ = 0;
  std::vector<Finding> findings_;  // found when nobody could be told
};

}  // namespace infinirt::cpu
