#include "core/watched_memory.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "core/error.h"
#include "core/mutex.h"
#include "core/thread_state.h"
#include "infinirt_observe.h"

namespace infinirt {

namespace {

constexpr uintptr_t kPageSize = 4096;
constexpr int kMostRanges = 4;     // one for each kind of backend that has such memory
constexpr int kMostWatched = 1024;  // at a time
constexpr int kOpen = INFINIRT_X_MAY_READ | INFINIRT_X_MAY_WRITE;

// Read by the handler of faults, without a lock: a range counts once its size is there.
struct Range {
  std::atomic<uintptr_t> base{0};
  std::atomic<size_t> size{0};
};
Range ranges[kMostRanges];

// An entry that is open may be used again for other memory.
struct Watched {
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<int> access{kOpen};
};
Watched watched[kMostWatched];
std::atomic<int> watched_count{0};

Mutex changing;  // ranges, watched, the handler
std::atomic<void (*)(const void*, int)> touch_hook{nullptr};
struct sigaction earlier;  // who handled faults before

bool watchable(uintptr_t address) {
  for (const Range& range : ranges) {
    if (address - range.base.load(std::memory_order_relaxed) < range.size.load(std::memory_order_acquire)) return true;
  }
  return false;
}

void protect(uintptr_t begin, uintptr_t end, int access) {
  int protection = PROT_NONE;
  if (access & INFINIRT_X_MAY_READ) protection |= PROT_READ;
  if (access & INFINIRT_X_MAY_WRITE) protection |= PROT_WRITE;
  mprotect(reinterpret_cast<void*>(begin), end - begin, protection);
}

// Whether the instruction that failed was to write.
bool fault_writes([[maybe_unused]] void* context, int access) {
  if (access & INFINIRT_X_MAY_READ) return true;
#if defined(__x86_64__)
  return (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  return false;  // not told: most are reads
#endif
}

// True: the access can be made again.
bool handle_touch(uintptr_t address, void* context) {
  if (!watchable(address)) return false;
  const int count = watched_count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    Watched& entry = watched[i];
    const uintptr_t begin = entry.begin.load(std::memory_order_acquire),
                    end = entry.end.load(std::memory_order_acquire);
    if (address < begin || address >= end) continue;
    const int access = entry.access.exchange(kOpen, std::memory_order_acq_rel);
    if (access == kOpen) continue;  // another thread has it in hand
    protect(begin, end, kOpen);
    const auto hook = touch_hook.load(std::memory_order_acquire);
    // What host functions touch is ordered with the work of their stream, by what they know.
    if (hook && thread_state().call_barrier == 0) hook(reinterpret_cast<void*>(address), fault_writes(context, access));
    return true;
  }
  // Nobody shuts this memory, or no longer: then the access succeeds the next time, unless it never can.
  constexpr int kPatience = 10000;
  thread_local uintptr_t last = 0;
  thread_local int times = 0;
  times = last == address ? times + 1 : 0;
  last = address;
  sched_yield();
  return times < kPatience;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if (earlier.sa_flags & SA_SIGINFO) {
    earlier.sa_sigaction(signal, info, context);
  } else if (earlier.sa_handler == SIG_DFL || earlier.sa_handler == SIG_IGN) {
    struct sigaction plain = {};
    plain.sa_handler = SIG_DFL;
    sigaction(signal, &plain, nullptr);  // the access is made again, and ends the process
  } else {
    earlier.sa_handler(signal);
  }
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int kept = errno;
  if (!handle_touch(reinterpret_cast<uintptr_t>(info->si_addr), context)) pass_on(signal, info, context);
  errno = kept;
}

// Others, such as Python's faulthandler, may have taken the place since.
void install_handler() {
  struct sigaction now;
  sigaction(SIGSEGV, nullptr, &now);
  if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault) return;
  earlier = now;
  struct sigaction ours = {};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER;  // a hook may touch other memory
  sigemptyset(&ours.sa_mask);
  sigaction(SIGSEGV, &ours, nullptr);
}

Watched* entry_for(uintptr_t begin, uintptr_t end) {
  Watched* free_entry = nullptr;
  const int count = watched_count.load(std::memory_order_relaxed);
  for (int i = 0; i < count; ++i) {
    Watched& entry = watched[i];
    if (entry.begin == begin && entry.end == end) return &entry;
    if (!free_entry && entry.access == kOpen) free_entry = &entry;
  }
  if (!free_entry && count < kMostWatched) {
    free_entry = &watched[count];
    watched_count.store(count + 1, std::memory_order_release);
  }
  return free_entry;
}

infinirtError_t watch_memory(const void* pointer, size_t bytes, int access) {
  const auto first = reinterpret_cast<uintptr_t>(pointer);
  if ((access & ~kOpen) != 0 || access == INFINIRT_X_MAY_WRITE) {
    return fail(infinirtErrorInvalidValue,
                "access is %d; it may be 0, INFINIRT_X_MAY_READ, or that and INFINIRT_X_MAY_WRITE", access);
  }
  if (bytes == 0) return infinirtSuccess;
  if (!watchable(first) || !watchable(first + bytes - 1)) {
    return fail(
        infinirtErrorNotSupported,
        "the memory cannot be watched; pinned and managed memory of CPU devices can, where INFINIRT_CPU_MEMORY holds"
        " the word watched when the runtime starts");
  }
  const uintptr_t begin = first / kPageSize * kPageSize, end = (first + bytes + kPageSize - 1) / kPageSize * kPageSize;
  std::lock_guard guard(changing);
  Watched* entry = entry_for(begin, end);
  if (!entry) return fail(infinirtErrorLaunchOutOfResources, "%d ranges are watched already", kMostWatched);
  if (access == kOpen) {
    protect(begin, end, kOpen);
    entry->access.store(kOpen, std::memory_order_release);
    return infinirtSuccess;
  }
  install_handler();
  entry->begin.store(begin, std::memory_order_release);
  entry->end.store(end, std::memory_order_release);
  entry->access.store(access, std::memory_order_release);
  protect(begin, end, access);
  return infinirtSuccess;
}

}  // namespace

void add_watchable(uintptr_t base, size_t size) {
  std::lock_guard guard(changing);
  for (Range& range : ranges) {
    if (range.size.load(std::memory_order_relaxed) != 0) continue;
    range.base.store(base, std::memory_order_relaxed);
    range.size.store(size, std::memory_order_release);
    return;
  }
}

}  // namespace infinirt

using namespace infinirt;

extern "C" {

infinirtError_t infinirtXWatchMemory(const void* pointer, size_t bytes, int access) {
  return finish_error(__func__, watch_memory(pointer, bytes, access));
}

void infinirtXSetTouchHook(void (*hook)(const void* address, int writes)) {
  touch_hook.store(hook, std::memory_order_release);
}

}  // extern "C"
