#include "engine/memory.h"

#include <mutex>

#include "engine/managed.h"
#include "engine/pool.h"

namespace infinirt {

namespace {

Place place_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Pinned:
    case MemoryKind::Registered:
      return Place::Pinned;
    case MemoryKind::Managed:
      return Place::Managed;
    case MemoryKind::Device:
    case MemoryKind::Pool:
    case MemoryKind::Imported:
      break;
  }
  return Place::Device;
}

bool in_any_device_range(const Engine& engine, const void* pointer) {
  if (engine.in_device_range(pointer)) return true;
  for (const Engine* other : all_engines()) {
    if (other->in_device_range(pointer)) return true;
  }
  return false;
}

void collect_tails(EngineDevice& device, std::vector<Point>& points) {
  std::lock_guard guard(device.mutex);
  points.push_back(device.legacy->tail());
  for (Stream* stream : device.streams) points.push_back(stream->tail());
}

void give_back(const Allocation& a) {
  if (a.kind == MemoryKind::Managed) managed_forget(a.base);
  if (a.kind == MemoryKind::Registered) return;  // the user's own
  auto* engine = static_cast<Engine*>(a.backend->engine);
  engine->release(a.device, reinterpret_cast<void*>(a.base), a.size, a.kind);
}

}  // namespace

Operand find_operand(const void* pointer) {
  Operand operand;
  Allocation a;
  if (!registry_find(pointer, &a)) {
    const Backend* native = g_hot.native_backend.load(std::memory_order_acquire);
    if (native && pointer && native->extensions.OwnsPointer(pointer)) {  // it checks bounds itself
      operand.place = Place::Device;
      operand.backend = native;
      operand.base = reinterpret_cast<uintptr_t>(pointer);
      operand.size = SIZE_MAX - operand.base;
    }
    return operand;
  }
  operand.place = place_of(a.kind);
  operand.kind = a.kind;
  operand.device = a.device;
  operand.backend = a.backend;
  operand.base = a.base;
  operand.size = a.size;
  // A segment without an owner is a single block (memory of graphs).
  if (a.kind == MemoryKind::Pool && a.owner) {
    if (!pool_block_bounds(a.owner, pointer, &operand.base, &operand.size, &operand.live)) operand.live = false;
  }
  return operand;
}

infinirtError_t unknown_memory(const Engine& engine, const void* pointer, const char* argument, const char* advice) {
  if (in_any_device_range(engine, pointer)) {
    return fail(infinirtErrorInvalidValue, "%s %p is device memory that was freed or never allocated", argument,
                pointer);
  }
  return fail(infinirtErrorInvalidValue, "%s %p is not memory of this runtime; %s", argument, pointer, advice);
}

infinirtError_t check_operand(const Engine& engine, const Operand& operand, const void* pointer, size_t bytes,
                              const char* argument) {
  if (!pointer) {
    return fail(infinirtErrorInvalidValue, "%s is null, but %zu bytes are needed there", argument, bytes);
  }
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (operand.place == Place::Unknown) {
    if (bytes > UINTPTR_MAX - address) {
      return fail(infinirtErrorInvalidValue, "%s %p: %zu bytes from there reach beyond the address space", argument,
                  pointer, bytes);
    }
    if (in_any_device_range(engine, pointer)) return unknown_memory(engine, pointer, argument, "");
    return infinirtSuccess;
  }
  const char* type = operand.backend->name.c_str();
  if (!operand.live) {
    return fail(infinirtErrorInvalidValue,
                "%s %p is memory of a pool on %s:%d that is not allocated: it was freed, or never given out", argument,
                pointer, type, operand.device);
  }
  const size_t left = operand.size - (address - operand.base);
  if (bytes > left) {
    return fail(infinirtErrorInvalidValue,
                "%s %p has %zu bytes left in its allocation of %zu bytes at %s:%d, but %zu are needed", argument,
                pointer, left, operand.size, type, operand.device, bytes);
  }
  const auto* theirs = static_cast<const Engine*>(operand.backend->engine);
  const bool reachable = operand.backend == &engine.backend || operand.backend->extensions.CopyNow ||
                         (theirs && theirs->host_address(pointer));
  if (!reachable && operand.place == Place::Device) {
    return fail(infinirtErrorInvalidValue,
                "%s %p is memory of %s:%d, which device type '%s' cannot reach; copy it to host memory first", argument,
                pointer, type, operand.device, engine.backend.name.c_str());
  }
  return infinirtSuccess;
}

bool region_span(size_t width, size_t height, size_t depth, size_t pitch, size_t slice, size_t* span) {
  size_t rows, slices;
  return !__builtin_mul_overflow(height - 1, pitch, &rows) && !__builtin_mul_overflow(depth - 1, slice, &slices) &&
         !__builtin_add_overflow(rows, slices, &rows) && !__builtin_add_overflow(rows, width, span);
}

infinirtError_t allocate_memory(EngineDevice& device, size_t size, MemoryKind kind, unsigned flags, void** out) {
  Engine& engine = *device.engine;
  size_t free_bytes = 0, total_bytes = 0;
  engine.memory_info(device.ordinal, &free_bytes, &total_bytes);
  // Backends add headers and round up: what cannot be there anyway must not make their sums wrap round.
  if (size > PTRDIFF_MAX / 2 ||
      (kind == MemoryKind::Device && engine.memory_size_known(device.ordinal) && size > total_bytes)) {
    return fail(infinirtErrorMemoryAllocation, "size %zu bytes is more than %s:%d can have: %zu bytes are free of %zu",
                size, engine.backend.name.c_str(), device.ordinal, free_bytes, total_bytes);
  }
  void* pointer = nullptr;
  if (auto error = engine.allocate(device.ordinal, size, kind, flags, &pointer)) return error;
  Allocation a;
  a.base = reinterpret_cast<uintptr_t>(pointer);
  a.size = size;
  a.kind = kind;
  a.device = device.ordinal;
  a.flags = flags;
  a.backend = &engine.backend;
  if (!registry_insert(a)) {
    engine.release(device.ordinal, pointer, size, kind);
    return fail(infinirtErrorHostMemoryAlreadyRegistered,
                "the new memory at %p lies in a range given to infinirtHostRegister that was unmapped without "
                "infinirtHostUnregister, or there was no memory to register it",
                pointer);
  }
  *out = pointer;
  return infinirtSuccess;
}

infinirtError_t free_memory(void* pointer, const char* argument) {
  // The registry keeps the memory while pending work may look it up; of two threads that free it, one removes it.
  Allocation a;
  const bool found = registry_find(pointer, &a) && a.base == reinterpret_cast<uintptr_t>(pointer);
  if (found) wait_for_users(*static_cast<Engine*>(a.backend->engine), a.kind == MemoryKind::Device ? a.device : -1);
  if (!found || !registry_remove(pointer, &a)) {
    return fail(infinirtErrorInvalidValue, "%s %p was freed by another thread at the same time", argument, pointer);
  }
  auto& engine = *static_cast<Engine*>(a.backend->engine);
  const infinirtError_t finding = engine.verify_memory(a.device, pointer);
  give_back(a);  // also after a finding: it is a report about the past, and the memory is not wanted any more
  return finding;
}

void wait_for_users(Engine& engine, int device) {
  std::vector<Point> points;
  if (engine.used_by_others.load(std::memory_order_acquire)) {
    for (Engine* other : all_engines()) {
      if (other == &engine) continue;
      for (const auto& user : other->devices) collect_tails(*user, points);
    }
  }
  for (const auto& user : engine.devices) {
    bool concerned = device < 0 || user->ordinal == device;
    if (!concerned) {
      const uint64_t user_bit = uint64_t{1} << (user->ordinal & 63), device_bit = uint64_t{1} << (device & 63);
      concerned = (engine.devices[static_cast<size_t>(device)]->users.load(std::memory_order_acquire) & user_bit) ||
                  (user->peers.load(std::memory_order_relaxed) & device_bit);
    }
    if (concerned) collect_tails(*user, points);
  }
  for (const Point& point : points) {
    if (!point.reached()) wait_for(point);
  }
}

void release_device_memory(EngineDevice& device) {
  struct Found {
    int ordinal;
    std::vector<Allocation> list;
  } found{device.ordinal, {}};
  registry_for_each(
      &device.engine->backend,
      [](const Allocation& a, void* context) {
        auto& into = *static_cast<Found*>(context);
        const bool stays = a.kind == MemoryKind::Pool || a.kind == MemoryKind::Imported;
        if (a.device == into.ordinal && !stays) into.list.push_back(a);
      },
      &found);
  for (const Allocation& a : found.list) {
    Allocation removed;
    if (registry_remove(reinterpret_cast<void*>(a.base), &removed)) give_back(removed);
  }
}

}  // namespace infinirt
