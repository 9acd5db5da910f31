#include "backends/nvidia/retired_handles.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/nvidia/around_calls.h"
#include "backends/nvidia/cross_events.h"
#include "backends/nvidia/real_library.h"
#include "core/mutex.h"

namespace infinirt::nvidia {

namespace {

// Names the thread's context for good, as its address does not; 0 where the driver cannot say.
uint64_t current_context() {
  static const auto get = reinterpret_cast<int (*)(void**)>(driver_function("cuCtxGetCurrent"));
  static const auto identify = reinterpret_cast<int (*)(void*, unsigned long long*)>(driver_function("cuCtxGetId"));
  void* context = nullptr;
  unsigned long long id = 0;
  if (!get || !identify || get(&context) != 0 || !context) return 0;
  return identify(context, &id) == 0 ? id : 0;
}

// By context: what another library ended together with its context must not be destroyed again, and the current one is alive.
template <class Handle, size_t kKept>
class Retired {
 public:
  // Keeps the handle and returns the one that has to go, if any.
  Handle exchange(Handle handle, uint64_t context) {
    std::lock_guard guard(mutex_);
    Ring& ring = rings_[context];
    const Handle old = std::exchange(ring.handles[ring.next++ % kKept], handle);
    if (old) note_alive(old);  // from here on the address may be anybody's
    return old;
  }

  void forget() {
    std::lock_guard guard(mutex_);
    for (const auto& [context, ring] : rings_) {
      for (Handle handle : ring.handles) {
        if (handle) note_alive(handle);
      }
    }
    rings_.clear();
  }

 private:
  struct Ring {
    std::array<Handle, kKept> handles = {};
    size_t next = 0;
  };
  Mutex mutex_;
  std::map<uint64_t, Ring> rings_;
};

// A stream of the driver holds some memory, an event next to none.
using RetiredStreams = Retired<infinirtStream_t, 32>;
using RetiredEvents = Retired<infinirtEvent_t, 256>;

RetiredStreams& retired_streams() {
  static auto* instance = new RetiredStreams;
  return *instance;
}
RetiredEvents& retired_events() {
  static auto* instance = new RetiredEvents;
  return *instance;
}

bool is_in_capture(infinirtStream_t stream) {
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  return real.StreamIsCapturing(stream, &status) != infinirtSuccess || status != infinirtStreamCaptureStatusNone;
}

// The first failure of a device is somebody's to see; here nobody would.
void destroy_quietly(infinirtError_t error) {
  if (error != infinirtSuccess && real_get_last_error) real_get_last_error();
}

// ---- Pools

struct RetiredPools {
  Mutex mutex;
  std::vector<infinirtMemPool_t> pools;
};

RetiredPools& retired_pools() {
  static auto* instance = new RetiredPools;
  return *instance;
}

// Whether the pool holds nothing any more, neither in use nor waiting for a free to be executed.
bool is_empty(infinirtMemPool_t pool) {
  uint64_t used = 0, reserved = 0;
  auto get = [&](enum infinirtMemPoolAttr attribute, uint64_t* value) {
    return real.MemPoolGetAttribute(pool, attribute, value) == infinirtSuccess;
  };
  if (!get(infinirtMemPoolAttrUsedMemCurrent, &used) || used) return false;
  if (!get(infinirtMemPoolAttrReservedMemCurrent, &reserved)) return false;
  if (!reserved) return true;
  return real.MemPoolTrimTo(pool, 0) == infinirtSuccess && get(infinirtMemPoolAttrReservedMemCurrent, &reserved) &&
         !reserved;
}

// What destroying a pool means for everybody else: no device takes memory from it, and what it has goes back when it can.
void withdraw(infinirtMemPool_t pool) {
  uint64_t keep_nothing = 0;
  destroy_quietly(real.MemPoolSetAttribute(pool, infinirtMemPoolAttrReleaseThreshold, &keep_nothing));
  for (int device = 0; device < library().devices; ++device) {
    infinirtMemPool_t current = nullptr, standard = nullptr;
    if (real.DeviceGetMemPool(&current, device) == infinirtSuccess && current == pool &&
        real.DeviceGetDefaultMemPool(&standard, device) == infinirtSuccess) {
      destroy_quietly(real.DeviceSetMemPool(device, standard));
    }
  }
}

void destroy_emptied_pools(RetiredPools& retired) {
  std::erase_if(retired.pools, [](infinirtMemPool_t pool) {
    if (!is_empty(pool)) return false;
    note_alive(pool);  // from here on the address may be anybody's
    destroy_quietly(real.MemPoolDestroy(pool));
    return true;
  });
}

// Whether the pool can be ended later: what the real library has to say about all others is its own to say.
bool can_wait(infinirtMemPool_t pool) {
  if (!pool || !real.MemPoolGetAttribute || !real.DeviceGetMemPool || !real.DeviceGetDefaultMemPool) return false;
  for (int device = 0; device < library().devices; ++device) {
    infinirtMemPool_t standard = nullptr;
    if (real.DeviceGetDefaultMemPool(&standard, device) == infinirtSuccess && standard == pool) return false;
  }
  uint64_t used = 0;
  const bool is_pool = real.MemPoolGetAttribute(pool, infinirtMemPoolAttrUsedMemCurrent, &used) == infinirtSuccess;
  if (!is_pool && real_get_last_error) real_get_last_error();
  return is_pool;
}

}  // namespace

infinirtError_t StreamDestroy(infinirtStream_t stream) {
  if (is_dead(stream)) [[unlikely]]
    return refuse_dead(stream, "stream");
  const uint64_t context = current_context();
  // What the real library has to say about predefined streams, and about captures that end here, is its own to say.
  if (reinterpret_cast<uintptr_t>(stream) <= 2 || !context || is_in_capture(stream)) {
    const infinirtError_t error = real.StreamDestroy(stream);
    if (error == infinirtSuccess) return error;
    return failed(FunctionId::StreamDestroy, error, nullptr, "stream %p", shown(stream));
  }
  mark_dead(stream);
  if (infinirtStream_t old = retired_streams().exchange(stream, context)) destroy_quietly(real.StreamDestroy(old));
  return infinirtSuccess;
}

infinirtError_t EventDestroy(infinirtEvent_t event) {
  if (is_dead(event)) [[unlikely]]
    return refuse_dead(event, "event");
  const uint64_t context = current_context();
  if (!event || !context) {
    const infinirtError_t error = real.EventDestroy(event);
    if (error == infinirtSuccess) return error;
    return failed(FunctionId::EventDestroy, error, nullptr, "event %p", shown(event));
  }
  mark_dead(event);
  if (infinirtEvent_t old = retired_events().exchange(event, context)) destroy_quietly(real.EventDestroy(old));
  return infinirtSuccess;
}

infinirtError_t MemPoolDestroy(infinirtMemPool_t memPool) {
  if (is_dead(memPool)) [[unlikely]]
    return refuse_dead(memPool, "memPool");
  RetiredPools& retired = retired_pools();
  std::lock_guard guard(retired.mutex);
  destroy_emptied_pools(retired);
  if (std::find(retired.pools.begin(), retired.pools.end(), memPool) != retired.pools.end()) [[unlikely]]
    return refuse_dead(memPool, "memPool");
  if (can_wait(memPool) && !is_empty(memPool)) {
    withdraw(memPool);
    mark_dead(memPool);
    retired.pools.push_back(memPool);
    return infinirtSuccess;
  }
  const infinirtError_t error = real.MemPoolDestroy(memPool);
  if (error == infinirtSuccess) return error;
  return failed(FunctionId::MemPoolDestroy, error, nullptr, "memPool %p", shown(memPool));
}

void forget_retired_handles() {
  {
    RetiredPools& retired = retired_pools();
    std::lock_guard guard(retired.mutex);
    for (infinirtMemPool_t pool : retired.pools) note_alive(pool);
    retired.pools.clear();
  }
  retired_streams().forget();
  retired_events().forget();
  forget_cross_events();
}

}  // namespace infinirt::nvidia
