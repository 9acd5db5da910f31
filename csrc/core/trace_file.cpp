#include "core/trace_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "core/log.h"
#include "core/mutex.h"
#include "core/observe.h"
#include "core/observed_clock.h"

namespace infinirt {

constinit std::atomic<uint64_t> g_trace_session{0};

namespace {

struct TraceState {
  Mutex mutex;                        // opening, closing, and claiming chunks: once in some thousand records
  uint64_t last_session = 0;
  std::string folder;
  int file = -1;
  pid_t process = 0;                  // whose file it is: a forked child makes its own
  uint64_t end = 0;                   // of the file
  uint64_t limit = 0;
  uint32_t threads = 0;
  std::atomic<uint64_t> lost{0};
  char* header = nullptr;             // mapped; the count of lost records stands there too
  bool full = false;                  // the limit is reached, or the disk full: nothing more is recorded
  bool fork_handled = false;
};

TraceState& state() {
  static auto* instance = new TraceState;
  return *instance;
}

constexpr size_t kLostOffset = 56;
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14

int64_t clock_ns(clockid_t clock) {
  timespec ts;
  clock_gettime(clock, &ts);
  return int64_t{ts.tv_sec} * 1000000000 + ts.tv_nsec;
}

uint64_t read_limit() {
  const char* text = std::getenv("INFINIRT_TRACE_LIMIT");
  constexpr uint64_t kDefault = 4096;
  uint64_t mebibytes = kDefault;
  if (text && *text) {
    char* end = nullptr;
    const unsigned long long value = std::strtoull(text, &end, 10);
    if (*end == 0 && value >= 1 && value <= (1ull << 30) && text[0] != '-') {
      mebibytes = value;
    } else {
      report_setting("INFINIRT_TRACE_LIMIT", text, "a number of mebibytes, 1 or more; it is 4096");
    }
  }
  return mebibytes << 20;
}

bool map_at(int file, uint64_t offset, size_t bytes, char** out) {
  // Real blocks, not a hole: a full disk is an error here instead of a signal at some later store.
  if (posix_fallocate(file, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) return false;
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return false;
  // All pages at once: a fault for each costs the program more. Older systems do not know this, and have the faults.
  (void)madvise(mapped, bytes, kPopulateWrite);
  *out = static_cast<char*>(mapped);
  return true;
}

// Text of the header: lines "key value", then the functions with their parameters.
std::string header_text() {
  std::string text;
  char line[512];
  std::snprintf(line, sizeof line, "pid %d\nparent %d\nmonotonic_ns %lld\nrealtime_ns %lld\nns_per_tick %.17g\n",
                static_cast<int>(getpid()), static_cast<int>(getppid()),
                static_cast<long long>(clock_ns(CLOCK_MONOTONIC)), static_cast<long long>(clock_ns(CLOCK_REALTIME)),
                ns_per_tick());
  text += line;
  if (const char* rank = std::getenv("INFINICCL_RANK")) text += std::string("rank ") + rank + "\n";
  char command[256] = {};
  if (const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC); file >= 0) {
    const ssize_t n = read(file, command, sizeof command - 1);
    for (ssize_t i = 0; i < n; ++i) {
      if (command[i] == 0 || command[i] == '\n') command[i] = ' ';
    }
    close(file);
  }
  text += std::string("command ") + command + "\n";
  for (uint16_t i = 0; i < kObservedFunctions; ++i) {
    const ObservedSignature& signature = observed_signature(i);
    std::snprintf(line, sizeof line, "function %u %s %d %s\n", i, signature.function, signature.creates ? 1 : 0,
                  signature.parameters);
    text += line;
  }
  return text;
}

void write_clocks(char* header, size_t offset, const ClockPair& pair) {
  std::memcpy(header + offset, &pair.ticks, sizeof pair.ticks);
  std::memcpy(header + offset + 8, &pair.ns, sizeof pair.ns);
}

// Makes this process's file. Null, or what went wrong.
const char* open_file(TraceState& s) {
  thread_local std::string problem;
  const std::string path =
      s.folder + "/" + std::to_string(getpid()) + "-" + std::to_string(s.last_session) + ".irtrace";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  char* header = nullptr;
  if (file < 0 || !map_at(file, 0, kTraceHeaderBytes, &header)) {
    problem = path + ": " + std::strerror(errno);
    if (file >= 0) close(file);
    return problem.c_str();
  }
  const std::string text = header_text();
  uint32_t numbers[4] = {kTraceVersion, static_cast<uint32_t>(kTraceHeaderBytes), static_cast<uint32_t>(kChunkBytes),
                         static_cast<uint32_t>(text.size())};
  std::memcpy(header, "InfiniRT", 8);
  std::memcpy(header + 8, numbers, sizeof numbers);
  write_clocks(header, 24, clock_pair());
  std::memcpy(header + 64, text.data(), text.size() < kTraceHeaderBytes - 64 ? text.size() : kTraceHeaderBytes - 64);
  s.file = file;
  s.header = header;
  s.process = getpid();
  s.end = kTraceHeaderBytes;
  s.threads = 0;
  s.full = false;
  s.lost.store(0, std::memory_order_relaxed);
  return nullptr;
}

void count_lost(TraceState& s) {
  const uint64_t lost = s.lost.fetch_add(1, std::memory_order_relaxed) + 1;
  if (s.header) {
    reinterpret_cast<std::atomic<uint64_t>*>(s.header + kLostOffset)->store(lost, std::memory_order_relaxed);
  }
}

void leave_chunk(ThreadTrace& thread) {
  if (thread.chunk) munmap(thread.chunk, kChunkBytes);
  thread.chunk = nullptr;
}

void handle_forks(TraceState& s) {
  if (s.fork_handled) return;
  s.fork_handled = true;
  pthread_atfork([] { state().mutex.lock(); }, [] { state().mutex.unlock(); },
                 [] {
                   TraceState& mine = state();
                   mine.mutex.reset_after_fork();
                   if (mine.file < 0) return;
                   close(mine.file);  // the parent's goes on in the parent
                   munmap(mine.header, kTraceHeaderBytes);
                   mine.file = -1;
                   mine.header = nullptr;
                   mine.lost.store(0, std::memory_order_relaxed);
                   // Another session: the thread's chunk is the parent's, and is left at the first record.
                   if (g_trace_session.load(std::memory_order_relaxed) != 0)
                     g_trace_session.store(++mine.last_session, std::memory_order_relaxed);
                 });
}

}  // namespace

bool trace_claim(ThreadTrace& thread) {
  TraceState& s = state();
  leave_chunk(thread);
  std::lock_guard guard(s.mutex);
  const uint64_t session = g_trace_session.load(std::memory_order_relaxed);
  if (session == 0) return false;
  if (s.file < 0) {  // the child of a fork
    if (const char* problem = open_file(s)) {
      log_line("trace", problem);
      g_trace_session.store(0, std::memory_order_relaxed);
      set_observed(kObserveTrace, false);
      return false;
    }
  }
  if (thread.session != session) {
    thread.session = session;
    thread.number = ++s.threads;
    std::memset(thread.announced, 0, sizeof thread.announced);
  }
  char* mapped = nullptr;
  if (s.full || s.end + kChunkBytes > s.limit || !map_at(s.file, s.end, kChunkBytes, &mapped)) {
    s.full = true;
    count_lost(s);
    return false;
  }
  s.end += kChunkBytes;
  auto* chunk = reinterpret_cast<ChunkHeader*>(mapped);
  chunk->thread = thread.number;
  chunk->system_thread = static_cast<uint32_t>(syscall(SYS_gettid));
  pthread_getname_np(pthread_self(), chunk->name, sizeof chunk->name);
  const ClockPair clocks = clock_pair();
  chunk->ticks = clocks.ticks;
  chunk->ns = clocks.ns;
  thread.chunk = chunk;
  thread.used = sizeof(ChunkHeader);
  chunk->used.store(thread.used, std::memory_order_release);
  return true;
}

void trace_thread_ended(ThreadTrace& thread) { leave_chunk(thread); }

const char* trace_open(const char* folder, bool* already) {
  TraceState& s = state();
  std::lock_guard guard(s.mutex);
  *already = g_trace_session.load(std::memory_order_relaxed) != 0;
  if (*already) return nullptr;
  if (mkdir(folder, 0755) != 0 && errno != EEXIST) {
    thread_local std::string problem;
    problem = std::string(folder) + ": " + std::strerror(errno);
    return problem.c_str();
  }
  handle_forks(s);
  s.folder = folder;
  s.limit = read_limit();
  ++s.last_session;
  if (const char* problem = open_file(s)) return problem;
  g_trace_session.store(s.last_session, std::memory_order_relaxed);
  return nullptr;
}

void trace_close() {
  TraceState& s = state();
  std::lock_guard guard(s.mutex);
  if (g_trace_session.exchange(0, std::memory_order_relaxed) == 0) return;
  if (s.file < 0) return;
  write_clocks(s.header, 40, clock_pair());
  // Threads leave their chunks, which stay mapped until then, when they next look.
  munmap(s.header, kTraceHeaderBytes);
  s.header = nullptr;
  close(s.file);
  s.file = -1;
}

uint64_t trace_lost() { return state().lost.load(std::memory_order_relaxed); }

}  // namespace infinirt
