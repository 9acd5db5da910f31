#include "core/handle.h"

#include <sys/mman.h>

#include <cstdio>
#include <deque>
#include <mutex>

namespace infinirt {

namespace {

struct FreeSlots {
  std::mutex mutex;
  uint32_t next_unused = 1;       // slot 0 stays unused
  std::deque<uint32_t> recycled;  // first in, first out: a stale handle stays recognisable for as long as possible
};

FreeSlots& free_slots() {
  static auto* slots = new FreeSlots;
  return *slots;
}

constexpr size_t kRecycleDelay = 1024;  // prefer fresh slots until this many wait

}  // namespace

const char* handle_kind_name(HandleKind kind) {
  switch (kind) {
    case HandleKind::Stream:
      return "stream";
    case HandleKind::Event:
      return "event";
    case HandleKind::Graph:
      return "graph";
    case HandleKind::GraphNode:
      return "graph node";
    case HandleKind::GraphExec:
      return "executable graph";
    case HandleKind::MemPool:
      return "memory pool";
    case HandleKind::UserObject:
      return "user object";
    case HandleKind::Kernel:
      return "kernel";
    case HandleKind::Library:
      return "library";
    case HandleKind::Compiled:
      return "compiled program";
    case HandleKind::Cache:
      return "cache";
    case HandleKind::None:
      break;
  }
  return "unknown object";
}

namespace {

const char* article(HandleKind kind) {
  return kind == HandleKind::Event || kind == HandleKind::GraphExec || kind == HandleKind::None ? "an" : "a";
}

}  // namespace

void handle_arena_initialise() {
  if (g_hot.handles.slots) return;
  constexpr size_t slot_bytes = sizeof(HandleSlot) << kSlotBits;
  void* slots = mmap(nullptr, slot_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void* range = mmap(nullptr, kHandleSpan, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slots == MAP_FAILED || range == MAP_FAILED) {
    if (slots != MAP_FAILED) munmap(slots, slot_bytes);
    if (range != MAP_FAILED) munmap(range, kHandleSpan);
    return;
  }
  g_hot.handles.base = reinterpret_cast<uintptr_t>(range);
  g_hot.handles.slots = static_cast<HandleSlot*>(slots);
}

void* handle_create(HandleKind kind, uint8_t backend_index, void* object) {
  if (!g_hot.handles.slots) return nullptr;
  auto& pool = free_slots();
  std::lock_guard guard(pool.mutex);
  uint32_t index;
  if (pool.recycled.size() > kRecycleDelay || pool.next_unused >> kSlotBits) {
    if (pool.recycled.empty()) return nullptr;
    index = pool.recycled.front();
    pool.recycled.pop_front();
  } else {
    index = pool.next_unused++;
  }
  HandleSlot& slot = g_hot.handles.slots[index];
  // While free, `object` keeps the generation that the slot's next life will have.
  const auto generation = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(slot.object.load())) & kGenerationMask;
  slot.backend = backend_index;
  slot.object.store(object, std::memory_order_release);
  slot.tag.store(static_cast<uint32_t>(kind) << 16 | generation, std::memory_order_release);
  return reinterpret_cast<void*>(g_hot.handles.base + (uintptr_t{generation} << kSlotBits | index));
}

void handle_destroy(void* handle) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(handle) - g_hot.handles.base;
  if (offset >= kHandleSpan) return;
  const auto index = static_cast<uint32_t>(offset & ((1u << kSlotBits) - 1));
  HandleSlot& slot = g_hot.handles.slots[index];
  auto& pool = free_slots();
  std::lock_guard guard(pool.mutex);
  const uint32_t tag = slot.tag.load();
  if (tag == 0 || (tag & 0xffffu) != offset >> kSlotBits) return;
  slot.tag.store(0, std::memory_order_release);
  slot.object.store(reinterpret_cast<void*>(uintptr_t{(tag + 1) & kGenerationMask}), std::memory_order_release);
  pool.recycled.push_back(index);
}

const char* describe_handle(const void* handle, HandleKind wanted, char* buffer, size_t size) {
  const char* wanted_name = handle_kind_name(wanted);
  HandleKind kind = HandleKind::None;
  if (!handle) {
    std::snprintf(buffer, size, "is null; %s %s was expected", article(wanted), wanted_name);
  } else if (handle_slot(handle, &kind)) {
    std::snprintf(buffer, size, "%p belongs to %s %s, not to %s %s", handle, article(kind), handle_kind_name(kind),
                  article(wanted), wanted_name);
  } else if (handle_is_ours(handle)) {
    std::snprintf(buffer, size, "%p is a destroyed handle (or one made up); a live %s was expected", handle,
                  wanted_name);
  } else {
    std::snprintf(buffer, size, "%p is not %s %s of this runtime", handle, article(wanted), wanted_name);
  }
  return buffer;
}

void handle_lock_for_fork() { free_slots().mutex.lock(); }
void handle_unlock_after_fork() { free_slots().mutex.unlock(); }

}  // namespace infinirt
