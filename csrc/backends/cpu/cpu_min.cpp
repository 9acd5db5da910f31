// cpu-min: the CPU with everything but the required functions masked, so that what the engine emulates is tested on a
// device that everybody has. Registered only when INFINIRT_CPU_MIN=1.
//
// Two things are the CPU's own and not emulated: kernels, which are C functions on memory that C can reach, and the knowledge
// which address range device memory comes from, which costs a backend no function.
#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "backends/cpu/memory.h"
#include "backends/cpu/properties.h"
#include "backends/cpu/settings.h"
#include "engine/emulated_engine.h"
#include "engine/kernel.h"

namespace infinirt::cpu {

namespace {

// The "vendor library": a C interface over a memory manager of its own, as thread-safe as a runtime's usually is.
struct MinimalRuntime {
  MinimalRuntime(int devices, const MemoryOptions& options) : memory(devices, options), device_count(devices) {}
  struct Block {
    size_t size;
    int device;
  };
  MemoryManager memory;
  int device_count;
  std::mutex mutex;
  std::map<void*, Block> blocks;
};

MinimalRuntime* g_runtime = nullptr;
thread_local int t_device = 0;

infinirtError_t set_device(int device) {
  if (device < 0 || device >= g_runtime->device_count) return infinirtErrorInvalidDevice;
  t_device = device;
  return infinirtSuccess;
}

infinirtError_t device_synchronize() { return infinirtSuccess; }  // nothing here is ever pending

infinirtError_t minimal_malloc(void** pointer, size_t size) {
  if (auto error = g_runtime->memory.allocate(t_device, size, MemoryKind::Device, pointer)) return error;
  std::lock_guard guard(g_runtime->mutex);
  g_runtime->blocks[*pointer] = {size, t_device};
  return infinirtSuccess;
}

infinirtError_t minimal_free(void* pointer) {
  MinimalRuntime::Block block;
  {
    std::lock_guard guard(g_runtime->mutex);
    auto found = g_runtime->blocks.find(pointer);
    if (found == g_runtime->blocks.end()) return infinirtErrorInvalidValue;
    block = found->second;
    g_runtime->blocks.erase(found);
  }
  g_runtime->memory.release(block.device, pointer, block.size, MemoryKind::Device);
  return infinirtSuccess;
}

infinirtError_t minimal_memcpy(void* dst, const void* src, size_t count, enum infinirtMemcpyKind) {
  std::memmove(g_runtime->memory.backing(dst), g_runtime->memory.backing(src), count);
  return infinirtSuccess;
}

void* translate(void* pointer) { return g_runtime->memory.backing(pointer); }

class MinimalEngine final : public EmulatedEngine {
 public:
  MinimalEngine(std::vector<int> ordinals, std::string problem) : ordinals_(std::move(ordinals)) {
    MemoryOptions options = memory_options_from_environment();
    const size_t limit = std::exchange(options.limit, 0);  // the engine's own account enforces it
    g_runtime = new MinimalRuntime(static_cast<int>(ordinals_.size()), options);
    if (problem.empty()) problem = options.problem;
    if (problem.empty()) problem = g_runtime->memory.problem();
    if (!problem.empty()) ordinals_.clear();
    backend.problem = problem;
    backend.device_count = [](const Backend&) { return g_runtime->device_count; };
    g_runtime->device_count = static_cast<int>(ordinals_.size());
    pthread_atfork(
        [] {
          g_runtime->mutex.lock();
          g_runtime->memory.lock_for_fork();
        },
        unlock, unlock);
    RequiredFunctions functions;
    functions.SetDevice = set_device;
    functions.DeviceSynchronize = device_synchronize;
    functions.Malloc = minimal_malloc;
    functions.Free = minimal_free;
    functions.Memcpy = minimal_memcpy;
    functions.device_count = g_runtime->device_count;
    functions.memory_bytes = usable_memory();
    functions.thread_safe = true;
    initialise_emulated("cpu-min", "built in, for tests (INFINIRT_CPU_MIN=1)", functions);
    for (int i = 0; i < g_runtime->device_count; ++i) set_memory_limit(i, limit);
  }

  void properties(int device, struct infinirtDeviceProp* properties) override {
    size_t free_bytes = 0, total_bytes = 0;
    memory_info(device, &free_bytes, &total_bytes);
    describe_device("cpu-min", ordinals_[static_cast<size_t>(device)], total_bytes, properties);
    properties->managedMemory = properties->concurrentManagedAccess = properties->directManagedMemAccessFromHost = 0;
    properties->memoryPoolSupportedHandleTypes = infinirtMemHandleTypeNone;
    properties->pciBusID += kMaxDevices;  // beside those of the CPU's own devices
  }

  bool runs_kernels() const override { return true; }
  infinirtError_t run_kernel(const KernelWork& work, int) override {
    return run_kernel_blocks(work, g_runtime->memory.translates() ? translate : nullptr);
  }
  bool in_device_range(const void* pointer) const override { return g_runtime->memory.in_device_range(pointer); }
  void* host_address(const void* pointer) const override { return g_runtime->memory.backing(pointer); }
  infinirtError_t verify_memory(int device, const void* pointer) override {
    return g_runtime->memory.verify(device, pointer);
  }

 private:
  static void unlock() {
    g_runtime->memory.unlock_after_fork();
    g_runtime->mutex.unlock();
  }

  std::vector<int> ordinals_;
};

Backend* make_backend() {
  const char* wanted = std::getenv("INFINIRT_CPU_MIN");
  if (!wanted || std::strcmp(wanted, "1") != 0) return nullptr;
  std::string problem;
  std::vector<int> ordinals = visible_devices("cpu-min", &problem);
  return &(new MinimalEngine(std::move(ordinals), std::move(problem)))->backend;
}

const BuiltinBackend registration(1, make_backend);

}  // namespace

}  // namespace infinirt::cpu
