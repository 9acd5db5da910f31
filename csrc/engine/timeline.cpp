#include "engine/timeline.h"

#include <mutex>
#include <vector>

namespace infinirt {

namespace {

struct TimelinePool {
  Mutex mutex;
  Timeline* free_list = nullptr;
  std::vector<Timeline*> all;
};

TimelinePool& pool() {
  static auto* instance = new TimelinePool;
  return *instance;
}

int64_t now_ns() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return int64_t{ts.tv_sec} * 1000000000 + ts.tv_nsec;
}

}  // namespace

Timeline* acquire_timeline() {
  auto& p = pool();
  std::lock_guard guard(p.mutex);
  if (Timeline* timeline = p.free_list) {
    p.free_list = timeline->next_free;
    return timeline;
  }
  auto* timeline = new Timeline;
  p.all.push_back(timeline);
  timeline->number = p.all.size();
  return timeline;
}

void release_timeline(Timeline* timeline) {
  auto& p = pool();
  std::lock_guard guard(p.mutex);
  timeline->next_free = p.free_list;
  p.free_list = timeline;
}

void timelines_lock_for_fork() { pool().mutex.lock(); }
void timelines_unlock_after_fork() { pool().mutex.unlock(); }

void for_each_timeline(void (*visit)(Timeline&)) {
  for (Timeline* timeline : pool().all) visit(*timeline);
}

// The kernel compares 32 bits: the low half of the counter. A sleeper could miss a wake-up only if the counter advanced
// by exactly 2^32 between its look and its sleep.
const std::atomic<uint32_t>* Timeline::futex_word() const {
  const auto* words = reinterpret_cast<const std::atomic<uint32_t>*>(&completed_);
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? words : words + 1;
}

bool Timeline::park(Waiter* waiter, uint64_t value) {
  if (reached(value)) return false;
  std::lock_guard guard(mutex_);
  // Announce first, look again afterwards: advance() stores first and looks for the announcement afterwards.
  parked_.fetch_add(1, std::memory_order_seq_cst);
  if (completed_.load(std::memory_order_seq_cst) >= value) {
    parked_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  waiter->wait_value = value;
  waiter->next_waiter = waiters_;
  waiters_ = waiter;
  return true;
}

void Timeline::wake_parked(uint64_t value) {
  if (sleepers_.load(std::memory_order_seq_cst) != 0) futex_wake(futex_word(), INT32_MAX);
  Waiter* ready = nullptr;
  {
    std::lock_guard guard(mutex_);
    Waiter** link = &waiters_;
    while (Waiter* waiter = *link) {
      if (waiter->wait_value <= value) {
        *link = waiter->next_waiter;
        waiter->next_waiter = ready;
        ready = waiter;
        parked_.fetch_sub(1, std::memory_order_relaxed);
      } else {
        link = &waiter->next_waiter;
      }
    }
  }
  while (ready) {  // the waiter may be gone, or waiting elsewhere, as soon as it is woken
    Waiter* next = ready->next_waiter;
    ready->next_waiter = nullptr;
    ready->wake();
    ready = next;
  }
}

void Timeline::sleep_until(uint64_t value, int spin) { (void)sleep_until(value, spin, -1); }

bool Timeline::sleep_until(uint64_t value, int spin, int64_t timeout_ns) {
  for (int i = 0; i < spin; ++i) {
    if (reached(value)) return true;
    cpu_pause();
  }
  if (reached(value)) return true;
  const int64_t deadline = timeout_ns < 0 ? 0 : now_ns() + timeout_ns;
  parked_.fetch_add(1, std::memory_order_seq_cst);
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  bool arrived = true;
  for (;;) {
    const uint64_t seen = completed_.load(std::memory_order_seq_cst);
    if (seen >= value) break;
    if (timeout_ns < 0) {
      futex_wait(futex_word(), static_cast<uint32_t>(seen));
      continue;
    }
    const int64_t left = deadline - now_ns();
    if (left <= 0) {
      arrived = false;
      break;
    }
    const timespec limit{left / 1000000000, left % 1000000000};
    futex_wait(futex_word(), static_cast<uint32_t>(seen), &limit);
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  parked_.fetch_sub(1, std::memory_order_relaxed);
  return arrived;
}

void Timeline::abandon(uint64_t last) {
  mutex_.reset_after_fork();
  waiters_ = nullptr;
  parked_.store(0);
  sleepers_.store(0);
  const uint64_t done = completed_.load();
  if (last > done) {
    lost_after_.store(done);
    lost_until_.store(last);
    completed_.store(last);
  }
}

}  // namespace infinirt
