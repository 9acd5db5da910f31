// Table functions: allocation, host memory, and what an address is.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "engine/capture.h"
#include "engine/engine.h"
#include "engine/graph_memory.h"
#include "engine/managed.h"
#include "engine/memory.h"
#include "engine/pool.h"
#include "engine/stream.h"

namespace infinirt::engine_api {

namespace {

constexpr size_t kPitchAlignment = 512;

infinirtError_t missing_output(const char* argument) {
  return fail(infinirtErrorInvalidValue, "%s is null; it must point to where the result goes", argument);
}

// What all allocating calls share. Size 0 is a success that gives a null pointer.
infinirtError_t allocate(void** out, const char* argument, size_t size, MemoryKind kind, unsigned flags) {
  if (!out) return missing_output(argument);
  ThreadState& ts = thread_state();
  if (auto error = check_current_device(ts)) return error;
  if (auto error = check_capture_unsafe(ts)) return error;
  if (size == 0) {
    *out = nullptr;
    return infinirtSuccess;
  }
  return allocate_memory(current_device(ts), size, kind, flags, out);
}

// False when the pitched size is beyond any memory.
bool pitched_size(size_t width, size_t height, size_t depth, size_t* pitch, size_t* size) {
  return !__builtin_add_overflow(width, kPitchAlignment - 1, pitch) &&
         (*pitch -= *pitch % kPitchAlignment, !__builtin_mul_overflow(*pitch, height, size)) &&
         !__builtin_mul_overflow(*size, depth, size);
}

infinirtError_t too_large(ThreadState& ts, size_t width, size_t height, size_t depth) {
  if (auto error = check_current_device(ts)) return error;
  EngineDevice& device = current_device(ts);
  size_t free_bytes = 0, total_bytes = 0;
  device.engine->memory_info(device.ordinal, &free_bytes, &total_bytes);
  return fail(
      infinirtErrorMemoryAllocation,
      "%zu bytes by %zu rows by %zu slices is more than the address space holds; %s:%d has %zu bytes free of %zu",
      width, height, depth, device.engine->backend.name.c_str(), device.ordinal, free_bytes, total_bytes);
}

// Whether every page of the range is mapped in this process.
bool is_mapped(uintptr_t first, size_t size) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  constexpr size_t kPagesAtOnce = 4096;
  unsigned char resident[kPagesAtOnce];
  const uintptr_t last = first + size;
  for (uintptr_t at = first - first % page; at < last;) {
    const size_t bytes = std::min(kPagesAtOnce * page, last - at);
    if (mincore(reinterpret_cast<void*>(at), bytes, resident) != 0) return false;
    at += kPagesAtOnce * page;
  }
  return true;
}

// The start of an allocation of the right kind is freed; everything else gets the reason why not.
infinirtError_t free_checked(ThreadState& ts, void* pointer, const char* argument, bool host) {
  Allocation a;
  if (!registry_find(pointer, &a)) {
    return unknown_memory(current_engine(ts), pointer, argument,
                          host ? "infinirtFreeHost frees what infinirtMallocHost or infinirtHostAlloc returned"
                               : "infinirtFree frees what infinirtMalloc and its relatives returned");
  }
  const char* type = a.backend->name.c_str();
  const char* advice = nullptr;
  switch (a.kind) {
    case MemoryKind::Device:
    case MemoryKind::Managed:
      advice = host ? "device or managed memory; free it with infinirtFree" : nullptr;
      break;
    case MemoryKind::Pool:
      advice = host ? "stream-ordered memory; free it with infinirtFreeAsync" : nullptr;
      break;
    case MemoryKind::Pinned:
      advice = host ? nullptr : "page-locked host memory; free it with infinirtFreeHost";
      break;
    case MemoryKind::Registered:
      advice =
          "the program's own memory, registered by infinirtHostRegister; take that back with infinirtHostUnregister";
      break;
    case MemoryKind::Imported:
      advice = "memory of another process; close it with infinirtIpcCloseMemHandle";
      break;
  }
  if (advice) return fail(infinirtErrorInvalidValue, "%s %p at %s:%d is %s", argument, pointer, type, a.device, advice);
  if (a.kind == MemoryKind::Pool) {
    if (a.owner) return pool_free_sync(pointer);
    infinirtError_t result = infinirtSuccess;
    auto& owner = *static_cast<Engine*>(a.backend->engine);
    if (graph_allocation_free(pointer, *owner.devices[static_cast<size_t>(a.device)]->legacy, &result)) return result;
  }
  if (reinterpret_cast<uintptr_t>(pointer) != a.base) {
    return fail(infinirtErrorInvalidValue,
                "%s %p lies %zu bytes inside an allocation of %zu bytes at %s:%d; free its start %p", argument, pointer,
                static_cast<size_t>(reinterpret_cast<uintptr_t>(pointer) - a.base), a.size, type, a.device,
                reinterpret_cast<void*>(a.base));
  }
  return free_memory(pointer, argument);
}

infinirtError_t free_any(void* pointer, const char* argument, bool host) {
  ThreadState& ts = thread_state();
  if (auto error = check_current_device(ts)) return error;
  if (auto error = check_capture_unsafe(ts)) return error;
  return pointer ? free_checked(ts, pointer, argument, host) : infinirtSuccess;
}

// Page-locked memory that the address lies in; InvalidValue with a message when there is none.
infinirtError_t find_pinned(const void* pointer, Allocation* a) {
  if (!pointer) return fail(infinirtErrorInvalidValue, "pHost is null; it must be page-locked host memory");
  if (registry_find(pointer, a) && (a->kind == MemoryKind::Pinned || a->kind == MemoryKind::Registered))
    return infinirtSuccess;
  return fail(infinirtErrorInvalidValue,
              "pHost %p is not page-locked host memory; it must come from infinirtHostAlloc or infinirtMallocHost, or "
              "be registered with "
              "infinirtHostRegister",
              pointer);
}

}  // namespace

infinirtError_t Malloc(void** devPtr, size_t size) { return allocate(devPtr, "devPtr", size, MemoryKind::Device, 0); }

infinirtError_t MallocHost(void** ptr, size_t size) { return allocate(ptr, "ptr", size, MemoryKind::Pinned, 0); }

infinirtError_t HostAlloc(void** pHost, size_t size, unsigned int flags) {
  constexpr unsigned known = infinirtHostAllocPortable | infinirtHostAllocMapped | infinirtHostAllocWriteCombined;
  if (flags & ~known)
    return fail(infinirtErrorInvalidValue, "flags 0x%x has bits outside infinirtHostAlloc... (0x%x)", flags, known);
  return allocate(pHost, "pHost", size, MemoryKind::Pinned, flags);
}

infinirtError_t MallocManaged(void** devPtr, size_t size, unsigned int flags) {
  if (flags != infinirtMemAttachGlobal && flags != infinirtMemAttachHost) {
    return fail(infinirtErrorInvalidValue, "flags %u must be infinirtMemAttachGlobal (1) or infinirtMemAttachHost (2)",
                flags);
  }
  if (auto error = allocate(devPtr, "devPtr", size, MemoryKind::Managed, flags)) return error;
  if (*devPtr) managed_create(reinterpret_cast<uintptr_t>(*devPtr), size);
  return infinirtSuccess;
}

infinirtError_t MallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height) {
  if (!pitch) return missing_output("pitch");
  size_t row = 0, size = 0;
  if (!pitched_size(width, height, 1, &row, &size)) return too_large(thread_state(), width, height, 1);
  if (auto error = allocate(devPtr, "devPtr", size, MemoryKind::Device, 0)) return error;
  *pitch = row;
  return infinirtSuccess;
}

infinirtError_t Malloc3D(struct infinirtPitchedPtr* pitchedDevPtr, struct infinirtExtent extent) {
  if (!pitchedDevPtr) return missing_output("pitchedDevPtr");
  size_t row = 0, size = 0;
  if (!pitched_size(extent.width, extent.height, extent.depth, &row, &size)) {
    return too_large(thread_state(), extent.width, extent.height, extent.depth);
  }
  void* pointer = nullptr;
  if (auto error = allocate(&pointer, "pitchedDevPtr", size, MemoryKind::Device, 0)) return error;
  *pitchedDevPtr = {pointer, row, extent.width, extent.height};
  return infinirtSuccess;
}

infinirtError_t Free(void* devPtr) { return free_any(devPtr, "devPtr", false); }

infinirtError_t FreeHost(void* ptr) { return free_any(ptr, "ptr", true); }

infinirtError_t HostRegister(void* ptr, size_t size, unsigned int flags) {
  constexpr unsigned known = infinirtHostRegisterPortable | infinirtHostRegisterMapped | infinirtHostRegisterIoMemory |
                             infinirtHostRegisterReadOnly;
  ThreadState& ts = thread_state();
  if (auto error = check_current_device(ts)) return error;
  if (auto error = check_capture_unsafe(ts)) return error;
  const auto base = reinterpret_cast<uintptr_t>(ptr);
  if (!ptr || size == 0 || size > UINTPTR_MAX - base) {
    return fail(infinirtErrorInvalidValue, "ptr %p with size %zu is not a range of memory", ptr, size);
  }
  if (flags & ~known)
    return fail(infinirtErrorInvalidValue, "flags 0x%x has bits outside infinirtHostRegister... (0x%x)", flags, known);
  Allocation there;
  if (registry_find(ptr, &there) && there.kind != MemoryKind::Registered) {
    return fail(infinirtErrorInvalidValue,
                "ptr %p is memory of this runtime already (%s:%d); only the program's own host memory is registered",
                ptr, there.backend->name.c_str(), there.device);
  }
  if (!is_mapped(base, size)) {
    return fail(infinirtErrorInvalidValue, "ptr %p with size %zu is not all mapped memory of this process", ptr, size);
  }
  Allocation a;
  a.base = base;
  a.size = size;
  a.kind = MemoryKind::Registered;
  a.device = current_device(ts).ordinal;
  a.flags = flags;
  a.backend = &current_engine(ts).backend;
  if (registry_insert(a)) return infinirtSuccess;
  return fail(infinirtErrorHostMemoryAlreadyRegistered,
              "ptr %p with size %zu overlaps memory that is registered; unregister that first", ptr, size);
}

infinirtError_t HostUnregister(void* ptr) {
  ThreadState& ts = thread_state();
  if (!ptr) return fail(infinirtErrorInvalidValue, "ptr is null; it must be an address given to infinirtHostRegister");
  if (auto error = check_current_device(ts)) return error;
  if (auto error = check_capture_unsafe(ts)) return error;
  Allocation a;
  if (!registry_find(ptr, &a)) {
    return fail(infinirtErrorHostMemoryNotRegistered,
                "ptr %p is not registered; infinirtHostRegister has not seen it, or it was unregistered", ptr);
  }
  if (a.kind != MemoryKind::Registered) {
    return fail(infinirtErrorInvalidValue, "ptr %p was allocated by this runtime, not registered; free it instead",
                ptr);
  }
  if (a.base != reinterpret_cast<uintptr_t>(ptr)) {
    return fail(infinirtErrorInvalidValue, "ptr %p lies inside a registered range; unregister its start %p", ptr,
                reinterpret_cast<void*>(a.base));
  }
  // The program may give the memory away once it is unregistered.
  wait_for_users(*static_cast<Engine*>(a.backend->engine), -1);
  if (registry_remove(ptr, &a)) return infinirtSuccess;
  return fail(infinirtErrorHostMemoryNotRegistered, "ptr %p was unregistered by another thread at the same time", ptr);
}

infinirtError_t HostGetDevicePointer(void** pDevice, void* pHost, unsigned int flags) {
  if (!pDevice) return missing_output("pDevice");
  if (flags != 0) return fail(infinirtErrorInvalidValue, "flags 0x%x must be 0", flags);
  Allocation a;
  if (auto error = find_pinned(pHost, &a)) return error;
  *pDevice = pHost;  // one address space
  return infinirtSuccess;
}

infinirtError_t HostGetFlags(unsigned int* pFlags, void* pHost) {
  if (!pFlags) return missing_output("pFlags");
  Allocation a;
  if (auto error = find_pinned(pHost, &a)) return error;
  *pFlags = a.flags | infinirtHostAllocMapped;  // with one address space all of it is mapped, asked for or not
  return infinirtSuccess;
}

infinirtError_t MemGetInfo(size_t* free, size_t* total) {
  if (!free) return missing_output("free");
  if (!total) return missing_output("total");
  ThreadState& ts = thread_state();
  if (auto error = check_current_device(ts)) return error;
  EngineDevice& device = current_device(ts);
  device.engine->memory_info(device.ordinal, free, total);
  return infinirtSuccess;
}

infinirtError_t PointerGetAttributes(struct infinirtPointerAttributes* attributes, const void* ptr) {
  if (!attributes) return missing_output("attributes");
  void* pointer = const_cast<void*>(ptr);
  const Operand operand = find_operand(ptr);
  if (operand.place == Place::Unknown || !operand.live) {
    *attributes = {infinirtMemoryTypeUnregistered, infinirtInvalidDeviceId, nullptr, pointer};
    return infinirtSuccess;
  }
  switch (operand.place) {
    case Place::Device:
      *attributes = {infinirtMemoryTypeDevice, operand.device, pointer, nullptr};
      break;
    case Place::Managed:
      *attributes = {infinirtMemoryTypeManaged, operand.device, pointer, pointer};
      break;
    default:
      *attributes = {infinirtMemoryTypeHost, operand.device, pointer, pointer};
      break;
  }
  return infinirtSuccess;
}

}  // namespace infinirt::engine_api
