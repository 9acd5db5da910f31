// Memory of engine-run devices: allocations, and what copies and sets may do with an address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/registry.h"
#include "engine/engine.h"
#include "engine/stream.h"
#include "engine/work.h"

namespace infinirt {

// Who can reach a piece of memory, which decides when a copy may return.
enum class Place : uint8_t {
  Unknown,  // not in the registry: pageable host memory, as far as anyone can tell
  Pinned,   // page-locked host memory
  Managed,  // host and devices reach it
  Device,
};

// One address as the registry knows it, blocks of pools included.
struct Operand {
  Place place = Place::Unknown;
  MemoryKind kind = MemoryKind::Device;  // the three below: unless Unknown
  bool live = true;                      // false: pool memory that is not allocated now
  int device = -1;                       // the allocation's device
  const Backend* backend = nullptr;      // null when Unknown
  uintptr_t base = 0;
  size_t size = 0;

  bool is_host() const { return place == Place::Unknown || place == Place::Pinned; }
  // As CopyWork and FillWork want it: -1 for whatever the host reaches directly.
  int16_t work_device() const { return place == Place::Device ? static_cast<int16_t>(device) : int16_t{-1}; }
  // The device type that has to do the copy if it is not `own`; null: `own` can.
  const Backend* other_than(const Backend& own) const {
    return place == Place::Device && backend != &own ? backend : nullptr;
  }
};

Operand find_operand(const void* pointer);

// Whether the memory can be used by `engine` and `bytes` bytes from `pointer` on belong to it. `argument` names the
// pointer in messages. Unknown memory is accepted unless it lies where only device memory does.
infinirtError_t check_operand(const Engine& engine, const Operand& operand, const void* pointer, size_t bytes,
                              const char* argument);

// infinirtErrorInvalidValue for an unknown address where memory of a device is needed.
infinirtError_t unknown_memory(const Engine& engine, const void* pointer, const char* argument, const char* advice);

// That the thread has a current device and the device works: first in every call that uses it.
inline infinirtError_t check_current_device(ThreadState& ts) {
  Engine& engine = current_engine(ts);
  if (engine.devices.empty()) [[unlikely]] {
    device_at(engine, 0, "device");  // for its message
    return infinirtErrorNoDevice;
  }
  return check_device(current_device(ts));
}

// Bytes from the first to the last of a region, false when that overflows. Counts must not be 0.
bool region_span(size_t width, size_t height, size_t depth, size_t pitch, size_t slice, size_t* span);

// Allocates, registers, and says in a message what was missing. Nothing has changed on failure.
infinirtError_t allocate_memory(EngineDevice& device, size_t size, MemoryKind kind, unsigned flags, void** out);

// Takes the allocation that starts at `pointer` out of the registry, waits for whatever may still use it, and gives the
// memory back. The caller has checked the kind. Another thread that frees the same memory gets InvalidValue.
infinirtError_t free_memory(void* pointer, const char* argument);

// Blocks until all work that may use memory of the device has finished (-1: memory that every device may use). Errors of
// that work are left to the next synchronising call.
void wait_for_users(Engine& engine, int device);

// Notes that a stream's work uses memory of that device, for wait_for_users.
inline void note_use(const Stream& stream, const Operand& operand) {
  const EngineDevice& user = *stream.device;
  if (operand.place != Place::Device) return;
  if (operand.backend != &user.engine->backend) {
    // What no engine runs orders its own users.
    if (operand.backend->engine) static_cast<Engine*>(operand.backend->engine)->used_by_others.store(true);
    return;
  }
  if (operand.device == user.ordinal) [[likely]]
    return;
  std::atomic<uint64_t>& users = user.engine->devices[static_cast<size_t>(operand.device)]->users;
  const uint64_t bit = uint64_t{1} << (user.ordinal & 63);
  if (!(users.load(std::memory_order_relaxed) & bit)) users.fetch_or(bit, std::memory_order_acq_rel);
}

// An enumerator that came through the C API, where any number can stand in its place: C++ may not even look at one that
// the type does not have.
template <class Enum>
int raw_value(const Enum& value) {
  int raw;
  static_assert(sizeof raw == sizeof value);
  std::memcpy(&raw, &value, sizeof raw);
  return raw;
}

// Copies by the rules for synchronous and asynchronous calls (copy.cpp). The caller gives the work's geometry; devices and
// staging are filled in by check_copy and run_copy.
enum class CopyCall { Synchronous, Asynchronous };
enum class SourceAccess { WheneverAllowed, InStreamOrder, DuringCall };

struct CopyRequest {
  CopyWork work;
  int kind = infinirtMemcpyDefault;  // infinirtMemcpyKind, or whatever the program gave
  SourceAccess access = SourceAccess::WheneverAllowed;
  // How far the region begins behind the pointers that the program gave: those say which allocations it must stay in.
  size_t dst_offset = 0, src_offset = 0;
  Operand dst, src;

  const void* given_dst() const { return static_cast<const char*>(work.dst) - dst_offset; }
  const void* given_src() const { return static_cast<const char*>(work.src) - src_offset; }
};

// Fills in the operands and checks everything that can be known before the copy.
void find_copy_operands(CopyRequest& request);
infinirtError_t check_copy(const Engine& engine, CopyRequest& request);
infinirtError_t run_copy(Stream& stream, CopyRequest& request, CopyCall call);

// Whether it takes calls of a vendor's library, which is not the engine's own.
bool calls_vendor(const CopyWork& work);

// Carries the work out, here and now: by the engine, or by the device type of the other side.
infinirtError_t perform_copy(Engine& engine, const CopyWork& work);

// DeviceReset: gives back everything that infinirtMalloc and its relatives made on the device, and forgets memory that was
// registered there. Stream-ordered memory stays. The device is idle.
void release_device_memory(EngineDevice& device);

}  // namespace infinirt
