// A timeline counts what a stream has finished. The pair (timeline, value) names a point in a stream's order.
//
// Timelines are never freed and never run backwards: when a stream dies, its timeline is recycled for another stream and
// goes on counting from where it was. A pair taken from the old stream therefore stays valid for ever, and reached.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/mutex.h"
#include "engine/wait_guess.h"

namespace infinirt {

class Runnable;

// Something to be woken when a timeline reaches a value. It is unlinked before `wake` is called.
struct Waiter {
  Waiter* next_waiter = nullptr;
  uint64_t wait_value = 0;
  virtual void wake() = 0;

 protected:
  ~Waiter() = default;
};

class Timeline {
 public:
  // All work up to and including `value` has finished.
  bool reached(uint64_t value) const { return completed_.load(std::memory_order_acquire) >= value; }
  uint64_t completed() const { return completed_.load(std::memory_order_acquire); }

  // Called by whoever executes the stream, in order. Wakes waiters and sleeping threads.
  void advance(uint64_t value) {
    completed_.store(value, std::memory_order_seq_cst);
    if (parked_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wake_parked(value);
  }

  // Enlists the waiter and returns true; false when the value is reached already (the waiter is then not touched).
  // After true the waiter may be woken at any moment, on any thread.
  bool park(Waiter* waiter, uint64_t value);

  // Blocks the calling thread until the value is reached: spins for `spin` rounds, then sleeps.
  void sleep_until(uint64_t value, int spin);
  // The same with a limit; false when it ran out.
  bool sleep_until(uint64_t value, int spin, int64_t timeout_ns);

  // A forked child has lost the work after `completed`: values up to `last` count as reached, and as lost.
  void abandon(uint64_t last);
  bool lost(uint64_t value) const {
    return value > lost_after_.load(std::memory_order_relaxed) && value <= lost_until_.load(std::memory_order_relaxed);
  }

  // Work of this value calls a vendor's library (it copies to or from that one's memory), or comes after such work on another timeline.
  // Called in the order of values, by one thread at a time.
  void note_vendor_call(uint64_t value) {
    vendor_calls_[vendor_count_++ % kVendorCalls].store(value, std::memory_order_release);
  }
  // Whether such work is not finished, up to and including `value`. Perhaps, where more of it is under way than is remembered.
  bool awaits_vendor(uint64_t value) const {
    const uint64_t done = completed();
    bool forgot = true;
    for (const auto& call : vendor_calls_) {
      const uint64_t at = call.load(std::memory_order_acquire);
      if (at > done && at <= value) return true;
      forgot &= at > done;
    }
    return forgot;
  }

  Timeline* next_free = nullptr;
  uint64_t number = 0;  // for observers: which order its values count in
  std::atomic<Runnable*> runner{nullptr};  // the stream that counts on it, or did last; streams are never unmapped
  WaitGuess guess;

 private:
  void wake_parked(uint64_t value);
  const std::atomic<uint32_t>* futex_word() const;

  std::atomic<uint64_t> completed_{0};
  static constexpr size_t kVendorCalls = 8;
  std::atomic<uint64_t> vendor_calls_[kVendorCalls] = {};  // the newest values of such work
  size_t vendor_count_ = 0;
  std::atomic<uint32_t> parked_{0};  // waiters in the list plus sleeping threads
  std::atomic<uint32_t> sleepers_{0};
  Mutex mutex_;
  Waiter* waiters_ = nullptr;
  std::atomic<uint64_t> lost_after_{0};
  std::atomic<uint64_t> lost_until_{0};
};

// A point in some stream's order; null timeline: the beginning of time, always reached.
struct Point {
  Timeline* timeline = nullptr;
  uint64_t value = 0;
  bool reached() const { return !timeline || timeline->reached(value); }
  bool lost() const { return timeline && timeline->lost(value); }
  bool awaits_vendor() const { return timeline && !reached() && timeline->awaits_vendor(value); }
};

Timeline* acquire_timeline();
// All its points must be reached.
void release_timeline(Timeline* timeline);

void timelines_lock_for_fork();
void timelines_unlock_after_fork();  // in parent and child

// Visits every timeline ever made; for the fork handler only.
void for_each_timeline(void (*visit)(Timeline&));

}  // namespace infinirt
