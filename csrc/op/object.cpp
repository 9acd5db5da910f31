#include "op/object.h"

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <mutex>
#include <utility>

namespace infiniop {

namespace {

// A pointer is its slot's address plus the slot's age modulo the slot's size: a slot that is used again has another pointer,
// for 64 generations.
struct alignas(64) Slot {
  std::atomic<Object*> object;  // null: free
  std::atomic<Kind> kind;
  std::atomic<uint8_t> age;
  Slot* next_free;
};

constexpr size_t kSlots = size_t{1} << 22;

struct Arena {
  Slot* slots = nullptr;
  std::mutex mutex;
  size_t used = 0;  // slots that were ever used
  // First in, first out: a destroyed pointer stays recognisable for as long as possible.
  Slot* oldest_free = nullptr;
  Slot* newest_free = nullptr;

  Arena() {
    void* reserved = mmap(nullptr, kSlots * sizeof(Slot), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved != MAP_FAILED) slots = static_cast<Slot*>(reserved);
  }
};

Arena& arena() {
  // Never destroyed: programs destroy descriptors from destructors of their own, at exit.
  static Arena* instance = [] {
    auto* made = new Arena;
    pthread_atfork([] { arena().mutex.lock(); }, [] { arena().mutex.unlock(); }, [] { arena().mutex.unlock(); });
    return made;
  }();
  return *instance;
}

Slot* slot_of(Kind kind, const void* pointer) {
  const Arena& a = arena();
  const auto offset = reinterpret_cast<uintptr_t>(pointer) - reinterpret_cast<uintptr_t>(a.slots);
  if (!a.slots || offset >= kSlots * sizeof(Slot)) return nullptr;
  Slot* slot = a.slots + offset / sizeof(Slot);
  if (slot->kind.load(std::memory_order_acquire) != kind) return nullptr;
  return slot->age.load(std::memory_order_relaxed) == offset % sizeof(Slot) ? slot : nullptr;
}

}  // namespace

void* publish(Kind kind, std::unique_ptr<Object> object) {
  Arena& a = arena();
  std::lock_guard guard(a.mutex);
  Slot* slot = a.oldest_free;
  if (slot) {
    a.oldest_free = slot->next_free;
    if (!a.oldest_free) a.newest_free = nullptr;
  } else if (a.slots && a.used < kSlots) {
    slot = a.slots + a.used++;
  } else {
    return nullptr;
  }
  slot->object.store(object.release(), std::memory_order_relaxed);
  slot->kind.store(kind, std::memory_order_release);
  return reinterpret_cast<char*>(slot) + slot->age.load(std::memory_order_relaxed);
}

Object* find(Kind kind, const void* pointer) {
  Slot* slot = slot_of(kind, pointer);
  return slot ? slot->object.load(std::memory_order_acquire) : nullptr;
}

std::unique_ptr<Object> withdraw(Kind kind, const void* pointer) {
  Arena& a = arena();
  std::lock_guard guard(a.mutex);
  Slot* slot = slot_of(kind, pointer);
  if (!slot) return nullptr;
  std::unique_ptr<Object> object(slot->object.exchange(nullptr, std::memory_order_relaxed));
  slot->kind.store(Kind::None, std::memory_order_release);
  slot->age.store((slot->age.load(std::memory_order_relaxed) + 1) % sizeof(Slot), std::memory_order_relaxed);
  slot->next_free = nullptr;
  (a.newest_free ? a.newest_free->next_free : a.oldest_free) = slot;
  a.newest_free = slot;
  return object;
}

}  // namespace infiniop
