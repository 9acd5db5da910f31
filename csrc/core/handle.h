// Handles: numbers inside a reserved, inaccessible address range, resolved through a slot table.
//
// offset = generation << 24 | slot; 64 GiB of addresses, which sanitizers and small address spaces still have room for. A handle that was destroyed, or that nobody ever made, resolves to null; it is
// never dereferenced. Objects behind handles are recycled, never unmapped (see pool.h), so a thread that resolves a
// handle while another destroys it meets an object of the right type that says it is dead.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/hot_state.h"

namespace infinirt {

enum class HandleKind : uint8_t {
  None = 0,
  Stream,
  Event,
  Graph,
  GraphNode,
  GraphExec,
  MemPool,
  UserObject,
  Kernel,
  Library,
  Compiled,
  Cache
};

const char* handle_kind_name(HandleKind kind);  // "stream", "event", …

inline constexpr unsigned kSlotBits = 24;
inline constexpr unsigned kGenerationBits = 12;
inline constexpr uint32_t kGenerationMask = (1u << kGenerationBits) - 1;
inline constexpr size_t kHandleSpan = size_t{1} << (kSlotBits + kGenerationBits);

struct HandleSlot {
  std::atomic<uint32_t> tag;  // kind << 16 | generation; 0 while free
  uint8_t backend;
  std::atomic<void*> object;
};

// Reserves the range; called when the library is loaded. Never fails the process: without room every create fails.
void handle_arena_initialise();

// Null when the arena is exhausted (16 million live objects).
void* handle_create(HandleKind kind, uint8_t backend_index, void* object);
void handle_destroy(void* handle);

inline bool handle_is_ours(const void* handle) {
  return reinterpret_cast<uintptr_t>(handle) - g_hot.handles.base < kHandleSpan;
}

// The slot a handle of ours points at if it is alive, whatever its kind; else null.
inline const HandleSlot* handle_slot(const void* handle, HandleKind* kind = nullptr) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(handle) - g_hot.handles.base;
  if (offset >= kHandleSpan) return nullptr;
  const HandleSlot& slot = g_hot.handles.slots[offset & ((1u << kSlotBits) - 1)];
  const uint32_t tag = slot.tag.load(std::memory_order_acquire);
  if (tag == 0 || (tag & 0xffffu) != offset >> kSlotBits) return nullptr;
  if (kind) *kind = static_cast<HandleKind>(tag >> 16);
  return &slot;
}

// The object if the handle is alive and of this kind; else null.
template <class T>
inline T* handle_resolve(const void* handle, HandleKind kind) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(handle) - g_hot.handles.base;
  if (offset >= kHandleSpan) return nullptr;
  const HandleSlot& slot = g_hot.handles.slots[offset & ((1u << kSlotBits) - 1)];
  const uint32_t expected = static_cast<uint32_t>(kind) << 16 | static_cast<uint32_t>(offset >> kSlotBits);
  if (slot.tag.load(std::memory_order_acquire) != expected) return nullptr;
  void* object = slot.object.load(std::memory_order_acquire);
  if (slot.tag.load(std::memory_order_relaxed) != expected) return nullptr;
  return static_cast<T*>(object);
}

// For messages: "is a destroyed stream", "is an event, not a stream", "is not a handle of this runtime".
// `buffer` holds at least 96 bytes; returns it.
const char* describe_handle(const void* handle, HandleKind wanted, char* buffer, size_t size);

void handle_lock_for_fork();
void handle_unlock_after_fork();

}  // namespace infinirt
