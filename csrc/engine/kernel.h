// Kernels of engine-run devices: registered C functions.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/work.h"
#include "infinirt_ext.h"

namespace infinirt {

// What infinirtXLaunchComputation says of the launch that this thread is making; 0: nothing.
extern constinit thread_local uint64_t t_computation_ns [[gnu::tls_model("initial-exec")]];

// Limits of a launch, as device properties report them.
inline constexpr int kMaxThreadsPerBlock = 1024;
inline constexpr unsigned kMaxBlockDim[3] = {1024, 1024, 64};
inline constexpr unsigned kMaxGridDim[3] = {2147483647u, 65535u, 65535u};
inline constexpr size_t kSharedMemoryPerBlock = size_t{48} << 10;
inline constexpr size_t kSharedMemoryOptIn = size_t{227} << 10;  // after infinirtFuncSetAttribute
inline constexpr size_t kSharedMemoryPerMultiprocessor = size_t{228} << 10;
inline constexpr size_t kReservedSharedMemory = size_t{1} << 10;  // of every block, as on a GPU
inline constexpr int kMaxThreadsPerMultiprocessor = 2048;
inline constexpr int kMaxBlocksPerMultiprocessor = 16;           // blocks of a cooperative launch get a thread each
inline constexpr size_t kMaxArgsBytes = 32764;                   // of one launch, CUDA's own limit

struct KernelLibrary;

// Registered once, never freed (a kernel of an unloaded library is marked dead).
struct Kernel {
  std::string name;
  infinirtXKernelFn function = nullptr;
  infinirtKernel_t handle = nullptr;
  std::vector<size_t> sizes, offsets;  // parameters inside the argument block
  size_t args_bytes = 0;
  int max_threads_per_block = kMaxThreadsPerBlock;
  std::atomic<size_t> max_dynamic_shared{kSharedMemoryPerBlock};
  std::atomic<int> shared_carveout{-1};
  KernelLibrary* library = nullptr;    // null: registered by the program itself
  std::atomic<bool> alive{true};
};

// `func` is a registered function's address or an infinirtKernel_t; null with a message (infinirtErrorInvalidDeviceFunction).
Kernel* resolve_kernel(const void* func);

// Registers one kernel. Without a library, a function that is there already gives its kernel when the parameters agree;
// with one it always is a new kernel, so that a library can be loaded twice. Null with a message and *error.
Kernel* register_kernel(const infinirtXKernelInfo& info, KernelLibrary* library, infinirtError_t* error);
// The kernels cannot be found or launched any more. Launches that have begun are waited for.
void retire_kernels(const std::vector<Kernel*>& kernels, KernelLibrary& library);

// Checks a launch: a KernelWork whose arguments are still the caller's (`values`), or an error with a message.
infinirtError_t check_launch(Engine& engine, const void* func, dim3 grid, dim3 block, size_t shared_bytes, void** args,
                             Work* work);
// Copies the arguments of such a work, so that it can run when the caller is gone.
infinirtError_t keep_arguments(Work* work);
// Both.
infinirtError_t make_kernel_work(Engine& engine, const void* func, dim3 grid, dim3 block, size_t shared_bytes,
                                 void** args, Work* work);

// Runs all blocks on this thread and idle workers. `translate` maps pointer-sized arguments (isolated memory) or is null.
infinirtError_t run_kernel_blocks(const KernelWork& work, void* (*translate)(void*));

// Shared objects that carry a table of kernels (library.cpp). Type-stable behind HandleKind::Library.
struct KernelLibrary {
  void* handle = nullptr;    // the infinirtLibrary_t
  std::atomic<void*> module{nullptr};  // from dlopen; null once unloaded
  int file = -1;             // keeps the name of an image from memory its own while it is loaded
  Engine* engine = nullptr;
  std::vector<Kernel*> kernels;
  std::atomic<int> running{0};  // launches of its kernels that are executing now
};

}  // namespace infinirt
