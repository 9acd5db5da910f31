#include "engine/scheduler.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
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
  // Called: `assigned` holds a runnable, which is whoever's clears the bit: the worker, or a thread that takes it back. AtOnce: nobody will take it
  // back. Sleeping: the worker is in the kernel, or on the way; else it looks at the word.
  enum : uint32_t { Called = 1, AtOnce = 2, Sleeping = 4 };
  std::atomic<uint32_t> signal{0};
  Runnable* assigned = nullptr;  // written under the pool's mutex, while nobody calls
  Worker* next_idle = nullptr;
};

namespace {

constexpr int kBudget = 64;         // steps a runnable may take before others get a turn
constexpr int kMaxThreads = 1024;   // only blocked host functions can drive us there
constexpr int64_t kGrace_ns =
    2000;  // a worker that is awake leaves a stream so long to a thread that may be about to wait for it
constexpr long kLinger_us = 50, kLongestLinger_us = 1000000;
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

int usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) >= 1 ? CPU_COUNT(&set) : 1;
}

// The whole number that a variable of the environment holds, at least `least`; `otherwise` when it is not set, or holds something else.
long read_number(const char* name, long least, long otherwise, const char* what, std::string& problem) {
  const char* text = std::getenv(name);
  if (!text || !*text) return otherwise;
  char* end = nullptr;
  const long n = std::strtol(text, &end, 10);
  if (*end == 0 && n >= least) return n;
  problem = std::string(name) + "=" + text + " is not a number of " + what + ", " + std::to_string(least) + " or more";
  return otherwise;
}

int read_worker_limit(std::string& problem) {
  return static_cast<int>(
      std::min<long>(kMaxThreads, read_number("INFINIRT_CPU_THREADS", 1, usable_cores(), "threads", problem)));
}

// Not where threads share cores: there it is time that another one's work needs.
int64_t read_linger_ns(std::string& problem) {
  const long otherwise = worker_limit() <= usable_cores() ? kLinger_us : 0;
  return std::min(kLongestLinger_us, read_number("INFINIRT_CPU_LINGER", 0, otherwise, "microseconds", problem)) * 1000;
}

void call(Worker* worker, uint32_t how) {
  if (worker->signal.fetch_or(how, std::memory_order_acq_rel) & Worker::Sleeping) futex_wake(&worker->signal, 1);
}

// What the worker has been called for, if it has; the word is then 0.
Runnable* answer_call(Worker& worker) {
  uint32_t seen = worker.signal.load(std::memory_order_acquire);
  while (seen & Worker::Called) {
    if (worker.signal.compare_exchange_weak(seen, 0, std::memory_order_acq_rel)) return worker.assigned;
  }
  return nullptr;
}

// Work comes in bursts, and who sleeps comes late: waking up takes longer than many a piece of work. So an idle worker looks at its word for a while. A
// stream that a waiting thread may take back (help_until) it leaves alone for a moment: the two then compute together, on the cores they are on.
Runnable* linger(Worker& worker) {
  int64_t called = 0;
  Runnable* work = nullptr;
  look_for(linger_ns(), [&] {
    const uint32_t seen = worker.signal.load(std::memory_order_acquire);
    if (!(seen & Worker::Called)) {
      called = 0;
      return false;
    }
    const int64_t now = seen & Worker::AtOnce ? 0 : monotonic_ns();
    if (!called) called = now;
    if (now && now - called < kGrace_ns) return false;
    work = answer_call(worker);
    return work != nullptr;
  });
  return work;
}

Runnable* wait_for_call(Worker& worker, bool lingers) {
  if (lingers) {
    if (Runnable* work = linger(worker)) return work;
  }
  worker.signal.fetch_or(Worker::Sleeping, std::memory_order_acq_rel);
  for (;;) {
    if (Runnable* work = answer_call(worker)) return work;
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
    // After a step or a host function it would keep a core from whoever those talked to: another process, say.
    const bool lingers = runnable->keeps_awake();
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
    runnable = wait_for_call(*self, lingers);
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

// With the pool's mutex held, for a worker that is the first of the idle ones. Releases the mutex.
void call_idle(Pool& p, Worker* worker, Runnable* runnable) {
  p.idle = worker->next_idle;
  ++p.busy;
  worker->assigned = runnable;
  runnable->called = worker;
  p.mutex.unlock();
  call(worker, runnable->only_computes() ? Worker::Called : Worker::Called | Worker::AtOnce);
}

// With the pool's mutex held: gives the runnable to an idle or a new worker if one may run. Releases the mutex.
void hand_over(Pool& p, Runnable* runnable) {
  runnable->called = nullptr;  // in a forked child, the worker that was called last does not exist
  if (p.busy < worker_limit()) {
    if (p.idle) return call_idle(p, p.idle, runnable);
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
  if (!worker || worker->assigned != runnable) return false;
  uint32_t seen = worker->signal.load(std::memory_order_acquire);
  do {
    if (!(seen & Worker::Called)) return false;
  } while (!worker->signal.compare_exchange_weak(seen, seen & Worker::Sleeping, std::memory_order_acq_rel));
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

int64_t linger_ns(std::string* problem) {
  static auto* text = new std::string;
  static const int64_t duration = read_linger_ns(*text);
  if (problem) *problem = *text;
  return duration;
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

bool schedule_at_once(Runnable* runnable, bool may_wake) {
  auto& p = pool();
  p.mutex.lock();
  if (p.busy < worker_limit()) {
    if (may_wake ? p.idle || p.threads < worker_limit()
                 : p.idle && p.idle->signal.load(std::memory_order_relaxed) == 0) {
      hand_over(p, runnable);
      return true;
    }
  }
  p.mutex.unlock();
  return false;
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
  if (point.reached()) {
    if (point.timeline) point.timeline->guess.waited_for(point.value);
    return;
  }
  if (schedule_config().mode == ScheduleMode::Async) {
    Runnable* runner = point.timeline->runner.load(std::memory_order_acquire);
    bool at_once = point.timeline->guess.was_left_just_now();
    if (runner && runner->only_computes() && take_back(runner)) {
      const bool more = runner->run_for_waiter(point);
      at_once = !more;
      leave(more ? runner : nullptr);
    }
    point.timeline->guess.note(at_once);
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
