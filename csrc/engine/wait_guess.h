// A guess about a stream: does whoever gives it work wait for that at once? If so, the work may run in the call that gives
// it, and no worker has to be woken (docs/decisions/0026). Any thread may change a guess at any time; a wrong one costs
// time, no more.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace infinirt {

int64_t monotonic_ns();  // engine/event.h

class WaitGuess {
 public:
  // Whether the next computation may run ahead of the wait for it. Asked for a computation that would.
  bool may_run_ahead() {
    if (times_.load(std::memory_order_relaxed) < kOftenEnough) return false;
    if (!is_ahead()) return true;
    note(false);  // nobody waited for the last one
    return false;
  }

  // Whether work has run in its caller's thread that nobody has waited for yet.
  bool is_ahead() const { return since_.load(std::memory_order_relaxed) != 0; }

  // Work up to `value` has just run in this thread, which gave it, and began then.
  void ran_ahead(uint64_t value, int64_t began) {
    const int64_t now = monotonic_ns();
    value_.store(value, std::memory_order_relaxed);
    in_time_ns_.store(std::max(kAtOnce_ns, (now - began) / kShare), std::memory_order_relaxed);
    since_.store(now, std::memory_order_relaxed);
    t_ahead = this;
  }

  // Somebody waits for `value`, and it is reached.
  void waited_for(uint64_t value) {
    const int64_t since = since_.load(std::memory_order_relaxed);
    if (since != 0 && value >= value_.load(std::memory_order_relaxed)) {
      note(monotonic_ns() - since < in_time_ns_.load(std::memory_order_relaxed));
    }
    if (since == 0 && left_.load(std::memory_order_relaxed)) forget_what_was_left();  // a worker has done it by now
  }

  // Work is left to a worker. `computes`: it could have run in the call.
  void left_to_worker(bool computes) {
    left_at_.store(computes && !left_.load(std::memory_order_relaxed) ? monotonic_ns() : 0, std::memory_order_relaxed);
    left_.store(true, std::memory_order_relaxed);
  }

  // Whether one computation was left to a worker since the last wait, nothing else, and so lately that a sleeping worker
  // could not have begun it. One that was awake may have: that is why nobody can take the computation back, and no sign
  // that the program had something else to do.
  bool was_left_just_now() const {
    const int64_t at = left_at_.load(std::memory_order_relaxed);
    return at != 0 && monotonic_ns() - at < kAtOnce_ns;
  }

  // How a wait went for work that had been left to a worker: at once means that all of it was waited for, and that none
  // had begun, or that it was left just now.
  void note(bool at_once) {
    const int times = times_.load(std::memory_order_relaxed);
    times_.store(at_once ? std::min(times + 1, kOftenEnough) : 0, std::memory_order_relaxed);
    since_.store(0, std::memory_order_relaxed);
    forget_what_was_left();
  }

  // This thread gives work to the stream of this guess. If another stream's ran ahead and was not waited for, the two could
  // have run side by side.
  void gives_work() {
    WaitGuess* other = t_ahead;
    if (!other || other == this) [[likely]]
      return;
    if (other->is_ahead()) other->note(false);
    t_ahead = nullptr;
  }

 private:
  void forget_what_was_left() {
    left_at_.store(0, std::memory_order_relaxed);
    left_.store(false, std::memory_order_relaxed);
  }

  static constexpr int kOftenEnough = 4;
  static constexpr int64_t kAtOnce_ns = 10000;  // a worker that sleeps comes no sooner
  // Or this share of what ran ahead: more than that was not lost. What goes over memory has emptied the caches, and from the call
  // to the wait a Python program took 11 us behind a fill of 8 MiB.
  static constexpr int64_t kShare = 16;

  static inline thread_local WaitGuess* t_ahead = nullptr;  // what this thread ran ahead last

  std::atomic<int> times_{0};  // in a row that a wait came at once
  std::atomic<int64_t> since_{0}, in_time_ns_{0};
  std::atomic<uint64_t> value_{0};
  std::atomic<bool> left_{false};  // since the last wait
  std::atomic<int64_t> left_at_{0};  // when, if it was one computation and nothing else
};

}  // namespace infinirt
