// A lock for sections of a few dozen instructions: one read-modify-write to take it, a plain store to give it up.
//
// A mutex that wakes sleepers pays a second read-modify-write in every unlock. Here nobody sleeps on the lock: a waiter that has
// spun for long (the holder lost its processor) sleeps by the clock instead.
#pragma once

#include <time.h>

#include <atomic>

#include "core/mutex.h"

namespace infinirt::caching {

class ShortLock {
 public:
  void lock() noexcept {
    if (held_.exchange(1, std::memory_order_acquire) != 0) [[unlikely]]
      lock_slow();
  }
  void unlock() noexcept { held_.store(0, std::memory_order_release); }

 private:
  // Looks ever more rarely: a holder that is left alone takes the lock several times over before the line moves to another
  // processor, which serves everybody better than taking turns.
  [[gnu::noinline, gnu::cold]] void lock_slow() noexcept {
    for (int pauses = kFirstPauses, looks = 0;; ++looks) {
      for (int i = 0; i < pauses; ++i) cpu_pause();
      if (held_.load(std::memory_order_relaxed) == 0 && held_.exchange(1, std::memory_order_acquire) == 0) return;
      if (pauses < kMostPauses) pauses *= 2;
      if (looks < 32) continue;
      timespec nap{0, 50'000};
      nanosleep(&nap, nullptr);
    }
  }

  static constexpr int kFirstPauses = 4, kMostPauses = 64;
  std::atomic<uint32_t> held_{0};
};

}  // namespace infinirt::caching
