// Type-stable storage: objects are recycled but their memory is never given to another type, nor back to the system.
// A stale pointer therefore always points at a T that is alive as memory and can be asked whether it is still the one meant.
#pragma once

#include <mutex>
#include <vector>

#include "core/mutex.h"

namespace infinirt {

template <class T>
class ObjectPool {
 public:
  // A recycled object keeps the state it was released with; the caller re-initialises it.
  T* acquire() {
    std::lock_guard guard(mutex_);
    if (free_.empty()) return new T;
    T* object = free_.back();
    free_.pop_back();
    return object;
  }
  void release(T* object) {
    std::lock_guard guard(mutex_);
    free_.push_back(object);
  }
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  Mutex mutex_;
  std::vector<T*> free_;
};

}  // namespace infinirt
