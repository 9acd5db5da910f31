// Streams of a backend's own, under an engine whose streams are queues on host threads: used for the time of a copy, or lent to
// the program for other libraries (infinirtXStreamBeginNative).
#pragma once

#include <mutex>
#include <vector>

#include "core/mutex.h"

namespace infinirt {

// Of one device. Streams are made as needed and kept for the life of the process: there are never more than have been in use
// at once.
class NativeStreams {
 public:
  // False: there is none to be used again.
  bool take_idle(void** stream) {
    std::lock_guard guard(mutex_);
    if (idle_.empty()) return false;
    *stream = idle_.back();
    idle_.pop_back();
    return true;
  }

  void give(void* stream) {
    std::lock_guard guard(mutex_);
    idle_.push_back(stream);
  }

  void lend(void* stream) {
    std::lock_guard guard(mutex_);
    lent_.push_back(stream);
  }

  // Whether it was lent; it is not any more.
  bool take_back(void* stream) {
    std::lock_guard guard(mutex_);
    for (void*& one : lent_) {
      if (one != stream) continue;
      one = lent_.back();
      lent_.pop_back();
      return true;
    }
    return false;
  }

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  Mutex mutex_;
  std::vector<void*> idle_, lent_;
};

}  // namespace infinirt
