#include "backends/plugin/plugin_engine.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <thread>
#include <utility>

#include "core/visible_devices.h"

namespace infinirt::plugin {

namespace {

constexpr size_t kHostAlignment = 4096;  // managed memory is advised about by the page
constexpr int64_t kDrainNanoseconds = 2000000000;

}  // namespace

PluginEngine::PluginEngine(std::string path, const Probed& probed, const std::string& type, bool thread_safe,
                           const Layout* forced, const Layout* fallback)
    : path_(std::move(path)),
      probed_(probed),
      has_forced_(forced != nullptr),
      has_fallback_(fallback != nullptr),
      thread_safe_(thread_safe) {
  if (forced) forced_ = *forced;
  if (fallback) fallback_ = *fallback;
  visible_ = visible_devices(type.c_str(), probed.devices, &backend.problem);
  units_.resize(visible_.size());
  backend.is_accelerator = true;
  backend.device_count = [](const Backend& backend) {
    auto& engine = *static_cast<PluginEngine*>(static_cast<Engine*>(backend.engine));
    return engine.load() ? static_cast<int>(engine.units_.size()) : 0;
  };
  RequiredFunctions functions;
  functions.device_count = static_cast<int>(units_.size());
  functions.thread_safe = thread_safe;
  initialise_emulated(type.c_str(), origin().c_str(), functions);
  backend.extensions.CopyNow = copy_with_host;
  backend.extensions.NativeAddress = [](const Backend& b, const void* pointer) -> void* {
    return static_cast<PluginEngine*>(static_cast<Engine*>(b.engine))->shown_.native(pointer);
  };
}

std::string PluginEngine::origin() const {
  std::string text = "plugin " + path_ + " (layout " + layout_name(probed_.layout);
  if (opened_.runtime_version) text += ", runtime version " + std::to_string(opened_.runtime_version);
  if (opened_.driver_version) text += ", driver version " + std::to_string(opened_.driver_version);
  return text + ")";
}

bool PluginEngine::load() {
  std::call_once(loading_, [this] {
    if (units_.empty()) return;  // none is visible
    OpenRequest request;
    request.path = path_;
    request.told = probed_.told;
    request.forced = has_forced_ ? &forced_ : nullptr;
    request.fallback = has_fallback_ ? &fallback_ : nullptr;
    request.global_library = kernel_library();
    std::string problem;
    if (open_plugin(request, &opened_, &problem) != OpenResult::Opened) {
      backend.problem = path_ + ": " + problem;
    } else if (opened_.ids.size() != static_cast<size_t>(probed_.devices) || opened_.type != probed_.type) {
      backend.problem = path_ + ": it says '" + opened_.type + "' with " + std::to_string(opened_.ids.size()) +
                        " devices, but said '" + probed_.type + "' with " + std::to_string(probed_.devices) +
                        " when it was tried out";
    } else {
      for (size_t i = 0; i < units_.size(); ++i) units_[i].handle.id = opened_.ids[static_cast<size_t>(visible_[i])];
      mark_support();
      if (has_streams()) offer_native_streams();
      backend.origin = origin();
      loaded_.store(true, std::memory_order_release);
    }
  });
  return loaded_.load(std::memory_order_acquire);
}

void PluginEngine::mark_support() {
  const infinirtPluginInterface& table = opened_.table;
  const auto mark = [this](bool present, std::initializer_list<FunctionId> functions) {
    for (const FunctionId function : functions) {
      if (present) backend.support[static_cast<size_t>(function)] = Support::Native;
    }
  };
  if (!table.synchronize_device)
    backend.support[static_cast<size_t>(FunctionId::DeviceSynchronize)] = Support::Emulated;
  mark(table.device_memory_set, {FunctionId::Memset});
  mark(table.memory_copy_p2p, {FunctionId::MemcpyPeer});
  mark(table.device_memory_stats, {FunctionId::MemGetInfo});
  mark(table.host_memory_allocate && table.host_memory_deallocate,
       {FunctionId::MallocHost, FunctionId::HostAlloc, FunctionId::FreeHost});
  mark(table.unified_memory_allocate && table.unified_memory_deallocate, {FunctionId::MallocManaged});
}

bool PluginEngine::has_streams() const {
  const infinirtPluginInterface& table = opened_.table;
  return table.create_stream && table.destroy_stream && table.synchronize_stream;
}

void PluginEngine::shut_down() {
  if (!loaded_.load(std::memory_order_acquire) || !drain_engine(*this, kDrainNanoseconds) || !close()) return;
  for (size_t i = 0; i < units_.size(); ++i) {
    const Unit& unit = units_[i];
    infinirtPluginDevice_st handle = unit.handle;
    if (!unit.ready || !succeeded(opened_.table.set_device(&handle))) continue;
    for (void* stream = nullptr; native_streams(static_cast<int>(i)).take_idle(&stream);) {
      handle = unit.handle;
      opened_.table.destroy_stream(&handle, static_cast<infinirtPluginStream_t>(stream));
    }
    handle = unit.handle;
    if (opened_.table.deinit_device) opened_.table.deinit_device(&handle);
  }
  if (opened_.table.finalize) opened_.table.finalize();
}

void PluginEngine::refuse_in_forked_child() {
  if (!loaded_.load(std::memory_order_relaxed)) return;
  backend.table = unsupported_table();
  backend.refusal_code = infinirtErrorInitializationError;
  backend.refusal = "the process was forked after the plugin of device type '" + backend.name +
                    "' had been started in its parent; start the process with spawn or exec, or fork before the first "
                    "use of the device";
  backend.problem = backend.refusal;
  backend.problem_code = backend.refusal_code;
  loaded_.store(false);  // at exit there is nothing to end here
}

infinirtError_t PluginEngine::checked(enum infinirtPluginStatus status, const char* entry) {
  if (succeeded(status)) [[likely]]
    return infinirtSuccess;
  const infinirtError_t code = status == infinirtPluginError ? infinirtErrorInvalidValue : infinirtErrorUnknown;
  return fail(code, "%s of the plugin %s failed with status %s", entry, path_.c_str(), status_text(status).c_str());
}

size_t PluginEngine::asked(FactEntry entry, int device) {
  infinirtPluginDevice_st handle = unit(device).handle;
  size_t value = 0;
  return entry && succeeded(entry(&handle, &value)) ? value : 0;
}

size_t PluginEngine::fact(FactEntry entry, int device) {
  infinirtPluginDevice_st handle = unit(device).handle;
  size_t value = 0;
  return entry && succeeded(call_fact(opened_.layout, entry, &handle, &value)) ? value : 0;
}

infinirtError_t PluginEngine::start_device(int device, Unit& unit) {
  const infinirtPluginInterface& table = opened_.table;
  infinirtPluginDevice_st handle = unit.handle;
  if (table.init_device) {
    if (auto error = checked(table.init_device(&handle), "init_device")) return error;
  }
  infinirtPluginDevice_st wanted = handle, current = {-1};
  if (auto error = checked(table.set_device(&wanted), "set_device")) return error;
  if (auto error = checked(table.get_device(&current), "get_device")) return error;
  if (current.id != handle.id) {
    return fail(infinirtErrorInvalidDevice,
                "the plugin %s lists %zu devices, but after set_device(%d) succeeded, get_device answers %d",
                path_.c_str(), opened_.ids.size(), handle.id, current.id);
  }
  unit.handle = handle;
  unit.min_chunk = asked(table.device_min_chunk_size, device);
  unit.padding = asked(table.device_extra_padding_size, device);
  unit.max_alloc = asked(table.device_max_alloc_size, device);
  unit.max_chunk = asked(table.device_max_chunk_size, device);
  unit.first_alloc = asked(table.device_init_alloc_size, device);
  unit.next_alloc = asked(table.device_realloc_size, device);
  unit.ready = true;
  return infinirtSuccess;
}

infinirtError_t PluginEngine::set_current(int device) {
  Unit& wanted = unit(device);
  {
    std::lock_guard guard(starting_);
    if (!wanted.ready) return start_device(device, wanted);
  }
  infinirtPluginDevice_st handle = wanted.handle;
  return checked(opened_.table.set_device(&handle), "set_device");
}

infinirtError_t PluginEngine::call(int device, bool alone, void (*fn)(infinirtPluginDevice_t, void*), void* data) {
  infinirtPluginDevice_st handle;
  {
    Entry entry(*this, device);
    if (entry.error()) return entry.error();
    handle = unit(device).handle;
    if (alone) {
      fn(&handle, data);
      return infinirtSuccess;
    }
  }
  fn(&handle, data);
  return infinirtSuccess;
}

bool PluginEngine::is_ready(int device) {
  std::lock_guard guard(starting_);
  return unit(device).ready;
}

infinirtError_t PluginEngine::wait_for_all(int device) {
  infinirtPluginDevice_st handle = unit(device).handle;
  if (!opened_.table.synchronize_device) return infinirtSuccess;  // what has no end of its own is complete on return
  return checked(opened_.table.synchronize_device(&handle), "synchronize_device");
}

infinirtError_t PluginEngine::take_memory(int device, size_t size, void** out) {
  const Unit& unit = this->unit(device);
  if (unit.max_alloc && size > unit.max_alloc) {
    return fail(infinirtErrorMemoryAllocation, "size %zu is more than %s:%d allocates at once (%zu bytes)", size,
                backend.name.c_str(), device, unit.max_alloc);
  }
  size_t bytes = size;
  const size_t chunk = std::max<size_t>(unit.min_chunk, 1);
  if (__builtin_add_overflow(bytes, chunk - 1, &bytes) ||
      (bytes -= bytes % chunk, __builtin_add_overflow(bytes, unit.padding, &bytes)))
    return fail(infinirtErrorMemoryAllocation, "size %zu bytes is more than the address space holds", size);
  infinirtPluginDevice_st handle = unit.handle;
  void* native = nullptr;
  const auto status = opened_.table.device_memory_allocate(&handle, &native, bytes);
  if (status == infinirtPluginFailed) {
    return fail(infinirtErrorMemoryAllocation,
                "out of memory: the plugin of %s:%d has no %zu bytes; free or trim memory first", backend.name.c_str(),
                device, bytes);
  }
  if (auto error = checked(status, "device_memory_allocate")) return error;
  *out = shown_.show(native, bytes);
  if (*out) return infinirtSuccess;
  opened_.table.device_memory_deallocate(&handle, native, bytes);
  return fail(infinirtErrorMemoryAllocation, "no address for %zu bytes of %s:%d", bytes, backend.name.c_str(), device);
}

void PluginEngine::give_memory(int device, void* pointer) {
  const ShownAddresses::Block block = shown_.hide(pointer);
  infinirtPluginDevice_st handle = unit(device).handle;
  opened_.table.device_memory_deallocate(&handle, block.native, block.size);
}

infinirtError_t PluginEngine::move(int device, void* dst, const void* src, size_t bytes, enum infinirtMemcpyKind kind) {
  const infinirtPluginInterface& table = opened_.table;
  infinirtPluginDevice_st handle = unit(device).handle;
  switch (kind) {
    case infinirtMemcpyHostToDevice:
      return checked(table.memory_copy_h2d(&handle, shown_.native(dst), src, bytes), "memory_copy_h2d");
    case infinirtMemcpyDeviceToHost:
      return checked(table.memory_copy_d2h(&handle, dst, shown_.native(src), bytes), "memory_copy_d2h");
    default:
      return checked(table.memory_copy_d2d(&handle, shown_.native(dst), shown_.native(src), bytes), "memory_copy_d2d");
  }
}

infinirtError_t PluginEngine::begin_move(int device, void* dst, const void* src, size_t bytes,
                                         enum infinirtMemcpyKind kind, void** stream) {
  constexpr size_t kWorthAStream = size_t{64} << 10;  // a shorter copy is over before it could be asked for
  const infinirtPluginInterface& table = opened_.table;
  const auto copy = kind == infinirtMemcpyHostToDevice   ? table.async_memory_copy_h2d
                    : kind == infinirtMemcpyDeviceToHost ? table.async_memory_copy_d2h
                                                         : table.async_memory_copy_d2d;
  if (bytes < kWorthAStream || !copy || !has_streams()) return infinirtErrorNotSupported;
  if (auto error = take_native_stream(device, stream)) return error;
  void* const to = kind == infinirtMemcpyDeviceToHost ? dst : shown_.native(dst);
  const void* const from = kind == infinirtMemcpyHostToDevice ? src : shown_.native(src);
  infinirtPluginDevice_st handle = unit(device).handle;
  const infinirtError_t error =
      checked(copy(&handle, static_cast<infinirtPluginStream_t>(*stream), to, from, bytes), "async_memory_copy");
  if (error) native_streams(device).give(*stream);
  return error;
}

infinirtError_t PluginEngine::make_native_stream(int device, void** stream) {
  infinirtPluginDevice_st handle = unit(device).handle;
  infinirtPluginStream_t made = nullptr;
  if (auto error = checked(opened_.table.create_stream(&handle, &made), "create_stream")) return error;
  *stream = made;
  return infinirtSuccess;
}

// A plugin that takes one call at a time is asked, so that others get their turn in between; what it says about a failure, and
// whether it ever gets there, only a wait can tell.
infinirtError_t PluginEngine::wait_for_native_stream(int device, void* stream) {
  const auto native = static_cast<infinirtPluginStream_t>(stream);
  const bool ask = !thread_safe_ && opened_.table.query_stream;
  for (int64_t microseconds = 5, waited = 0; ask && waited < 100000;
       microseconds = std::min<int64_t>(2 * microseconds, 1000)) {
    {
      Entry entry(*this, device);
      if (entry.error()) return entry.error();
      infinirtPluginDevice_st handle = unit(device).handle;
      if (opened_.table.query_stream(&handle, native) == infinirtPluginSuccess) return infinirtSuccess;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    waited += microseconds;
  }
  Entry entry(*this, device);
  if (entry.error()) return entry.error();
  infinirtPluginDevice_st handle = unit(device).handle;
  return checked(opened_.table.synchronize_stream(&handle, native), "synchronize_stream");
}

infinirtError_t PluginEngine::move_between(int dst_device, int src_device, void* dst, const void* src, size_t bytes) {
  if (!opened_.table.memory_copy_p2p || !is_ready(src_device)) return infinirtErrorNotSupported;
  infinirtPluginDevice_st to = unit(dst_device).handle, from = unit(src_device).handle;
  return checked(opened_.table.memory_copy_p2p(&to, &from, shown_.native(dst), shown_.native(src), bytes),
                 "memory_copy_p2p");
}

infinirtError_t PluginEngine::set_bytes(int device, void* dst, unsigned char value, size_t bytes) {
  if (!opened_.table.device_memory_set) return infinirtErrorNotSupported;
  infinirtPluginDevice_st handle = unit(device).handle;
  return checked(opened_.table.device_memory_set(&handle, shown_.native(dst), value, bytes), "device_memory_set");
}

infinirtError_t PluginEngine::take_host_memory(int device, size_t size, MemoryKind kind, void** out) {
  const bool unified = kind == MemoryKind::Managed;
  Entry entry(*this, device);
  if (entry.error()) return entry.error();
  // More than wanted, so that an aligned part lies inside wherever it begins.
  const size_t bytes = size + kHostAlignment - 1;
  infinirtPluginDevice_st handle = unit(device).handle;
  void* native = nullptr;
  const auto status = unified ? opened_.table.unified_memory_allocate(&handle, &native, bytes)
                              : opened_.table.host_memory_allocate(&handle, &native, bytes);
  if (status == infinirtPluginFailed || (succeeded(status) && !native)) {
    return fail(infinirtErrorMemoryAllocation, "the plugin of %s:%d has no %zu bytes of %s memory",
                backend.name.c_str(), device, bytes, unified ? "unified" : "host");
  }
  if (auto error = checked(status, unified ? "unified_memory_allocate" : "host_memory_allocate")) return error;
  const uintptr_t aligned = (reinterpret_cast<uintptr_t>(native) + kHostAlignment - 1) & ~(kHostAlignment - 1);
  std::lock_guard guard(host_blocks_mutex_);
  host_blocks_[aligned] = {static_cast<char*>(native), bytes};
  *out = reinterpret_cast<void*>(aligned);
  return infinirtSuccess;
}

infinirtError_t PluginEngine::allocate(int device, size_t size, MemoryKind kind, unsigned flags, void** out) {
  const infinirtPluginInterface& table = opened_.table;
  const bool has_host = table.host_memory_allocate && table.host_memory_deallocate;
  const bool has_unified = table.unified_memory_allocate && table.unified_memory_deallocate;
  if ((kind == MemoryKind::Pinned && has_host) || (kind == MemoryKind::Managed && has_unified))
    return take_host_memory(device, size, kind, out);
  return EmulatedEngine::allocate(device, size, kind, flags, out);
}

void PluginEngine::release(int device, void* pointer, size_t size, MemoryKind kind) {
  if (kind != MemoryKind::Pinned && kind != MemoryKind::Managed)
    return EmulatedEngine::release(device, pointer, size, kind);
  ShownAddresses::Block block;
  {
    std::lock_guard guard(host_blocks_mutex_);
    const auto found = host_blocks_.find(reinterpret_cast<uintptr_t>(pointer));
    if (found != host_blocks_.end()) {
      block = found->second;
      host_blocks_.erase(found);
    }
  }
  if (!block.native) return EmulatedEngine::release(device, pointer, size, kind);
  Entry entry(*this, device);
  if (entry.error()) return;
  infinirtPluginDevice_st handle = unit(device).handle;
  const auto entry_of =
      kind == MemoryKind::Managed ? opened_.table.unified_memory_deallocate : opened_.table.host_memory_deallocate;
  entry_of(&handle, block.native, block.size);
}

bool PluginEngine::memory_size_known(int device) const {
  return opened_.table.device_memory_stats || memory_limit(device);
}

void PluginEngine::memory_info(int device, size_t* free_bytes, size_t* total_bytes) {
  EmulatedEngine::memory_info(device, free_bytes, total_bytes);
  if (!opened_.table.device_memory_stats || memory_limit(device)) return;
  Entry entry(*this, device);
  if (entry.error()) return;
  infinirtPluginDevice_st handle = unit(device).handle;
  size_t total = 0, free = 0;
  if (!succeeded(opened_.table.device_memory_stats(&handle, &total, &free))) return;
  *total_bytes = total;
  *free_bytes = std::min(free, total);
}

SegmentSizes PluginEngine::segment_sizes(int device) {
  SegmentSizes sizes;
  Entry entry(*this, device);
  if (entry.error()) return sizes;
  const Unit& unit = this->unit(device);
  if (unit.next_alloc) sizes.least = unit.next_alloc;
  sizes.first = unit.first_alloc ? unit.first_alloc : sizes.least;
  sizes.most = unit.max_chunk ? unit.max_chunk : std::max(sizes.most, sizes.least);
  if (unit.max_chunk) {
    sizes.first = std::min(sizes.first, unit.max_chunk);
    sizes.least = std::min(sizes.least, unit.max_chunk);
  }
  return sizes;
}

bool PluginEngine::in_device_range(const void* pointer) const { return shown_.in_device_range(pointer); }

void PluginEngine::lock_for_fork() {
  EmulatedEngine::lock_for_fork();
  shown_.lock_for_fork();
  host_blocks_mutex_.lock();
}

void PluginEngine::unlock_after_fork(bool in_child) {
  host_blocks_mutex_.unlock();
  shown_.unlock_after_fork();
  if (in_child) {
    starting_.reset_after_fork();
    refuse_in_forked_child();
  }
  EmulatedEngine::unlock_after_fork(in_child);
}

}  // namespace infinirt::plugin
