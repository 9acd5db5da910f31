#include "engine/user_object.h"

#include <algorithm>
#include <mutex>

#include "core/error.h"
#include "core/handle.h"
#include "core/object_pool.h"
#include "engine/scheduler.h"

namespace infinirt {

namespace {

ObjectPool<UserObject>& user_object_pool() {
  static auto* pool = new ObjectPool<UserObject>;
  return *pool;
}

// Called without locks, by whoever gave back the last reference.
void destroy_user_object(UserObject& object, void* pointer, infinirtHostFn_t destroy) {
  user_object_pool().release(&object);
  ThreadState& ts = thread_state();
  ++ts.call_barrier;  // the destructor may not call the API
  {
    UserCodeScope scope;
    destroy(pointer);
  }
  --ts.call_barrier;
}

// With the object's mutex held, after references were taken away. Releases the mutex.
void unlock_and_destroy_if_unused(UserObject& object) {
  const bool unused = object.user_references == 0 && object.graph_references == 0;
  void* pointer = object.pointer;
  const infinirtHostFn_t destroy = object.destroy;
  if (unused) {
    handle_destroy(object.handle);
    object.handle = nullptr;
  }
  object.mutex.unlock();
  if (unused) destroy_user_object(object, pointer, destroy);
}

}  // namespace

UserObject* create_user_object(uint8_t backend_index, void* pointer, infinirtHostFn_t destroy, unsigned references) {
  UserObject* object = user_object_pool().acquire();
  std::lock_guard guard(object->mutex);
  object->pointer = pointer;
  object->destroy = destroy;
  object->user_references = references;
  object->graph_references = 0;
  object->handle = static_cast<infinirtUserObject_t>(handle_create(HandleKind::UserObject, backend_index, object));
  if (object->handle) return object;
  user_object_pool().release(object);
  return nullptr;
}

UserObject* resolve_user_object(infinirtUserObject_t handle, const char* argument) {
  if (auto* object = handle_resolve<UserObject>(handle, HandleKind::UserObject)) return object;
  char text[160];
  fail(infinirtErrorInvalidValue, "%s %s", argument,
       describe_handle(handle, HandleKind::UserObject, text, sizeof text));
  return nullptr;
}

bool retain_user_object(UserObject& object, infinirtUserObject_t handle, unsigned count) {
  std::lock_guard guard(object.mutex);
  if (object.handle != handle) return false;
  object.user_references += count;
  return true;
}

bool release_user_object(UserObject& object, infinirtUserObject_t handle, unsigned count) {
  object.mutex.lock();
  if (object.handle != handle || object.user_references < count) {
    object.mutex.unlock();
    return false;
  }
  object.user_references -= count;
  unlock_and_destroy_if_unused(object);
  return true;
}

UserObjectSet::UserObjectSet(const UserObjectSet& other) : entries_(other.entries_) {
  for (auto& [object, count] : entries_) {
    std::lock_guard guard(object->mutex);
    object->graph_references += count;
  }
}

bool UserObjectSet::add(UserObject& object, infinirtUserObject_t handle, unsigned count, bool move) {
  {
    std::lock_guard guard(object.mutex);
    if (object.handle != handle || (move && object.user_references < count)) return false;
    if (move) object.user_references -= count;
    object.graph_references += count;
  }
  for (auto& entry : entries_) {
    if (entry.first == &object) {
      entry.second += count;
      return true;
    }
  }
  entries_.emplace_back(&object, count);
  return true;
}

bool UserObjectSet::remove(UserObject& object, unsigned count) {
  auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.first == &object; });
  if (entry == entries_.end() || entry->second < count) return false;
  entry->second -= count;
  if (entry->second == 0) entries_.erase(entry);
  object.mutex.lock();
  object.graph_references -= count;
  unlock_and_destroy_if_unused(object);
  return true;
}

void UserObjectSet::merge(const UserObjectSet& other) {
  UserObjectSet copy(other);
  entries_.insert(entries_.end(), copy.entries_.begin(), copy.entries_.end());
  copy.entries_.clear();
}

void UserObjectSet::clear() {
  auto entries = std::exchange(entries_, {});
  for (auto& [object, count] : entries) {
    object->mutex.lock();
    object->graph_references -= count;
    unlock_and_destroy_if_unused(*object);
  }
}

}  // namespace infinirt
