// User objects: resources of the user's that live as long as graphs need them.
#pragma once

#include <utility>
#include <vector>

#include "core/mutex.h"
#include "infinirt.h"

namespace infinirt {

// Type-stable. References are owned either by the user (through the API) or by graphs; the destructor callback runs when
// the last of either goes.
struct UserObject {
  Mutex mutex;
  infinirtUserObject_t handle = nullptr;
  void* pointer = nullptr;
  infinirtHostFn_t destroy = nullptr;
  uint64_t user_references = 0;
  uint64_t graph_references = 0;
};

UserObject* create_user_object(uint8_t backend_index, void* pointer, infinirtHostFn_t destroy, unsigned references);

// Null with a message (infinirtErrorInvalidValue).
UserObject* resolve_user_object(infinirtUserObject_t handle, const char* argument);

// False when the user owns fewer references than that; nothing has changed then.
bool retain_user_object(UserObject& object, infinirtUserObject_t handle, unsigned count);
bool release_user_object(UserObject& object, infinirtUserObject_t handle, unsigned count);

// The references that a graph, or an executable graph, owns. Copying takes as many again. Releasing may call the user's
// destructor: never let one go while holding a lock.
class UserObjectSet {
 public:
  UserObjectSet() = default;
  UserObjectSet(const UserObjectSet& other);
  UserObjectSet(UserObjectSet&& other) noexcept : entries_(std::exchange(other.entries_, {})) {}
  UserObjectSet& operator=(UserObjectSet other) noexcept {
    entries_.swap(other.entries_);
    return *this;
  }
  ~UserObjectSet() { clear(); }

  // With `move` the references are taken from the user; false when the user owns fewer, or the object is gone.
  bool add(UserObject& object, infinirtUserObject_t handle, unsigned count, bool move);
  // False when the set has fewer references to the object.
  bool remove(UserObject& object, unsigned count);
  // Takes as many references again as the other set has.
  void merge(const UserObjectSet& other);
  void clear();

 private:
  std::vector<std::pair<UserObject*, uint64_t>> entries_;
};

}  // namespace infinirt
