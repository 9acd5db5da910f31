#include <algorithm>
#include <ctime>
#include <mutex>
#include <new>

#include "cache/cache.h"

namespace infinirt::cache {

bool Trace::begin(size_t most) {
  std::lock_guard guard(mutex_);
  if (is_on()) return false;
  events_.clear();
  noted_ = lost_ = 0;
  most_ = most;
  on_.store(true);
  return true;
}

void Trace::note(infinirtXCacheEventKind kind, void* ptr, size_t size, StreamKey stream) noexcept {
  std::lock_guard guard(mutex_);
  if (!is_on()) return;
  if (noted_ == most_ || lost_ != 0) {  // one event that is missing makes all later ones meaningless
    ++lost_;
    return;
  }
  // Under the lock, so that times are in the order of the events.
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto time =
      static_cast<unsigned long long>(now.tv_sec) * 1'000'000'000 + static_cast<unsigned long long>(now.tv_nsec);
  try {
    events_.push_back({kind, ptr, size, stream.id, time});
    ++noted_;
  } catch (const std::bad_alloc&) {
    ++lost_;
  }
}

void Trace::read(infinirtXCacheEvent* events, size_t* count, size_t* lost) {
  std::lock_guard guard(mutex_);
  const size_t taken = std::min(*count, events_.size());
  const auto end = events_.begin() + static_cast<std::ptrdiff_t>(taken);
  std::copy(events_.begin(), end, events);
  events_.erase(events_.begin(), end);
  *count = taken;
  if (lost) *lost = lost_;
}

void Trace::forget() {
  std::lock_guard guard(mutex_);
  on_.store(false);
  std::deque<infinirtXCacheEvent>().swap(events_);
}

}  // namespace infinirt::cache
