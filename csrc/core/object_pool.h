// Type-stable storage: objects are recycled but their memory is never given to another type, nor back to the system.
// A stale pointer therefore always points at a T that is alive as memory and can be asked whether it is still the one meant.
#pragma once

#include <mutex>
#include <vector>

#include "core/mutex.h"

namespace infinirt {

// Every pool of the process, for fork: pools are leaves of the lock order.
class ObjectPoolBase {
 public:
  static void lock_all_for_fork();
  static void unlock_all_after_fork();  // in the parent
  static void reset_all_in_child();  // the pools' locks, and those of their objects

 protected:
  ObjectPoolBase();
  ~ObjectPoolBase() = default;
  Mutex mutex_;

 private:
  virtual void reset_objects() = 0;
};

template <class T>
class ObjectPool final : ObjectPoolBase {
 public:
  // A recycled object keeps the state it was released with; the caller re-initialises it.
  T* acquire() {
    std::lock_guard guard(mutex_);
    if (free_.empty()) {
      all_.push_back(new T);
      return all_.back();
    }
    T* object = free_.back();
    free_.pop_back();
    return object;
  }
  void release(T* object) {
    std::lock_guard guard(mutex_);
    free_.push_back(object);
  }

 private:
  void reset_objects() override {
    if constexpr (requires(T& object) { object.mutex.reset_after_fork(); }) {
      for (T* object : all_) object->mutex.reset_after_fork();  // whoever held it is gone
    }
  }

  std::vector<T*> all_, free_;
};

}  // namespace infinirt
