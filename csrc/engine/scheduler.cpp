#include "engine/scheduler.h"

#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/dispatch.h"
#include "core/signal_mask.h"
#include "engine/random_schedule.h"

namespace infinirt {

struct Worker {
  // Spinning: looking at the word. Sleeping: in the kernel, or on the way. Called: `assigned` holds a runnable, which is
  // whoever's changes the word next: the worker, or a thread that takes it back.
  enum : uint32_t { Spinning = 0, Called = 1, Sleeping = 2 };
  std::atomic<uint32_t> signal{Spinning};
  Runnable* assigned = nullptr;  // written under the pool's mutex, while nobody calls
  Worker* next_idle = nullptr;
};

namespace {

constexpr int kBudget = 64;         // steps a runnable may take before others get a turn
constexpr int kMaxThreads = 1024;   // only blocked host functions can drive us there
constexpr int kIdleSpin = kShortSpin;  // looks at the signal before an idle worker sleeps
constexpr int kHostSpin = kShortSpin;

struct ReadyQueue {
  Runnable* first[kUrgencyLevels] = {};
  Runnable* last[kUrgencyLevels] = {};
  uint32_t occupied = 0;  // bit per level

  void push(Runnable* r) {
    const int level = r->urgency;
    r->next_ready = nullptr;
    if (last[level]) {
      last[level]->next_ready = r;
    } else {
      first[level] = r;
      occupied |= 1u << level;
    }
    last[level] = r;
  }
  Runnable* pop() {
    if (!occupied) return nullptr;
    const int level = 31 - __builtin_clz(occupied);
    Runnable* r = first[level];
    first[level] = r->next_ready;
    if (!first[level]) {
      last[level] = nullptr;
      occupied &= ~(1u << level);
    }
    return r;
  }
};

struct Pool {
  Mutex mutex;
  ReadyQueue ready;
  Worker* idle = nullptr;  // last in, first out: the one that slept shortest is still warm
  int busy = 0;            // workers that run something and are not inside user code
  int threads = 0;
};

Pool& pool() {
  static auto* instance = new Pool;
  return *instance;
}

thread_local Worker* t_worker = nullptr;

int read_worker_limit(std::string& problem) {
  const char* text = std::getenv("INFINIRT_CPU_THREADS");
  if (text && *text) {
    char* end = nullptr;
    const long n = std::strtol(text, &end, 10);
    if (*end == 0 && n >= 1) return n < kMaxThreads ? static_cast<int>(n) : kMaxThreads;
    problem = std::string("INFINIRT_CPU_THREADS=") + text + " is not a number of threads, 1 or more";
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    const int n = CPU_COUNT(&set);
    if (n >= 1) return n;
  }
  return 1;
}

void call(Worker* worker) {
  if (worker->signal.exchange(Worker::Called, std::memory_order_acq_rel) == Worker::Sleeping) {
    futex_wake(&worker->signal, 1);
  }
}

Runnable* wait_for_call(Worker& worker) {
  for (int i = 0; i < kIdleSpin; ++i) {
    if (worker.signal.load(std::memory_order_acquire) == Worker::Called) break;
    cpu_pause();
  }
  uint32_t expected = Worker::Spinning;
  worker.signal.compare_exchange_strong(expected, Worker::Sleeping, std::memory_order_acq_rel);
  for (;;) {
    expected = Worker::Called;
    if (worker.signal.compare_exchange_strong(expected, Worker::Spinning, std::memory_order_acq_rel))
      return worker.assigned;
    futex_wait(&worker.signal, Worker::Sleeping);
  }
}

void* worker_main(void* first_runnable) {
  pthread_setname_np(pthread_self(), "infinirt-worker");
  auto* self = new Worker;
  t_worker = self;
  auto* runnable = static_cast<Runnable*>(first_runnable);
  auto& p = pool();
  const int limit = worker_limit();
  for (;;) {
    const bool more = runnable->run(kBudget);
    p.mutex.lock();
    if (more) {  // let others of at least the same urgency go first
      p.ready.push(runnable);
      runnable = p.ready.pop();
      p.mutex.unlock();
      continue;
    }
    runnable = p.busy <= limit ? p.ready.pop() : nullptr;
    if (runnable) {
      p.mutex.unlock();
      continue;
    }
    --p.busy;
    self->next_idle = p.idle;
    p.idle = self;
    p.mutex.unlock();
    runnable = wait_for_call(*self);
  }
  return nullptr;
}

// Starts a thread for the runnable; false when the system has none left to give.
bool spawn(Runnable* runnable) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  const SignalsElsewhere masked;
  pthread_t thread;
  const int rc = pthread_create(&thread, &attributes, worker_main, runnable);
  pthread_attr_destroy(&attributes);
  return rc == 0;
}

// With the pool's mutex held: gives the runnable to an idle or a new worker if one may run. Releases the mutex.
void hand_over(Pool& p, Runnable* runnable) {
  runnable->called = nullptr;  // in a forked child, the worker that was called last does not exist
  if (p.busy < worker_limit()) {
    if (Worker* worker = p.idle) {
      p.idle = worker->next_idle;
      ++p.busy;
      worker->assigned = runnable;
      runnable->called = worker;
      p.mutex.unlock();
      call(worker);
      return;
    }
    if (p.threads < kMaxThreads) {
      ++p.busy;
      ++p.threads;
      p.mutex.unlock();
      if (spawn(runnable)) return;
      p.mutex.lock();
      --p.busy;
      --p.threads;
      if (p.threads == 0) {  // no worker at all: better here than never
        p.mutex.unlock();
        while (runnable->run(kBudget)) {
        }
        return;
      }
    }
  }
  p.ready.push(runnable);
  p.mutex.unlock();
}

// Takes a runnable back from a worker that has been called for it and has not come yet. The calling thread then counts as a
// worker, until leave(); the worker sleeps on, or finds that it has been woken for nothing.
bool take_back(Runnable* runnable) {
  auto& p = pool();
  std::lock_guard guard(p.mutex);
  Worker* worker = runnable->called;
  uint32_t expected = Worker::Called;
  if (!worker || worker->assigned != runnable ||
      !worker->signal.compare_exchange_strong(expected, Worker::Sleeping, std::memory_order_acq_rel)) {
    return false;
  }
  worker->next_idle = p.idle;
  p.idle = worker;
  return true;
}

// `rest` is what is left to be run of what the thread took back; null: nothing.
void leave(Runnable* rest) {
  auto& p = pool();
  p.mutex.lock();
  --p.busy;
  if (rest) p.ready.push(rest);
  if (Runnable* next = p.ready.pop()) {
    hand_over(p, next);
  } else {
    p.mutex.unlock();
  }
}

struct InlineQueue {
  bool running = false;
  ReadyQueue ready;
};
thread_local InlineQueue t_inline;

// Runs in the calling thread; what becomes ready meanwhile queues up behind instead of nesting.
void run_inline(Runnable* runnable) {
  t_inline.ready.push(runnable);
  if (t_inline.running) return;
  t_inline.running = true;
  while (Runnable* next = t_inline.ready.pop()) {
    if (next->run(kBudget)) t_inline.ready.push(next);
  }
  t_inline.running = false;
}

ScheduleConfig read_config(std::string& problem) {
  ScheduleConfig config;
  const char* text = std::getenv("INFINIRT_CPU_SCHEDULE");
  if (!text || !*text || std::strcmp(text, "async") == 0) return config;
  if (std::strcmp(text, "inline") == 0) {
    config.mode = ScheduleMode::Inline;
  } else if (std::strncmp(text, "random", 6) == 0 && (text[6] == 0 || text[6] == ':')) {
    config.mode = ScheduleMode::Random;
    char* end = nullptr;
    config.seed = text[6] ? std::strtoull(text + 7, &end, 10) : 0;
    if (end && (*end || end == text + 7 || text[7] == '-')) {
      problem = std::string("INFINIRT_CPU_SCHEDULE=") + text + ": the seed is not a number; write random:42";
    }
  } else {
    problem = std::string("INFINIRT_CPU_SCHEDULE=") + text + " is none of async, inline, random:SEED";
  }
  return config;
}

}  // namespace

const ScheduleConfig& schedule_config(std::string* problem) {
  static auto* text = new std::string;
  static const ScheduleConfig config = read_config(*text);
  if (problem) *problem = *text;
  return config;
}

int worker_limit(std::string* problem) {
  static auto* text = new std::string;
  static const int limit = read_worker_limit(*text);
  if (problem) *problem = *text;
  return limit;
}

void schedule(Runnable* runnable) {
  switch (schedule_config().mode) {
    case ScheduleMode::Async: {
      auto& p = pool();
      p.mutex.lock();
      hand_over(p, runnable);
      return;
    }
    case ScheduleMode::Inline:
      run_inline(runnable);
      return;
    case ScheduleMode::Random:
      random_schedule_add(runnable);
      return;
  }
}

void wait_for(const Point& point, bool may_spin) {
  if (point.reached()) return;
  if (is_random_schedule()) {
    random_schedule_until(point);
    return;
  }
  point.timeline->sleep_until(point.value, may_spin ? kHostSpin : 0);
}

void help_until(const Point& point) {
  if (point.reached()) return;
  if (schedule_config().mode == ScheduleMode::Async) {
    Runnable* runner = point.timeline->runner.load(std::memory_order_acquire);
    if (runner && runner->only_computes() && take_back(runner)) leave(runner->run_for_waiter(point) ? runner : nullptr);
  }
  wait_for(point);
}

bool wait_for_limited(const Point& point, int64_t timeout_ns) {
  if (point.reached()) return true;
  if (is_random_schedule()) return random_schedule_until(point, timeout_ns > 0 ? timeout_ns : 0);
  return point.timeline->sleep_until(point.value, 0, timeout_ns > 0 ? timeout_ns : 0);
}

UserCodeScope::UserCodeScope() : on_worker_(t_worker != nullptr) {
  if (!on_worker_) return;
  leave(nullptr);
}

UserCodeScope::~UserCodeScope() {
  if (!on_worker_) return;
  auto& p = pool();
  std::lock_guard guard(p.mutex);
  ++p.busy;  // may exceed the limit for a moment: the surplus worker stops after this runnable
}

bool on_worker_thread() { return t_worker != nullptr; }

void scheduler_lock_for_fork() {
  pool().mutex.lock();
  random_schedule_lock_for_fork();
}
void scheduler_unlock_after_fork() {
  random_schedule_unlock_after_fork();
  pool().mutex.unlock();
}

void scheduler_reset_in_child() {
  auto& p = pool();
  p.ready = ReadyQueue{};
  p.idle = nullptr;  // those threads do not exist here; their blocks are leaked
  p.busy = 0;
  p.threads = 0;
  p.mutex.reset_after_fork();
  random_schedule_reset_in_child();
}

}  // namespace infinirt
