// A mutex of four bytes that spins briefly before it sleeps; std::mutex never spins, and our critical sections are short.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace infinirt {

inline void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Pauses before sleeping, where nobody knows how long it will take. Few on purpose: a virtual machine's host takes the core away from a longer loop of
// pauses (measured: hand-offs twice as slow with 64 as with 8). Who expects an end soon looks for longer (scheduler.h).
inline constexpr int kShortSpin = 8;

inline void futex_wait(const std::atomic<uint32_t>* word, uint32_t expected, const timespec* timeout = nullptr) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout, nullptr, 0);
}

inline void futex_wake(const std::atomic<uint32_t>* word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

class Mutex {
 public:
  void lock() {
    uint32_t expected = 0;
    if (!state_.compare_exchange_strong(expected, 1, std::memory_order_acquire)) [[unlikely]]
      lock_slow();
  }
  bool try_lock() {
    uint32_t expected = 0;
    return state_.compare_exchange_strong(expected, 1, std::memory_order_acquire);
  }
  void unlock() {
    if (state_.exchange(0, std::memory_order_release) == 2) [[unlikely]]
      futex_wake(&state_, 1);
  }
  // In a forked child: whoever held it is gone.
  void reset_after_fork() { state_.store(0, std::memory_order_relaxed); }

 private:
  void lock_slow() {
    for (int i = 0; i < kShortSpin; ++i) {
      uint32_t expected = 0;
      if (state_.load(std::memory_order_relaxed) == 0 &&
          state_.compare_exchange_strong(expected, 1, std::memory_order_acquire)) {
        return;
      }
      cpu_pause();
    }
    while (state_.exchange(2, std::memory_order_acquire) != 0) futex_wait(&state_, 2);
  }

  std::atomic<uint32_t> state_{0};  // 0 free, 1 held, 2 held and someone sleeps
};

}  // namespace infinirt
