// Device memory that other processes can map.
//
// Memory is private until it is shared; then its pages are moved, in place, into a file. All memory of infinirtMalloc goes
// into one file, each page at the place that its address gives it: allocations below 64 KiB share pages with others, which
// go along, and so nothing ever lies in two files. Such a neighbour is then shared with forked children as well.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "backends/cpu/memory.h"
#include "core/mutex.h"
#include "engine/engine.h"

namespace infinirt::cpu {

class SharedMemory {
 public:
  explicit SharedMemory(MemoryManager& memory) : memory_(memory) {}

  // Contracts as in Engine.
  infinirtError_t share(void* base, size_t size, SharedRange* range);
  infinirtError_t share_into(void* base, size_t size, int file, size_t offset);
  infinirtError_t map(int device, int file, size_t offset, size_t size, void** out);
  void unmap(int device, void* pointer, size_t size);

  // The allocation is about to be released: it becomes private again, with its contents. One load when nothing is shared.
  void before_release(void* base) {
    if (count_.load(std::memory_order_acquire) != 0) [[unlikely]]
      make_private(base);
  }

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }
  // What was shared is the parent's: the child has it copy-on-write, and shares nothing.
  void reset_in_child();

 private:
  struct Shared {
    size_t size = 0;
    SharedRange range;  // without a token: share_into
  };

  bool open_file();
  bool take_slot(SharedRange* range);
  bool move_pages(uintptr_t first, uintptr_t last, int file, size_t offset, bool keep);
  bool move_packed(uintptr_t first, uintptr_t last);
  bool restore_pages(uintptr_t first, uintptr_t last, bool keep);
  void copy_on_write(uintptr_t first, uintptr_t last, int file, size_t offset);
  void make_private(void* base);

  MemoryManager& memory_;
  Mutex mutex_;
  std::atomic<size_t> count_{0};  // allocations that are shared
  std::map<uintptr_t, Shared> by_base_;
  std::set<uintptr_t> packed_;  // pages of small allocations that are in the common file, and stay there
  int file_ = -1;  // the common file: tokens first, then the pages
  uint64_t* tokens_ = nullptr;
};

}  // namespace infinirt::cpu
