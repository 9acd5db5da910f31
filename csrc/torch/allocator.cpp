#include "torch/allocator.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int kMaxDevices = 128;

// The aligned names may be another generation's in this process, so they are looked up in the library that is meant.
template <class Function>
Function* function(const char* name) {
  return reinterpret_cast<Function*>(infinirtXGetProcAddress(name));
}

struct PoolKey {
  int device;
  InfinirtTorchPool pool;
  friend auto operator<=>(const PoolKey&, const PoolKey&) = default;
};

struct Pool {
  infinirtXCacheReserve_t reserve = 0;
  int uses = 0;
};

struct Taking {
  PoolKey key;
  std::function<bool(infinirtStream_t)> takes_part;
};

struct State {
  std::string device_type = "nvidia";
  std::atomic<infinirtXCache_t> caches[kMaxDevices] = {};

  std::mutex mutex;  // of everything below, and of making caches
  std::map<PoolKey, Pool> pools;
  std::atomic<int> taking_count{0};
  std::vector<Taking> taking;     // pools that are being allocated to, the latest last
  std::vector<PoolKey> released;  // whose graphs may still be running
};

// Leaked: PyTorch frees memory until the very end of the process.
State& state() {
  static auto* instance = new State;
  return *instance;
}

// For its lifetime the calling thread's device type is ours.
class OurDeviceType {
 public:
  OurDeviceType() {
    infinirtXGetDeviceType(&before_);
    infinirtXSetDeviceType(state().device_type.c_str());
  }
  ~OurDeviceType() {
    if (before_) infinirtXSetDeviceType(before_);
  }
  OurDeviceType(const OurDeviceType&) = delete;
  OurDeviceType& operator=(const OurDeviceType&) = delete;

 private:
  const char* before_ = nullptr;
};

// Where a failure is told otherwise or is none, the thread's last error stays what it was.
class LastErrorStays {
 public:
  LastErrorStays() : had_none_(peek() == infinirtSuccess) {}
  ~LastErrorStays() {
    static auto* const get = function<decltype(infinirtGetLastError)>("infinirtGetLastError");
    if (had_none_) get();
  }
  LastErrorStays(const LastErrorStays&) = delete;
  LastErrorStays& operator=(const LastErrorStays&) = delete;

 private:
  static infinirtError_t peek() {
    static auto* const function_ = function<decltype(infinirtPeekAtLastError)>("infinirtPeekAtLastError");
    return function_();
  }
  const bool had_none_;
};

infinirtXCache_t cache_of(int device) {
  if (device < 0 || device >= kMaxDevices) return nullptr;
  auto& place = state().caches[device];
  if (infinirtXCache_t there = place.load(std::memory_order_acquire)) [[likely]]
    return there;
  std::lock_guard guard(state().mutex);
  if (infinirtXCache_t there = place.load()) return there;
  OurDeviceType ours;
  infinirtXCacheProps props{};
  props.structSize = sizeof props;
  props.device = device;
  infinirtXCache_t made = nullptr;
  if (infinirtXCacheCreate(&made, &props) != infinirtSuccess) return nullptr;
  place.store(made, std::memory_order_release);
  return made;
}

// The pool that an allocation belongs to, or none. The mutex is held.
const Pool* pool_for(int device, infinirtStream_t stream) {
  State& all = state();
  for (auto entry = all.taking.rbegin(); entry != all.taking.rend(); ++entry) {
    if (entry->key.device == device && entry->takes_part(stream)) return &all.pools[entry->key];
  }
  return nullptr;
}

infinirtError_t allocate_once(infinirtXCache_t cache, size_t size, int device, infinirtStream_t stream,
                              void** pointer) {
  if (state().taking_count.load(std::memory_order_acquire) != 0) {
    infinirtXCacheReserve_t reserve = 0;
    {
      std::lock_guard guard(state().mutex);
      if (const Pool* pool = pool_for(device, stream)) reserve = pool->reserve;
    }
    if (reserve != 0) return infinirtXCacheReserveAllocate(pointer, size, cache, reserve, stream);
  }
  return infinirtXCacheAllocate(pointer, size, cache, stream);
}

// Nobody says where a graph was launched last, so its memory can be handed out again only when the whole device has come to
// rest. That is waited for when memory is wanted, never for its own sake, and not while anything is being captured.
void settle_released() {
  State& all = state();
  std::lock_guard guard(all.mutex);
  if (all.released.empty() || !all.taking.empty()) return;
  OurDeviceType ours;
  static auto* const get_device = function<decltype(infinirtGetDevice)>("infinirtGetDevice");
  static auto* const set_device = function<decltype(infinirtSetDevice)>("infinirtSetDevice");
  static auto* const synchronize = function<decltype(infinirtDeviceSynchronize)>("infinirtDeviceSynchronize");
  int before = 0;
  get_device(&before);
  std::erase_if(all.released, [&](const PoolKey& key) {
    if (set_device(key.device) != infinirtSuccess || synchronize() != infinirtSuccess) return false;
    const auto found = all.pools.find(key);
    if (found != all.pools.end() && found->second.uses == 0) {
      infinirtXCacheReserveDestroy(all.caches[key.device].load(), found->second.reserve, infinirtStreamLegacy);
      all.pools.erase(found);
    }
    return true;
  });
  set_device(before);
}

template <class Visit>
void for_each_cache(Visit visit) {
  for (auto& place : state().caches) {
    if (infinirtXCache_t cache = place.load(std::memory_order_acquire)) visit(cache);
  }
}

}  // namespace

extern "C" {

void* infinirt_torch_allocate(size_t size, int device, infinirtStream_t stream) {
  void* pointer = nullptr;
  const LastErrorStays stays;
  infinirtXCache_t cache = cache_of(device);
  if (cache) {
    infinirtError_t error = allocate_once(cache, size, device, stream, &pointer);
    if (error == infinirtErrorMemoryAllocation) {
      settle_released();
      error = allocate_once(cache, size, device, stream, &pointer);
    }
    if (error == infinirtSuccess) return pointer;
  }
  throw std::runtime_error(infinirtXGetLastErrorMessage());
}

void infinirt_torch_free(void* pointer, size_t, int device, infinirtStream_t stream) {
  if (infinirtXCache_t cache = pointer ? cache_of(device) : nullptr) infinirtXCacheFree(pointer, cache, stream);
}

void infinirt_torch_record_stream(void* pointer, infinirtStream_t stream) {
  const LastErrorStays stays;
  for_each_cache([&](infinirtXCache_t cache) {
    void* base = nullptr;
    size_t size = 0;
    // Others' memory, wrapped by a tensor, is its owner's business.
    if (infinirtXCacheGetSegment(&base, &size, cache, pointer) == infinirtSuccess)
      infinirtXCacheRecordStream(pointer, cache, stream);
  });
}

void* infinirt_torch_base_allocation(void* pointer, size_t* size) {
  const LastErrorStays stays;
  void* base = pointer;
  size_t bytes = 0;
  for_each_cache([&](infinirtXCache_t cache) {
    void* found = nullptr;
    size_t found_bytes = 0;
    if (infinirtXCacheGetSegment(&found, &found_bytes, cache, pointer) != infinirtSuccess) return;
    base = found;
    bytes = found_bytes;
  });
  if (size) *size = bytes;
  return base;
}

void infinirt_torch_empty_cache() {
  settle_released();
  for_each_cache([](infinirtXCache_t cache) { infinirtXCacheTrimTo(cache, 0); });
}

void infinirt_torch_set_memory_fraction(double fraction, int device) {
  infinirtXCache_t cache = cache_of(device);
  if (!cache) throw std::runtime_error(infinirtXGetLastErrorMessage());
  static auto* const get_device = function<decltype(infinirtGetDevice)>("infinirtGetDevice");
  static auto* const set_device = function<decltype(infinirtSetDevice)>("infinirtSetDevice");
  static auto* const get_info = function<decltype(infinirtMemGetInfo)>("infinirtMemGetInfo");
  OurDeviceType ours;
  int before = 0;
  size_t free_bytes = 0, total = 0;
  get_device(&before);
  set_device(device);
  const infinirtError_t error = get_info(&free_bytes, &total);
  set_device(before);
  if (error != infinirtSuccess) throw std::runtime_error(infinirtXGetLastErrorMessage());
  const auto most = static_cast<size_t>(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(total));
  infinirtXCacheSetMaxSize(cache, std::max<size_t>(most, 1));  // 0 would be no limit
}

void infinirt_torch_begin_pool(int device, InfinirtTorchPool pool, std::function<bool(infinirtStream_t)> takes_part) {
  infinirtXCache_t cache = cache_of(device);
  if (!cache) throw std::runtime_error(infinirtXGetLastErrorMessage());
  settle_released();
  State& all = state();
  std::lock_guard guard(all.mutex);
  const PoolKey key{device, pool};
  Pool& entry = all.pools[key];
  if (entry.reserve == 0 && infinirtXCacheReserveCreate(&entry.reserve, cache) != infinirtSuccess) {
    all.pools.erase(key);
    throw std::runtime_error(infinirtXGetLastErrorMessage());
  }
  ++entry.uses;
  all.taking.push_back({key, std::move(takes_part)});
  all.taking_count.store(static_cast<int>(all.taking.size()), std::memory_order_release);
}

void infinirt_torch_end_pool(int device, InfinirtTorchPool pool) {
  State& all = state();
  std::lock_guard guard(all.mutex);
  const auto last = std::find_if(all.taking.rbegin(), all.taking.rend(),
                                 [&](const Taking& entry) { return entry.key == PoolKey{device, pool}; });
  if (last == all.taking.rend()) return;
  all.taking.erase(std::next(last).base());
  all.taking_count.store(static_cast<int>(all.taking.size()), std::memory_order_release);
}

void infinirt_torch_release_pool(int device, InfinirtTorchPool pool) {
  State& all = state();
  std::lock_guard guard(all.mutex);
  const PoolKey key{device, pool};
  const auto found = all.pools.find(key);
  if (found == all.pools.end() || found->second.uses == 0) return;
  if (--found->second.uses == 0) all.released.push_back(key);
}

infinirtXCache_t infinirt_torch_cache(int device) { return cache_of(device); }

void infinirt_torch_use_device_type(const char* type) { state().device_type = type; }
}
