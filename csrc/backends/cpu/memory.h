// The memory of all CPU devices: one address range, separate accounts.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "backends/cpu/guarded.h"
#include "backends/cpu/heap.h"
#include "core/registry.h"
#include "infinirt.h"

namespace infinirt::cpu {

inline constexpr int kMaxDevices = 16;

// "4096", "64K", "1.5G"-like sizes without fractions: digits and one of K, M, G, T (powers of 1024), either case, with an
// optional trailing B. False when the text is anything else or overflows.
bool parse_bytes(const char* text, size_t* bytes);

struct MemoryOptions {
  bool isolated = false;  // INFINIRT_CPU_MEMORY=isolated: the host cannot touch device memory
  bool watched = false;   // INFINIRT_CPU_MEMORY=watched: pinned and managed memory can be shut to the program
  bool guarded = false;   // INFINIRT_CPU_MEMORY=guarded: red zones, poison, quarantine
  size_t limit = 0;       // INFINIRT_CPU_MEMORY_LIMIT, per device; 0: none
  size_t cache = 0;       // INFINIRT_CPU_CACHE: how much freed memory stays warm
  std::string problem;    // what was wrong with the settings; empty when nothing was
};

MemoryOptions memory_options_from_environment();

// What this process may use: physical memory, or its control group's limit when that is lower.
size_t usable_memory();

class MemoryManager {
 public:
  MemoryManager(int devices, const MemoryOptions& options);

  // Empty when the manager is usable.
  const std::string& problem() const { return problem_; }

  // Contracts as in Engine.
  infinirtError_t allocate(int device, size_t size, MemoryKind kind, void** out);
  void release(int device, void* pointer, size_t size, MemoryKind kind);
  void info(int device, size_t* free_bytes, size_t* total_bytes) const;
  infinirtError_t set_limit(int device, size_t bytes);
  infinirtError_t verify(int device, const void* pointer);

  bool in_device_range(const void* pointer) const { return device_heap_.contains(pointer); }
  // Whether backing() is ever another address than the one given.
  bool translates() const { return device_heap_.translates() || host_heap_.translates(); }
  // Where work reaches the memory behind any address: that of isolated and of watched memory lies elsewhere.
  void* backing(const void* pointer) const { return host_heap_.backing(device_heap_.backing(pointer)); }

  void lock_for_fork();
  void unlock_after_fork();

 private:
  struct Account {
    std::atomic<size_t> used{0};
    std::atomic<size_t> limit{0};
  };
  size_t total(int device) const;
  bool charge(int device, size_t size);
  infinirtError_t out_of_memory(int device, size_t size, const char* why) const;
  // Pinned and managed memory is the host's as well as the device's, so it never lies in the device range.
  static bool host_reachable(MemoryKind kind) { return kind == MemoryKind::Pinned || kind == MemoryKind::Managed; }

  int devices_;
  size_t usable_;
  std::string problem_;
  Heap device_heap_, host_heap_;
  std::unique_ptr<GuardedMemory> device_guard_, host_guard_;  // null unless guarded
  Account accounts_[kMaxDevices];
};

}  // namespace infinirt::cpu
