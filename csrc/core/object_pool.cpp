#include "core/object_pool.h"

namespace infinirt {

namespace {

struct PoolList {
  Mutex mutex;
  std::vector<ObjectPoolBase*> pools;
};

PoolList& list() {
  static auto* instance = new PoolList;
  return *instance;
}

}  // namespace

ObjectPoolBase::ObjectPoolBase() {
  std::lock_guard guard(list().mutex);
  list().pools.push_back(this);
}

void ObjectPoolBase::lock_all_for_fork() {
  list().mutex.lock();
  for (ObjectPoolBase* pool : list().pools) pool->mutex_.lock();
}

void ObjectPoolBase::unlock_all_after_fork() {
  for (ObjectPoolBase* pool : list().pools) pool->mutex_.unlock();
  list().mutex.unlock();
}

void ObjectPoolBase::reset_all_in_child() {
  for (ObjectPoolBase* pool : list().pools) {
    pool->reset_objects();
    pool->mutex_.reset_after_fork();
  }
  list().mutex.reset_after_fork();
}

}  // namespace infinirt
