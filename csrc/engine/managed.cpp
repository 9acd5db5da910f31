#include "engine/managed.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "core/mutex.h"

namespace infinirt {

namespace {

constexpr uintptr_t kPage = 4096;  // advice holds for whole pages

struct ManagedAllocation {
  uintptr_t end = 0;
  // From each key to the next (the last: to the end) one state holds; the first key is the base.
  std::map<uintptr_t, ManagedState> parts;
};

struct Store {
  Mutex mutex;
  std::map<uintptr_t, ManagedAllocation> allocations;
};

Store& store() {
  static Store* instance = [] {
    static auto* made = new Store;  // leaked, as all state that threads may use at exit
    pthread_atfork([] { made->mutex.lock(); }, [] { made->mutex.unlock(); }, [] { made->mutex.unlock(); });
    return made;
  }();
  return *instance;
}

struct Span {
  uintptr_t first, last;  // first byte, one past the last
};

Span whole_pages(uintptr_t base, const ManagedAllocation& allocation, uintptr_t first, size_t size) {
  const uintptr_t last = (first + size + kPage - 1) / kPage * kPage;
  return {std::max(base, first / kPage * kPage), std::min(allocation.end, last)};
}

using Parts = std::map<uintptr_t, ManagedState>;

Parts::iterator part_at(Parts& parts, uintptr_t address) { return std::prev(parts.upper_bound(address)); }

// Makes a part begin at the address.
Parts::iterator cut(Parts& parts, uintptr_t address) {
  auto part = part_at(parts, address);
  return part->first == address ? part : parts.emplace(address, part->second).first;
}

}  // namespace

void managed_create(uintptr_t base, size_t size) {
  Store& s = store();
  std::lock_guard guard(s.mutex);
  ManagedAllocation& allocation = s.allocations[base];
  allocation.end = base + size;
  allocation.parts = {{base, ManagedState{}}};
}

void managed_forget(uintptr_t base) {
  Store& s = store();
  std::lock_guard guard(s.mutex);
  s.allocations.erase(base);
}

void managed_change(uintptr_t base, uintptr_t first, size_t size, void (*change)(ManagedState&, void*), void* context) {
  Store& s = store();
  std::lock_guard guard(s.mutex);
  const auto found = s.allocations.find(base);
  if (found == s.allocations.end()) return;  // freed meanwhile
  ManagedAllocation& allocation = found->second;
  const Span span = whole_pages(base, allocation, first, size);
  if (span.last < allocation.end) cut(allocation.parts, span.last);
  auto part = cut(allocation.parts, span.first);
  for (; part != allocation.parts.end() && part->first < span.last; ++part) change(part->second, context);
  for (part = std::next(allocation.parts.begin()); part != allocation.parts.end();) {
    part = part->second == std::prev(part)->second ? allocation.parts.erase(part) : std::next(part);
  }
}

std::vector<ManagedState> managed_states(uintptr_t base, uintptr_t first, size_t size) {
  Store& s = store();
  std::lock_guard guard(s.mutex);
  std::vector<ManagedState> states;
  const auto found = s.allocations.find(base);
  if (found == s.allocations.end()) return states;
  ManagedAllocation& allocation = found->second;
  const Span span = whole_pages(base, allocation, first, size);
  for (auto part = part_at(allocation.parts, span.first); part != allocation.parts.end() && part->first < span.last;
       ++part) {
    states.push_back(part->second);
  }
  return states;
}

}  // namespace infinirt
