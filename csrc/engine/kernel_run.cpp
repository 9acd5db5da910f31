// Execution of kernels, block by block.
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "engine/event.h"
#include "engine/kernel.h"
#include "engine/scheduler.h"

namespace infinirt {

namespace {

// Sharing a loop with threads that have to be woken costs about this much of their work and of that of who wakes them; with those that are awake, less.
constexpr int64_t kThread_ns = 10000, kAwakeThread_ns = 4000;
constexpr int64_t kPiece_ns = 4000;

// Shared memory of the block that runs on this thread; kept for the next one.
struct Scratch {
  void* memory = nullptr;
  size_t bytes = 0;
  ~Scratch() { std::free(memory); }

  void* at_least(size_t wanted) {
    if (wanted == 0) return nullptr;
    if (wanted > bytes) {
      std::free(memory);
      bytes = (wanted + 4095) / 4096 * 4096;
      memory = std::aligned_alloc(128, bytes);
      if (!memory) bytes = 0;
    }
    return memory;
  }
};

thread_local Scratch t_scratch;

struct Launch {
  const KernelWork& work;
  void** args;
  std::atomic<int> error{0};
  std::atomic<int64_t> failed_block{-1};
  std::string message{};  // what the kernel said about that, if anything; whoever sets `error` sets it

  // The first failure is kept; blocks that have not begun by then are left out.
  void fail_block(infinirtError_t code, int64_t index, std::string said = {}) {
    int expected = 0;
    if (!error.compare_exchange_strong(expected, static_cast<int>(code))) return;
    message = std::move(said);
    failed_block.store(index);
  }

  dim3 coordinates(int64_t index) const {
    const int64_t x = work.grid[0], y = work.grid[1];
    return {static_cast<unsigned>(index % x), static_cast<unsigned>(index / x % y),
            static_cast<unsigned>(index / x / y)};
  }

  void run(int64_t begin, int64_t end) {
    infinirtXBlock block;
    block.gridDim = {work.grid[0], work.grid[1], work.grid[2]};
    block.blockDim = {work.block[0], work.block[1], work.block[2]};
    block.sharedMemBytes = work.shared_bytes;
    block.sharedMem = t_scratch.at_least(work.shared_bytes);
    if (work.shared_bytes > 0 && !block.sharedMem) return fail_block(infinirtErrorLaunchOutOfResources, begin);
    ThreadState& ts = thread_state();
    ++ts.call_barrier;  // a kernel may not call the API, wherever its blocks run
    KernelMessage said;
    for (int64_t i = begin; i < end && error.load(std::memory_order_relaxed) == 0; ++i) {
      block.blockIdx = coordinates(i);
      const infinirtError_t code = work.kernel->function(&block, args);
      if (code != infinirtSuccess) fail_block(code, i, std::move(said.text()));
    }
    --ts.call_barrier;
  }
};

// So many blocks from `first` on, each of which takes about `each` nanoseconds, on this thread and others.
void share(Launch& launch, int64_t first, int64_t total, int64_t each) {
  struct Context {
    Launch& launch;
    int64_t first;
  } context{launch, first};
  // For what runs in its caller's thread nobody is woken.
  const bool may_wake = !launch.work.values && total >= 2 * kThread_ns / each;
  const int64_t threads = total / std::max<int64_t>(1, (may_wake ? kThread_ns : kAwakeThread_ns) / each);
  parallel_for(
      total, std::max<int64_t>(1, kPiece_ns / each),
      [](int64_t begin, int64_t end, void* opaque) {
        const auto& c = *static_cast<const Context*>(opaque);
        c.launch.run(c.first + begin, c.first + end);
      },
      &context, may_wake ? Helpers::Idle : Helpers::Awake, threads);
}

// The same, when the first block has to show it.
void run_shared(Launch& launch, int64_t total) {
  const int64_t started = monotonic_ns();
  launch.run(0, 1);
  const int64_t each = std::max<int64_t>(monotonic_ns() - started, 1), rest = total - 1;
  if (rest > 0) share(launch, 1, rest, each);
}

// Where the arguments of a launch lie, and pointers among them that were translated. Few launches have many.
struct Arguments {
  static constexpr size_t kFew = 24;
  void* few[2][kFew];
  std::vector<void*> many;
  void **places = few[0], **translated = few[1];

  Arguments(size_t count, bool translates) {
    if (count <= kFew) return;
    many.resize(translates ? 2 * count : count);
    places = many.data();
    translated = many.data() + (translates ? count : 0);
  }
};

struct CooperativeBlock {
  Launch* launch;
  int64_t index;
  pthread_t thread;
};

// Blocks that wait for one another need a thread each; workers that happen to be idle would not do.
void run_together(Launch& launch, int64_t total) {
  std::vector<CooperativeBlock> others(static_cast<size_t>(total - 1));
  // Nobody starts before everybody can: a block must not wait for one whose thread could not be made.
  static auto* launch_gate = new std::mutex;
  size_t made = 0;
  {
    std::lock_guard gate(*launch_gate);
    for (; made < others.size(); ++made) {
      others[made].launch = &launch;
      others[made].index = static_cast<int64_t>(made) + 1;
      const auto body = [](void* opaque) -> void* {
        auto* block = static_cast<CooperativeBlock*>(opaque);
        {
          std::lock_guard wait_for_all(*launch_gate);
        }
        block->launch->run(block->index, block->index + 1);
        return nullptr;
      };
      if (pthread_create(&others[made].thread, nullptr, body, &others[made]) != 0) break;
    }
    if (made < others.size()) launch.fail_block(infinirtErrorLaunchOutOfResources, static_cast<int64_t>(made) + 1);
  }
  launch.run(0, 1);
  for (size_t i = 0; i < made; ++i) pthread_join(others[i].thread, nullptr);
}

}  // namespace

infinirtError_t run_kernel_blocks(const KernelWork& work, void* (*translate)(void*)) {
  const Kernel& kernel = *work.kernel;
  struct Running {
    KernelLibrary* library;
    explicit Running(KernelLibrary* l) : library(l) {
      if (library) library->running.fetch_add(1, std::memory_order_seq_cst);
    }
    ~Running() {
      if (library) library->running.fetch_sub(1, std::memory_order_seq_cst);
    }
  } running(kernel.library);
  if (!kernel.alive.load(std::memory_order_seq_cst)) {
    return fail(infinirtErrorInvalidDeviceFunction, "kernel '%s' was launched, but its library has been unloaded since",
                kernel.name.c_str());
  }

  // The block of arguments stays as it was launched: a graph runs it again.
  const size_t count = kernel.sizes.size();
  Arguments arguments(count, translate != nullptr);
  void** args = work.values && !translate ? work.values : arguments.places;
  for (size_t i = 0; i < count && args != work.values; ++i) {
    args[i] = work.values ? work.values[i] : static_cast<char*>(work.args) + kernel.offsets[i];
    if (translate && kernel.sizes[i] == sizeof(void*)) {
      void* value;
      std::memcpy(&value, args[i], sizeof value);
      arguments.translated[i] = translate(value);
      args[i] = &arguments.translated[i];
    }
  }

  Launch launch{work, args};
  const int64_t total = int64_t{work.grid[0]} * work.grid[1] * work.grid[2];
  if (work.cooperative && total > 1) {
    run_together(launch, total);
  } else if (work.block_ns > 0) {
    share(launch, 0, total, work.block_ns);
  } else {
    run_shared(launch, total);
  }
  const auto code = static_cast<infinirtError_t>(launch.error.load());
  if (code == infinirtSuccess) return infinirtSuccess;
  const dim3 at = launch.coordinates(launch.failed_block.load());
  return fail(code, "kernel '%s' failed with %s (%d) in block (%u, %u, %u)%s%s", kernel.name.c_str(), error_name(code),
              static_cast<int>(code), at.x, at.y, at.z, launch.message.empty() ? "" : ": ", launch.message.c_str());
}

}  // namespace infinirt
