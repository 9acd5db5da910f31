// Stream-ordered memory functions of engine-run backends. (Sharing pools with other processes: api_pool_share.cpp.)
#include <cstring>
#include <mutex>

#include "engine/capture.h"
#include "engine/graph_memory.h"
#include "engine/pool.h"

namespace infinirt {

namespace {

constexpr size_t kMaxRequest = size_t{1} << 47;  // beyond any address space

#define RESOLVE_POOL(name, handle)                     \
  MemPool* name##_ptr = resolve_pool(handle, #handle); \
  if (!name##_ptr) return infinirtErrorInvalidValue;   \
  MemPool& name = *name##_ptr

// The stream may be used now, outside captures.
inline infinirtError_t check_stream(Stream& stream) {
  if (auto error = check_device(*stream.device)) return error;
  if (stream.role == StreamRole::Legacy && stream.device->blocking_captures.load(std::memory_order_relaxed) > 0)
      [[unlikely]] {
    return capture_bars_legacy(*stream.device);
  }
  return stream.capture.load(std::memory_order_relaxed) ? infinirtSuccess : check_capture_unsafe(thread_state());
}

infinirtError_t allocate(void** out, size_t size, MemPool* pool, Stream& stream) {
  if (!pool) return infinirtErrorMemoryAllocation;
  if (size == 0) {  // as CUDA has it: null, and no error
    *out = nullptr;
    return infinirtSuccess;
  }
  if (size > kMaxRequest) {
    return fail(infinirtErrorMemoryAllocation,
                "size %zu is more than any device can hold; look for an overflow in its computation", size);
  }
  if (stream.capture.load(std::memory_order_acquire)) [[unlikely]] {
    return capture_malloc(stream, size, pool->properties, out);
  }
  return pool_allocate(*pool, stream, size, out);
}

infinirtError_t check_properties(const struct infinirtMemPoolProps& properties, Engine& engine) {
  if (properties.allocType != infinirtMemAllocationTypePinned) {
    return fail(infinirtErrorInvalidValue,
                "poolProps->allocType %d: only infinirtMemAllocationTypePinned (1) is allowed",
                static_cast<int>(properties.allocType));
  }
  switch (properties.location.type) {
    case infinirtMemLocationTypeDevice:
      break;
    case infinirtMemLocationTypeHostNuma:
      return fail(infinirtErrorNotSupported,
                  "poolProps->location.type infinirtMemLocationTypeHostNuma: pools of host memory are not "
                  "supported on '%s'; use infinirtMemLocationTypeDevice",
                  engine.backend.name.c_str());
    default:
      return fail(infinirtErrorInvalidValue,
                  "poolProps->location.type %d: infinirtMemLocationTypeDevice (1) was expected",
                  static_cast<int>(properties.location.type));
  }
  const auto count = static_cast<int>(engine.devices.size());
  if (properties.location.id < 0 || properties.location.id >= count) {
    return fail(infinirtErrorInvalidValue, "poolProps->location.id %d is no device of '%s', which has %d",
                properties.location.id, engine.backend.name.c_str(), count);
  }
  if (properties.handleTypes != infinirtMemHandleTypeNone &&
      properties.handleTypes != infinirtMemHandleTypePosixFileDescriptor) {
    return fail(infinirtErrorInvalidValue,
                "poolProps->handleTypes %d: only infinirtMemHandleTypeNone (0) and "
                "infinirtMemHandleTypePosixFileDescriptor (1) are possible here",
                static_cast<int>(properties.handleTypes));
  }
  if (properties.handleTypes != infinirtMemHandleTypeNone && !engine.shares_memory()) {
    return fail(infinirtErrorNotSupported,
                "poolProps->handleTypes: '%s' cannot share memory with other processes; use "
                "infinirtMemHandleTypeNone",
                engine.backend.name.c_str());
  }
  if (properties.maxSize > kMaxRequest) {
    return fail(infinirtErrorInvalidValue, "poolProps->maxSize %zu is more than any device can hold; 0 means no limit",
                properties.maxSize);
  }
  return infinirtSuccess;
}

// The place of a device in a pool's list of access rights; -1 when the location is no device.
int device_of(const struct infinirtMemLocation& location, const MemPool& pool) {
  const bool valid = location.type == infinirtMemLocationTypeDevice && location.id >= 0 &&
                     location.id < static_cast<int>(pool.device->engine->devices.size());
  return valid ? location.id : -1;
}

bool policy_of(enum infinirtMemPoolAttr attribute, ReusePolicy* policy) {
  switch (attribute) {
    case infinirtMemPoolReuseFollowEventDependencies:
      *policy = ReusePolicy::follow_event_dependencies;
      return true;
    case infinirtMemPoolReuseAllowOpportunistic:
      *policy = ReusePolicy::allow_opportunistic;
      return true;
    case infinirtMemPoolReuseAllowInternalDependencies:
      *policy = ReusePolicy::allow_internal_dependencies;
      return true;
    default:
      return false;
  }
}

template <class T>
T read_value(const void* value) {
  T result;
  std::memcpy(&result, value, sizeof result);
  return result;
}

}  // namespace

namespace engine_api {

infinirtError_t MallocAsync(void** devPtr, size_t size, infinirtStream_t hStream) {
  infinirtError_t error = infinirtSuccess;
  Stream* stream = resolve_stream(thread_state(), hStream, &error);
  if (!stream) [[unlikely]]
    return error;
  if (!devPtr) [[unlikely]]
    return fail(infinirtErrorInvalidValue, "devPtr is null; it must point at where the address goes");
  if ((error = check_stream(*stream))) [[unlikely]]
    return error;
  return allocate(devPtr, size, current_pool(*stream->device), *stream);
}

infinirtError_t MallocFromPoolAsync(void** ptr, size_t size, infinirtMemPool_t memPool, infinirtStream_t stream) {
  infinirtError_t error = infinirtSuccess;
  Stream* s = resolve_stream(thread_state(), stream, &error);
  if (!s) return error;
  RESOLVE_POOL(pool, memPool);
  if (!ptr) return fail(infinirtErrorInvalidValue, "ptr is null; it must point at where the address goes");
  if ((error = check_stream(*s))) return error;
  return allocate(ptr, size, &pool, *s);
}

infinirtError_t FreeAsync(void* devPtr, infinirtStream_t hStream) {
  infinirtError_t error = infinirtSuccess;
  Stream* stream = resolve_stream(thread_state(), hStream, &error);
  if (!stream) [[unlikely]]
    return error;
  if ((error = check_stream(*stream))) [[unlikely]]
    return error;
  if (!devPtr) return infinirtSuccess;
  if (stream->capture.load(std::memory_order_acquire)) [[unlikely]]
    return capture_free(*stream, devPtr);
  error = pool_free(devPtr, *stream);
  if (error == infinirtSuccess) keep_legacy_order(*stream);
  return error;
}

infinirtError_t MemPoolCreate(infinirtMemPool_t* memPool, const struct infinirtMemPoolProps* poolProps) {
  if (auto error = check_capture_unsafe(thread_state())) return error;
  if (!memPool) return fail(infinirtErrorInvalidValue, "memPool is null; it must point at where the new pool goes");
  if (!poolProps) return fail(infinirtErrorInvalidValue, "poolProps is null; it must say where the pool's memory lies");
  Engine& engine = current_engine(thread_state());
  if (auto error = check_properties(*poolProps, engine)) return error;
  EngineDevice& device = *engine.devices[static_cast<size_t>(poolProps->location.id)];
  if (auto error = check_device(device)) return error;
  MemPool* pool = create_pool(device, *poolProps, false);
  if (!pool) return infinirtErrorMemoryAllocation;
  *memPool = pool->handle;
  return infinirtSuccess;
}

infinirtError_t MemPoolDestroy(infinirtMemPool_t memPool) {
  if (auto error = check_capture_unsafe(thread_state())) return error;
  RESOLVE_POOL(pool, memPool);
  if (&pool == pool.device->default_pool.load(std::memory_order_acquire)) {
    return fail(infinirtErrorInvalidValue, "memPool is the default pool of %s:%d, which cannot be destroyed",
                pool.device->engine->backend.name.c_str(), pool.device->ordinal);
  }
  if (const size_t blocks = pool.imported ? imported_blocks_in_use(pool) : 0) {
    return fail(infinirtErrorInvalidValue,
                "memPool was imported from another process, and %zu of its blocks are in use here; free them first",
                blocks);
  }
  destroy_pool(pool);
  return infinirtSuccess;
}

infinirtError_t MemPoolTrimTo(infinirtMemPool_t memPool, size_t minBytesToKeep) {
  if (auto error = check_capture_unsafe(thread_state())) return error;
  RESOLVE_POOL(pool, memPool);
  pool.allocator.trim_to(minBytesToKeep);
  return infinirtSuccess;
}

infinirtError_t MemPoolSetAttribute(infinirtMemPool_t memPool, enum infinirtMemPoolAttr attr, void* value) {
  if (auto error = check_capture_unsafe(thread_state())) return error;
  RESOLVE_POOL(pool, memPool);
  if (!value) return fail(infinirtErrorInvalidValue, "value is null; it must point at the attribute's new value");
  ReusePolicy policy;
  if (policy_of(attr, &policy)) {
    pool.allocator.set_policy(policy, read_value<int>(value) != 0);
    return infinirtSuccess;
  }
  switch (attr) {
    case infinirtMemPoolAttrReleaseThreshold:
      pool.allocator.set_release_threshold(read_value<uint64_t>(value));
      return infinirtSuccess;
    case infinirtMemPoolAttrReservedMemHigh:
    case infinirtMemPoolAttrUsedMemHigh:
      if (read_value<uint64_t>(value) != 0) {
        return fail(infinirtErrorInvalidValue,
                    "*value %llu: a high-water mark can only be set to 0, which makes it what is held now",
                    static_cast<unsigned long long>(read_value<uint64_t>(value)));
      }
      attr == infinirtMemPoolAttrUsedMemHigh ? pool.allocator.reset_used_high() : pool.allocator.reset_reserved_high();
      return infinirtSuccess;
    case infinirtMemPoolAttrReservedMemCurrent:
    case infinirtMemPoolAttrUsedMemCurrent:
      return fail(infinirtErrorInvalidValue, "attr %d can only be read", static_cast<int>(attr));
    default:
      return fail(infinirtErrorInvalidValue, "attr %d is no attribute of a memory pool", static_cast<int>(attr));
  }
}

infinirtError_t MemPoolGetAttribute(infinirtMemPool_t memPool, enum infinirtMemPoolAttr attr, void* value) {
  if (auto error = check_capture_unsafe(thread_state())) return error;
  RESOLVE_POOL(pool, memPool);
  if (!value) return fail(infinirtErrorInvalidValue, "value is null; it must point at where the value goes");
  ReusePolicy policy;
  if (policy_of(attr, &policy)) {
    const int on = pool.allocator.policy(policy) ? 1 : 0;
    std::memcpy(value, &on, sizeof on);
    return infinirtSuccess;
  }
  const AllocatorStats stats = pool.allocator.stats();
  uint64_t result = 0;
  switch (attr) {
    case infinirtMemPoolAttrReleaseThreshold:
      result = pool.allocator.release_threshold();
      break;
    case infinirtMemPoolAttrReservedMemCurrent:
      result = stats.reserved_current;
      break;
    case infinirtMemPoolAttrReservedMemHigh:
      result = stats.reserved_high;
      break;
    case infinirtMemPoolAttrUsedMemCurrent:
      result = stats.used_current;
      break;
    case infinirtMemPoolAttrUsedMemHigh:
      result = stats.used_high;
      break;
    default:
      return fail(infinirtErrorInvalidValue, "attr %d is no attribute of a memory pool", static_cast<int>(attr));
  }
  std::memcpy(value, &result, sizeof result);
  return infinirtSuccess;
}

infinirtError_t MemPoolSetAccess(infinirtMemPool_t memPool, const struct infinirtMemAccessDesc* descList,
                                 size_t count) {
  if (auto error = check_capture_unsafe(thread_state())) return error;
  RESOLVE_POOL(pool, memPool);
  if (count > 0 && !descList) return fail(infinirtErrorInvalidValue, "descList is null, and count is %zu", count);
  for (size_t i = 0; i < count; ++i) {
    const struct infinirtMemAccessDesc& wanted = descList[i];
    if (wanted.location.type != infinirtMemLocationTypeDevice) {
      return fail(infinirtErrorNotSupported, "descList[%zu].location.type %d: access is given to devices only", i,
                  static_cast<int>(wanted.location.type));
    }
    const int device = device_of(wanted.location, pool);
    if (device < 0) {
      return fail(infinirtErrorInvalidDevice, "descList[%zu].location.id %d is no device of '%s'", i,
                  wanted.location.id, pool.device->engine->backend.name.c_str());
    }
    if (wanted.flags == infinirtMemAccessFlagsProtRead) {
      return fail(infinirtErrorNotSupported,
                  "descList[%zu].flags: read-only access is not supported; use ProtReadWrite or ProtNone", i);
    }
    if (wanted.flags != infinirtMemAccessFlagsProtNone && wanted.flags != infinirtMemAccessFlagsProtReadWrite) {
      return fail(infinirtErrorInvalidValue, "descList[%zu].flags %d is none of the access flags", i,
                  static_cast<int>(wanted.flags));
    }
    if (device == pool.device->ordinal && wanted.flags == infinirtMemAccessFlagsProtNone) {
      return fail(infinirtErrorInvalidDevice, "descList[%zu]: the pool's own device cannot lose its access", i);
    }
  }
  std::lock_guard guard(pool.mutex);
  for (size_t i = 0; i < count; ++i) pool.access[static_cast<size_t>(descList[i].location.id)] = descList[i].flags;
  return infinirtSuccess;
}

infinirtError_t MemPoolGetAccess(enum infinirtMemAccessFlags* flags, infinirtMemPool_t memPool,
                                 struct infinirtMemLocation* location) {
  if (auto error = check_capture_unsafe(thread_state())) return error;
  RESOLVE_POOL(pool, memPool);
  if (!flags) return fail(infinirtErrorInvalidValue, "flags is null; it must point at where the access goes");
  if (!location) return fail(infinirtErrorInvalidValue, "location is null; it must say whose access is asked for");
  if (location->type == infinirtMemLocationTypeHost) {  // the host is given no access, whether or not it could reach it
    *flags = infinirtMemAccessFlagsProtNone;
    return infinirtSuccess;
  }
  const int device = device_of(*location, pool);
  if (device < 0) {
    return fail(infinirtErrorInvalidValue, "location (type %d, id %d) is no device of '%s'",
                static_cast<int>(location->type), location->id, pool.device->engine->backend.name.c_str());
  }
  std::lock_guard guard(pool.mutex);
  *flags = pool.access[static_cast<size_t>(device)];
  return infinirtSuccess;
}

infinirtError_t DeviceGetDefaultMemPool(infinirtMemPool_t* memPool, int device) {
  if (!memPool) return fail(infinirtErrorInvalidValue, "memPool is null; it must point at where the pool goes");
  EngineDevice* found = device_at(current_engine(thread_state()), device, "device");
  if (!found) return infinirtErrorInvalidDevice;
  MemPool* pool = default_pool(*found);
  if (!pool) return infinirtErrorMemoryAllocation;
  *memPool = pool->handle;
  return infinirtSuccess;
}

infinirtError_t DeviceGetMemPool(infinirtMemPool_t* memPool, int device) {
  if (!memPool) return fail(infinirtErrorInvalidValue, "memPool is null; it must point at where the pool goes");
  EngineDevice* found = device_at(current_engine(thread_state()), device, "device");
  if (!found) return infinirtErrorInvalidValue;  // as measured; infinirtDeviceGetDefaultMemPool gives InvalidDevice
  MemPool* pool = current_pool(*found);
  if (!pool) return infinirtErrorMemoryAllocation;
  *memPool = pool->handle;
  return infinirtSuccess;
}

infinirtError_t DeviceSetMemPool(int device, infinirtMemPool_t memPool) {
  if (auto error = check_capture_unsafe(thread_state())) return error;
  RESOLVE_POOL(pool, memPool);
  if (device != pool.device->ordinal) {
    return fail(infinirtErrorInvalidValue, "memPool has memory of %s:%d and cannot be the pool of device %d",
                pool.device->engine->backend.name.c_str(), pool.device->ordinal, device);
  }
  if (pool.imported) {
    return fail(infinirtErrorInvalidValue,
                "memPool was imported from another process; nothing can be allocated from it");
  }
  EngineDevice& owner = *pool.device;
  owner.current_pool.store(&pool, std::memory_order_release);
  if (pool.state.load() != MemPool::State::Alive) {  // destroyed by another thread meanwhile
    MemPool* current = &pool;
    owner.current_pool.compare_exchange_strong(current, default_pool(owner));
  }
  return infinirtSuccess;
}

}  // namespace engine_api

}  // namespace infinirt
