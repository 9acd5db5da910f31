#include "engine/emulated_engine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "engine/device_uuid.h"
#include "engine/memory.h"

namespace infinirt {

namespace {

constexpr size_t kAlignment = 512;
constexpr size_t kSegmentAlignment = size_t{2} << 20;
constexpr size_t kStagingBytes = size_t{1} << 20;
constexpr size_t kPatternBytes = size_t{256} << 10;

// The device that this thread made current last, and of which engine.
struct CurrentDevice {
  const Engine* engine;
  int device;
};
thread_local CurrentDevice t_current = {nullptr, -1};

uintptr_t aligned(void* pointer, size_t alignment) {
  return (reinterpret_cast<uintptr_t>(pointer) + alignment - 1) / alignment * alignment;
}

// Calls row(dst_offset, src_offset, bytes) for each row, what is contiguous taken together; stops at the first error.
template <class Row>
infinirtError_t for_each_row(size_t width, size_t height, size_t depth, size_t dst_pitch, size_t dst_slice,
                             size_t src_pitch, size_t src_slice, Row&& row) {
  if (height > 1 && dst_pitch == width && src_pitch == width) width *= std::exchange(height, 1);
  if (depth > 1 && height == 1 && dst_slice == width && src_slice == width) width *= std::exchange(depth, 1);
  for (size_t z = 0; z < depth; ++z) {
    for (size_t y = 0; y < height; ++y) {
      if (auto error = row(z * dst_slice + y * dst_pitch, z * src_slice + y * src_pitch, width)) return error;
    }
  }
  return infinirtSuccess;
}

}  // namespace

EmulatedEngine::Entry::Entry(EmulatedEngine& engine, int device) {
  const bool is_current =
      !engine.functions_.shared_with_others && t_current.engine == &engine && t_current.device == device;
  if (!engine.functions_.thread_safe) lock_.emplace(engine.mutex_);
  if (engine.closed_.load(std::memory_order_relaxed)) {
    error_ = fail(infinirtErrorCudartUnloading, "the process is ending, and device type '%s' has been shut down",
                  engine.backend.name.c_str());
    return;
  }
  // Whether "current" is per thread or per process in a library that is not thread-safe is anybody's guess: set it when
  // either changed.
  if (is_current && (!lock_ || engine.last_device_ == device)) return;
  if (lock_) engine.last_device_ = -1;
  t_current = {nullptr, -1};
  error_ = engine.set_current(device);
  if (error_ != infinirtSuccess) return;
  t_current = {&engine, device};
  if (lock_) engine.last_device_ = device;
}

bool EmulatedEngine::close() {
  constexpr int kPatienceMilliseconds = 1000;
  for (int waited = 0; !functions_.thread_safe && !mutex_.try_lock(); ++waited) {
    if (waited == kPatienceMilliseconds) return false;
    usleep(1000);
  }
  const bool first = !closed_.exchange(true);
  if (!functions_.thread_safe) mutex_.unlock();
  return first;
}

void EmulatedEngine::initialise_emulated(const char* name, const char* origin, const RequiredFunctions& functions) {
  functions_ = functions;
  accounts_ = std::make_unique<Account[]>(static_cast<size_t>(std::max(functions.device_count, 1)));
  native_streams_ = std::make_unique<NativeStreams[]>(static_cast<size_t>(std::max(functions.device_count, 1)));
  initialise(name, origin, functions.device_count);
  backend.calls_may_wait = [] { return true; };  // the primitives are somebody else's code
  g_hot.may_wait.fetch_add(1, std::memory_order_relaxed);
  for (Support& support : backend.support) {
    if (support == Support::Native) support = Support::Emulated;
  }
  for (const FunctionId own : {FunctionId::GetDeviceCount, FunctionId::SetDevice, FunctionId::DeviceSynchronize,
                               FunctionId::Malloc, FunctionId::Free, FunctionId::Memcpy}) {
    backend.support[static_cast<size_t>(own)] = Support::Native;
  }
  const auto without = [this](std::initializer_list<FunctionId> impossible) {
    for (const FunctionId function : impossible) {
      backend.support[static_cast<size_t>(function)] = Support::Unsupported;
    }
  };
  without({FunctionId::MallocManaged});
  if (!runs_kernels()) {
    without({FunctionId::LaunchKernel, FunctionId::LaunchKernelExC, FunctionId::LaunchCooperativeKernel,
             FunctionId::GraphAddKernelNode, FunctionId::LibraryLoadData, FunctionId::LibraryLoadFromFile});
  }
  if (!shares_memory()) {
    without({FunctionId::IpcGetMemHandle, FunctionId::IpcOpenMemHandle, FunctionId::IpcCloseMemHandle,
             FunctionId::MemPoolExportToShareableHandle, FunctionId::MemPoolImportFromShareableHandle,
             FunctionId::MemPoolExportPointer, FunctionId::MemPoolImportPointer});
  }
}

void EmulatedEngine::describe_emulated(int device, const std::string& seed, struct infinirtDeviceProp* p) {
  std::memset(p, 0, sizeof *p);
  size_t free_bytes = 0;
  memory_info(device, &free_bytes, &p->totalGlobalMem);
  p->uuid = uuid_from(seed);
  p->memPitch = (size_t{1} << 31) - 1;
  p->textureAlignment = p->surfaceAlignment = 512;
  p->texturePitchAlignment = 32;
  p->warpSize = 32;
  p->multiProcessorCount = 1;
  p->deviceOverlap = p->asyncEngineCount = 1;
  p->canMapHostMemory = 1;
  p->computeMode = infinirtComputeModeDefault;
  p->unifiedAddressing = 1;
  p->streamPrioritiesSupported = 1;
  p->hostRegisterSupported = 1;
  p->canUseHostPointerForRegisteredMem = 1;
  p->memoryPoolsSupported = 1;
  p->memoryPoolSupportedHandleTypes = infinirtMemHandleTypeNone;
  p->ipcEventSupported = 1;
  // No such bus is known; numbers that nothing else of the process has keep devices apart by bus id.
  p->pciDomainID = 0x100 + backend.index;
  p->pciBusID = device;
}

size_t EmulatedEngine::total(int device) const {
  const Account& account = accounts_[static_cast<size_t>(device)];
  const size_t limit = account.limit.load(std::memory_order_relaxed);
  if (limit) return limit;
  if (functions_.memory_bytes) return functions_.memory_bytes;
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

infinirtError_t EmulatedEngine::allocate_on_device(int device, size_t size, size_t alignment, void** out) {
  Entry entry(*this, device);
  if (entry.error()) return entry.error();
  void* pointer = nullptr;
  infinirtError_t error = take_memory(device, size, &pointer);
  if (error != infinirtSuccess) return error;
  if (aligned(pointer, alignment) == reinterpret_cast<uintptr_t>(pointer)) return *out = pointer, infinirtSuccess;
  // The backend aligns less than promised here: ask for so much that an aligned part lies inside.
  give_memory(device, pointer);
  if ((error = take_memory(device, size + alignment, &pointer))) return error;
  *out = reinterpret_cast<void*>(aligned(pointer, alignment));
  std::lock_guard guard(shifted_mutex_);
  shifted_[*out] = pointer;
  return infinirtSuccess;
}

infinirtError_t EmulatedEngine::allocate(int device, size_t size, MemoryKind kind, unsigned, void** out) {
  if (kind == MemoryKind::Managed) {
    return fail(infinirtErrorNotSupported, "device type '%s' has no managed memory", backend.name.c_str());
  }
  if (kind == MemoryKind::Pinned) {
    *out = size <= SIZE_MAX - 4096 ? std::aligned_alloc(4096, (size + 4095) / 4096 * 4096) : nullptr;
    return *out ? infinirtSuccess : fail(infinirtErrorMemoryAllocation, "no host memory: %zu bytes asked for", size);
  }
  Account& account = accounts_[static_cast<size_t>(device)];
  const size_t limit = account.limit.load(std::memory_order_relaxed);
  const size_t used = account.used.fetch_add(size, std::memory_order_relaxed);
  infinirtError_t error = infinirtSuccess;
  if (limit && (size > limit || used > limit - size)) {
    error = fail(
        infinirtErrorMemoryAllocation,
        "out of memory: %zu bytes asked for on %s:%d, whose memory limit is %zu bytes with %zu in use; free or trim "
        "memory first",
        size, backend.name.c_str(), device, limit, used);
  } else {
    error = allocate_on_device(device, size, kind == MemoryKind::Pool ? kSegmentAlignment : kAlignment, out);
  }
  if (error != infinirtSuccess) account.used.fetch_sub(size, std::memory_order_relaxed);
  return error;
}

void EmulatedEngine::release(int device, void* pointer, size_t size, MemoryKind kind) {
  if (kind == MemoryKind::Pinned) return std::free(pointer);
  void* begin = pointer;
  {
    std::lock_guard guard(shifted_mutex_);
    if (auto found = shifted_.find(pointer); found != shifted_.end()) {
      begin = found->second;
      shifted_.erase(found);
    }
  }
  accounts_[static_cast<size_t>(device)].used.fetch_sub(size, std::memory_order_relaxed);
  Entry entry(*this, device);
  if (!entry.error()) give_memory(device, begin);
}

void EmulatedEngine::memory_info(int device, size_t* free_bytes, size_t* total_bytes) {
  const size_t used = accounts_[static_cast<size_t>(device)].used.load(std::memory_order_relaxed);
  *total_bytes = total(device);
  *free_bytes = *total_bytes > used ? *total_bytes - used : 0;
}

bool EmulatedEngine::memory_size_known(int device) const { return functions_.memory_bytes || memory_limit(device); }

infinirtError_t EmulatedEngine::set_memory_limit(int device, size_t bytes) {
  accounts_[static_cast<size_t>(device)].limit.store(bytes, std::memory_order_relaxed);
  return infinirtSuccess;
}

infinirtError_t EmulatedEngine::copy_span(void* dst, const void* src, size_t bytes, int dst_device, int src_device) {
  if (bytes == 0) return infinirtSuccess;
  if (dst_device < 0 && src_device < 0) return std::memmove(dst, src, bytes), infinirtSuccess;
  const bool on_devices = dst_device >= 0 && src_device >= 0;
  if (on_devices && dst_device != src_device) {
    {
      Entry entry(*this, dst_device);
      if (entry.error()) return entry.error();
      const infinirtError_t error = move_between(dst_device, src_device, dst, src, bytes);
      if (error != infinirtErrorNotSupported) return error ? error : wait_for_all(dst_device);
    }
    return copy_through_host(dst, src, bytes, dst_device, src_device);
  }
  if (on_devices && !moves_within_device()) return copy_through_host(dst, src, bytes, dst_device, src_device);
  const auto kind = dst_device < 0   ? infinirtMemcpyDeviceToHost
                    : src_device < 0 ? infinirtMemcpyHostToDevice
                                     : infinirtMemcpyDeviceToDevice;
  const int device = dst_device >= 0 ? dst_device : src_device;
  void* stream = nullptr;
  {
    Entry entry(*this, device);
    if (entry.error()) return entry.error();
    infinirtError_t error = begin_move(device, dst, src, bytes, kind, &stream);
    if (error == infinirtErrorNotSupported) {
      if ((error = move(device, dst, src, bytes, kind))) return error;
      // The engine takes "returned" for "done".
      return kind == infinirtMemcpyDeviceToDevice ? wait_for_all(device) : infinirtSuccess;
    }
    if (error) return error;
  }
  const infinirtError_t error = wait_for_native_stream(device, stream);
  native_streams(device).give(stream);
  return error;
}

infinirtError_t EmulatedEngine::copy_through_host(void* dst, const void* src, size_t bytes, int dst_device,
                                                  int src_device) {
  std::vector<char> staging(std::min(bytes, kStagingBytes));
  for (size_t done = 0; done < bytes; done += staging.size()) {
    const size_t count = std::min(staging.size(), bytes - done);
    if (auto error = copy_span(staging.data(), static_cast<const char*>(src) + done, count, -1, src_device))
      return error;
    if (auto error = copy_span(static_cast<char*>(dst) + done, staging.data(), count, dst_device, -1)) return error;
  }
  return infinirtSuccess;
}

infinirtError_t EmulatedEngine::copy(const CopyWork& work) {
  return for_each_row(work.width, work.height, work.depth, work.dst_pitch, work.dst_slice, work.src_pitch,
                      work.src_slice, [&](size_t dst_offset, size_t src_offset, size_t bytes) {
                        return copy_span(static_cast<char*>(work.dst) + dst_offset,
                                         static_cast<const char*>(work.src) + src_offset, bytes, work.dst_device,
                                         work.src_device);
                      });
}

infinirtError_t EmulatedEngine::fill_span(int device, char* dst, unsigned char value, size_t bytes) {
  Entry entry(*this, device);
  if (entry.error()) return entry.error();
  const infinirtError_t error = set_bytes(device, dst, value, bytes);
  return error ? error : wait_for_all(device);
}

infinirtError_t EmulatedEngine::fill(const FillWork& work) {
  const auto* value = reinterpret_cast<const unsigned char*>(&work.value);
  const bool is_bytes =
      std::all_of(value, value + work.element_size, [&](unsigned char byte) { return byte == *value; });
  std::vector<char> pattern;
  return for_each_row(work.width, work.height, work.depth, work.pitch, work.slice, work.pitch, work.slice,
                      [&](size_t offset, size_t, size_t bytes) {
                        char* to = static_cast<char*>(work.dst) + offset;
                        if (bytes == 0) return infinirtSuccess;
                        if (work.device >= 0 && is_bytes && pattern.empty()) {
                          const infinirtError_t error = fill_span(work.device, to, *value, bytes);
                          if (error != infinirtErrorNotSupported) return error;
                        }
                        if (pattern.empty()) {
                          // Its length is a multiple of every element size, so each piece starts with a whole element.
                          const size_t most = work.width * work.height * work.depth;
                          pattern.resize(std::min((most + 3) / 4 * 4, kPatternBytes));
                          for (size_t i = 0; i < pattern.size(); ++i)
                            pattern[i] = static_cast<char>(value[i % work.element_size]);
                        }
                        for (size_t done = 0; done < bytes; done += pattern.size()) {
                          const size_t count = std::min(pattern.size(), bytes - done);
                          if (auto error = copy_span(to + done, pattern.data(), count, work.device, -1)) return error;
                        }
                        return infinirtSuccess;
                      });
}

infinirtError_t EmulatedEngine::copy_with_host(const CrossCopy& copy) {
  const Operand dst = find_operand(copy.dst), src = find_operand(copy.src);
  const auto is_ours = [](const Operand& operand) {
    return operand.place == Place::Device && operand.backend->extensions.CopyNow == copy_with_host;
  };
  const Backend* backend = is_ours(dst) ? dst.backend : is_ours(src) ? src.backend : nullptr;
  if (!backend) return fail(infinirtErrorInvalidValue, "the memory of a copy was freed before it ran");
  const auto device = [&](const Operand& operand) {
    return operand.backend == backend ? operand.work_device() : int16_t{-1};
  };
  return static_cast<Engine*>(backend->engine)
      ->copy({copy.dst, copy.src, copy.dst_pitch, copy.src_pitch, copy.dst_slice, copy.src_slice, copy.width,
              copy.height, copy.depth, nullptr, device(dst), device(src), nullptr});
}

void EmulatedEngine::lock_for_fork() {
  shifted_mutex_.lock();
  for (int i = 0; i < functions_.device_count; ++i) native_streams(i).lock_for_fork();
}

void EmulatedEngine::unlock_after_fork(bool in_child) {
  for (int i = 0; i < functions_.device_count; ++i) native_streams(i).unlock_after_fork();
  shifted_mutex_.unlock();
  if (in_child) mutex_.reset_after_fork();  // whoever was inside the backend is not here any more
}

infinirtError_t EmulatedEngine::run_kernel(const KernelWork&, int) {
  return fail(infinirtErrorNotSupported, "device type '%s' cannot run kernels", backend.name.c_str());
}

}  // namespace infinirt
