// The registry of kernels, and launches up to the point where they are work of a stream. kernel_run.cpp executes them.
#include "engine/kernel.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "core/handle.h"

namespace infinirt {

constinit thread_local uint64_t t_computation_ns = 0;

namespace {

// From function addresses to kernels: open addressing, read without a lock. Entries are never removed (a function that is
// registered again gets its entry's value replaced) and tables that became too small are leaked, so readers are safe.
struct KernelTable {
  struct Entry {
    std::atomic<const void*> function{nullptr};
    std::atomic<Kernel*> kernel{nullptr};
  };
  explicit KernelTable(size_t capacity) : mask(capacity - 1), entries(new Entry[capacity]) {}

  Entry& slot(const void* function) const {
    size_t i = static_cast<size_t>(reinterpret_cast<uintptr_t>(function) * 0x9e3779b97f4a7c15ull >> 20) & mask;
    for (;; i = (i + 1) & mask) {
      const void* present = entries[i].function.load(std::memory_order_acquire);
      if (present == function || !present) return entries[i];
    }
  }
  void put(Kernel* kernel) {
    const void* function = reinterpret_cast<const void*>(kernel->function);
    Entry& entry = slot(function);
    entry.kernel.store(kernel, std::memory_order_release);
    entry.function.store(function, std::memory_order_release);
  }

  size_t mask;
  Entry* entries;
};

struct Registry {
  std::mutex mutex;
  std::atomic<KernelTable*> table{new KernelTable(256)};
  size_t functions = 0;
  std::vector<Kernel*> kernels;  // every kernel ever registered
};

Registry& registry() {
  static auto* instance = [] {
    auto* made = new Registry;
    pthread_atfork([] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); },
                   [] { registry().mutex.unlock(); });
    return made;
  }();
  return *instance;
}

// The function's kernel went with its library, but the library may be loaded a second time.
Kernel* find_alive(const void* func) {
  std::lock_guard guard(registry().mutex);
  for (Kernel* kernel : registry().kernels) {
    if (reinterpret_cast<const void*>(kernel->function) == func && kernel->alive.load(std::memory_order_relaxed))
      return kernel;
  }
  return nullptr;
}

constexpr size_t kMaxParameters = 4096;

infinirtError_t lay_out(const infinirtXKernelInfo& info, Kernel* kernel) {
  if (info.paramCount > kMaxParameters || (info.paramCount > 0 && !info.paramSizes)) {
    return fail(infinirtErrorInvalidValue, "kernel '%s': paramSizes is null, or paramCount %zu is over %zu", info.name,
                info.paramCount, kMaxParameters);
  }
  size_t end = 0;
  for (size_t i = 0; i < info.paramCount; ++i) {
    const size_t size = info.paramSizes[i];
    if (size == 0 || size > kMaxArgsBytes) {
      return fail(infinirtErrorInvalidValue, "kernel '%s': parameter %zu has %zu bytes; 1 to %zu are possible",
                  info.name, i, size, kMaxArgsBytes);
    }
    // Aligned to the largest power of two that divides the size, at most 16.
    const size_t alignment = std::min<size_t>(size & (~size + 1), 16);
    end = (end + alignment - 1) / alignment * alignment;
    kernel->sizes.push_back(size);
    kernel->offsets.push_back(end);
    end += size;
  }
  kernel->args_bytes = end;
  if (end > kMaxArgsBytes) {
    return fail(infinirtErrorInvalidValue, "kernel '%s': its parameters take %zu bytes; %zu are possible", info.name,
                end, kMaxArgsBytes);
  }
  return infinirtSuccess;
}

// Kernels that the program registered itself run on every engine; their handles need some owner.
uint8_t owner_index(const KernelLibrary* library) {
  if (library) return library->engine->backend.index;
  backend_count();  // built-in backends come to life on first use
  return all_engines().empty() ? 0 : all_engines().front()->backend.index;
}

infinirtError_t check_dimensions(const char* what, dim3 value, const unsigned (&most)[3]) {
  const unsigned given[3] = {value.x, value.y, value.z};
  for (int i = 0; i < 3; ++i) {
    if (given[i] >= 1 && given[i] <= most[i]) continue;
    return fail(infinirtErrorInvalidConfiguration, "%s (%u, %u, %u): %c must be 1 to %u", what, value.x, value.y,
                value.z, "xyz"[i], most[i]);
  }
  return infinirtSuccess;
}

infinirtError_t check_configuration(const Kernel& kernel, dim3 grid, dim3 block, size_t shared_bytes) {
  if (auto error = check_dimensions("gridDim", grid, kMaxGridDim)) return error;
  if (auto error = check_dimensions("blockDim", block, kMaxBlockDim)) return error;
  const unsigned threads = block.x * block.y * block.z;  // at most 2^26
  if (threads > static_cast<unsigned>(kMaxThreadsPerBlock)) {
    return fail(infinirtErrorInvalidConfiguration,
                "blockDim (%u, %u, %u) makes %u threads a block; at most %d are possible", block.x, block.y, block.z,
                threads, kMaxThreadsPerBlock);
  }
  if (threads > static_cast<unsigned>(kernel.max_threads_per_block)) {
    return fail(infinirtErrorLaunchOutOfResources,
                "blockDim (%u, %u, %u) makes %u threads a block; kernel '%s' allows %d", block.x, block.y, block.z,
                threads, kernel.name.c_str(), kernel.max_threads_per_block);
  }
  const size_t most = kernel.max_dynamic_shared.load(std::memory_order_relaxed);
  if (shared_bytes > most) {
    return fail(
        infinirtErrorInvalidValue,
        "sharedMem %zu bytes: kernel '%s' may use %zu; infinirtFuncSetAttribute with MaxDynamicSharedMemorySize "
        "raises that up to %zu",
        shared_bytes, kernel.name.c_str(), most, kSharedMemoryOptIn);
  }
  return infinirtSuccess;
}

}  // namespace

Kernel* register_kernel(const infinirtXKernelInfo& info, KernelLibrary* library, infinirtError_t* error) {
  const auto refuse = [&](infinirtError_t code) { return *error = code, nullptr; };
  if (!info.name || !info.function) {
    return refuse(fail(infinirtErrorInvalidValue, "name and function of a kernel must not be null"));
  }
  if (info.maxThreadsPerBlock < 0 || info.maxThreadsPerBlock > kMaxThreadsPerBlock) {
    return refuse(fail(infinirtErrorInvalidValue, "kernel '%s': maxThreadsPerBlock %d is not 0 to %d", info.name,
                       info.maxThreadsPerBlock, kMaxThreadsPerBlock));
  }
  auto fresh = std::make_unique<Kernel>();
  fresh->name = info.name;
  fresh->function = info.function;
  fresh->library = library;
  if (info.maxThreadsPerBlock > 0) fresh->max_threads_per_block = info.maxThreadsPerBlock;
  if (auto failed = lay_out(info, fresh.get())) return refuse(failed);
  const uint8_t owner = owner_index(library);

  Registry& r = registry();
  std::lock_guard guard(r.mutex);
  KernelTable* table = r.table.load(std::memory_order_relaxed);
  Kernel* present = table->slot(reinterpret_cast<const void*>(info.function)).kernel.load(std::memory_order_relaxed);
  const bool taken = present && present->alive.load(std::memory_order_relaxed);
  if (taken && !library) {
    if (present->sizes == fresh->sizes && present->max_threads_per_block == fresh->max_threads_per_block)
      return present;
    return refuse(fail(infinirtErrorInvalidValue,
                       "kernel '%s': its function is registered as '%s' with other parameters", info.name,
                       present->name.c_str()));
  }
  fresh->handle = static_cast<infinirtKernel_t>(handle_create(HandleKind::Kernel, owner, fresh.get()));
  if (!fresh->handle) return refuse(fail(infinirtErrorMemoryAllocation, "no room for another handle"));
  if (!present && 2 * ++r.functions > table->mask) {
    auto* larger = new KernelTable(4 * (table->mask + 1));
    for (Kernel* kernel : r.kernels) larger->put(kernel);
    r.table.store(table = larger, std::memory_order_release);
  }
  r.kernels.push_back(fresh.get());
  if (!taken) table->put(fresh.get());
  return fresh.release();
}

void retire_kernels(const std::vector<Kernel*>& kernels, KernelLibrary& library) {
  for (Kernel* kernel : kernels) {
    kernel->alive.store(false, std::memory_order_seq_cst);
    handle_destroy(kernel->handle);
  }
  // A launch counts itself before it looks at `alive`, so after this nobody is inside and nobody will enter.
  while (library.running.load(std::memory_order_seq_cst) != 0) sched_yield();
}

Kernel* resolve_kernel(const void* func) {
  if (handle_is_ours(func)) {
    if (auto* kernel = handle_resolve<Kernel>(func, HandleKind::Kernel)) return kernel;
    char text[96];
    fail(infinirtErrorInvalidDeviceFunction, "func %s", describe_handle(func, HandleKind::Kernel, text, sizeof text));
    return nullptr;
  }
  if (func) {
    KernelTable* table = registry().table.load(std::memory_order_acquire);
    Kernel* kernel = table->slot(func).kernel.load(std::memory_order_acquire);
    if (kernel && reinterpret_cast<const void*>(kernel->function) == func) {
      if (kernel->alive.load(std::memory_order_acquire)) return kernel;
      if ((kernel = find_alive(func))) return kernel;
    }
  }
  fail(infinirtErrorInvalidDeviceFunction,
       "func %p is not a kernel of this device; register it with infinirtXRegisterKernel or load its library first",
       func);
  return nullptr;
}

infinirtError_t check_launch(Engine& engine, const void* func, dim3 grid, dim3 block, size_t shared_bytes, void** args,
                             Work* work) {
  if (!engine.runs_kernels()) {
    return fail(infinirtErrorNotSupported, "device type '%s' cannot run kernels", engine.backend.name.c_str());
  }
  const Kernel* kernel = resolve_kernel(func);
  if (!kernel) return infinirtErrorInvalidDeviceFunction;
  if (auto error = check_configuration(*kernel, grid, block, shared_bytes)) return error;
  const size_t count = kernel->sizes.size();
  if (count > 0 && !args) {
    return fail(infinirtErrorInvalidValue, "args is null, but kernel '%s' has %zu parameters", kernel->name.c_str(),
                count);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!args[i]) return fail(infinirtErrorInvalidValue, "args[%zu] is null; it must point at the argument's value", i);
  }
  work->type = WorkType::Kernel;
  work->kernel = {
      kernel, nullptr, args, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, static_cast<uint32_t>(shared_bytes),
      false,  0};
  return infinirtSuccess;
}

infinirtError_t keep_arguments(Work* work) {
  const Kernel& kernel = *work->kernel.kernel;
  auto* copied = static_cast<char*>(std::malloc(std::max<size_t>(kernel.args_bytes, 1)));
  if (!copied)
    return fail(infinirtErrorMemoryAllocation, "no host memory for the arguments (%zu bytes)", kernel.args_bytes);
  for (size_t i = 0; i < kernel.sizes.size(); ++i)
    std::memcpy(copied + kernel.offsets[i], work->kernel.values[i], kernel.sizes[i]);
  work->kernel.args = copied;
  work->kernel.values = nullptr;
  return infinirtSuccess;
}

infinirtError_t make_kernel_work(Engine& engine, const void* func, dim3 grid, dim3 block, size_t shared_bytes,
                                 void** args, Work* work) {
  if (auto error = check_launch(engine, func, grid, block, shared_bytes, args, work)) return error;
  return keep_arguments(work);
}

}  // namespace infinirt

extern "C" infinirtError_t infinirtXRegisterKernel(const infinirtXKernelInfo* kernel) {
  using namespace infinirt;
  ThreadState& ts = thread_state();
  infinirtError_t error = infinirtSuccess;
  if (ts.call_barrier) {
    error = fail(infinirtErrorNotPermitted, "called from a host function, which may not call the API");
  } else if (!kernel) {
    error = fail(infinirtErrorInvalidValue, "kernel is null");
  } else {
    register_kernel(*kernel, nullptr, &error);
  }
  if (error == infinirtSuccess) return error;
  ThreadExtra& extra = thread_extra(ts);
  ts.last_error = error;
  extra.last_message = "infinirtXRegisterKernel: " + extra.pending_message;
  extra.has_pending = false;
  return error;
}

extern "C" infinirtError_t infinirtXLaunchComputation(const void* func, dim3 gridDim, void** args,
                                                      unsigned long long nanoseconds, infinirtStream_t stream) {
  infinirt::t_computation_ns = nanoseconds > 0 ? nanoseconds : 1;
  const infinirtError_t error = infinirtLaunchKernel(func, gridDim, {1, 1, 1}, args, 0, stream);
  infinirt::t_computation_ns = 0;
  return error;
}
