#include "backends/cpu/cpu_engine.h"

#include <pthread.h>

#include <utility>

#include "backends/cpu/copy.h"
#include "backends/cpu/properties.h"
#include "backends/cpu/settings.h"
#include "engine/kernel.h"
#include "engine/scheduler.h"

namespace infinirt::cpu {

namespace {

CpuEngine* g_engine = nullptr;
MemoryManager* g_memory = nullptr;  // outlives every thread, like the engine
SharedMemory* g_shared = nullptr;

void* translate(void* pointer) { return g_memory->backing(pointer); }

Backend* make_backend() {
  std::string problem;
  std::vector<int> ordinals = visible_devices("cpu", &problem);
  g_engine = new CpuEngine(std::move(ordinals), std::move(problem));  // leaked: workers may outlive static destruction
  return &g_engine->backend;
}

const BuiltinBackend registration(0, make_backend);

}  // namespace

CpuEngine::CpuEngine(std::vector<int> ordinals, std::string problem)
    : ordinals_(std::move(ordinals)), memory_(static_cast<int>(ordinals_.size()), memory_options_from_environment()) {
  if (problem.empty()) problem = memory_options_from_environment().problem;
  if (problem.empty()) problem = memory_.problem();
  if (problem.empty()) schedule_config(&problem);
  if (problem.empty()) worker_limit(&problem);
  if (problem.empty()) linger_ns(&problem);
  if (!problem.empty()) ordinals_.clear();
  backend.problem = problem;
  backend.is_accelerator = false;
  backend.device_count = [](const Backend&) { return static_cast<int>(g_engine->devices.size()); };
  g_memory = &memory_;
  g_shared = &shared_;
  // The heap's locks are innermost (no primitive is called under another lock), so the order of handlers is no matter.
  pthread_atfork(
      [] {
        g_shared->lock_for_fork();
        g_memory->lock_for_fork();
      },
      [] {
        g_memory->unlock_after_fork();
        g_shared->unlock_after_fork();
      },
      [] {
        g_memory->unlock_after_fork();
        g_shared->reset_in_child();
      });
  initialise("cpu", "built in", static_cast<int>(ordinals_.size()));
}

infinirtError_t CpuEngine::allocate(int device, size_t size, MemoryKind kind, unsigned, void** out) {
  return memory_.allocate(device, size, kind, out);
}

void CpuEngine::release(int device, void* pointer, size_t size, MemoryKind kind) {
  shared_.before_release(pointer);
  memory_.release(device, pointer, size, kind);
}

void CpuEngine::memory_info(int device, size_t* free_bytes, size_t* total_bytes) {
  memory_.info(device, free_bytes, total_bytes);
}

infinirtError_t CpuEngine::copy(const CopyWork& work) {
  copy_memory(work, memory_.backing(work.dst), memory_.backing(work.src));
  return infinirtSuccess;
}

infinirtError_t CpuEngine::fill(const FillWork& work) {
  fill_memory(work, memory_.backing(work.dst));
  return infinirtSuccess;
}

infinirtError_t CpuEngine::run_kernel(const KernelWork& work, int) {
  return run_kernel_blocks(work, memory_.translates() ? translate : nullptr);
}

void CpuEngine::properties(int device, struct infinirtDeviceProp* properties) {
  size_t free_bytes = 0, total_bytes = 0;
  memory_.info(device, &free_bytes, &total_bytes);
  describe_device("cpu", ordinals_[static_cast<size_t>(device)], total_bytes, properties);
}

}  // namespace infinirt::cpu
