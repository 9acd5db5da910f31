// Where steps run: worker threads, the calling thread, or wherever a seeded generator says.
#pragma once

#include <cstdint>
#include <string>

#include "core/mutex.h"
#include "engine/event.h"
#include "engine/timeline.h"

namespace infinirt {

// Something with a next step: a stream, or a branch of a running graph. It is in the scheduler's hands at most once.
class Runnable {
 public:
  // Runs up to `budget` steps. True: there is more to run, and the caller keeps it ready. False: it is idle, parked or
  // owned by someone else by now, and must not be touched any more.
  virtual bool run(int budget) = 0;

  // Whether all its steps merely compute, so that a thread that waits may run them; code of the user, and whatever may
  // wait, belongs on a worker. May be asked at any time.
  virtual bool only_computes() const { return false; }
  // Whether more of its kind is to be expected, so that the worker stays awake after it. Asked before it runs.
  virtual bool keeps_awake() const { return only_computes(); }
  // The same as run() on a thread that waits for `point`, up to there, as long as the next step merely computes.
  virtual bool run_for_waiter(const Point& /*point*/) { return true; }

  Runnable* next_ready = nullptr;
  struct Worker* called = nullptr;  // the worker that was last called for it; scheduler.cpp
  int urgency = 0;  // 0 (least) … kUrgencyLevels - 1

 protected:
  ~Runnable() = default;
};

inline constexpr int kUrgencyLevels = 6;  // stream priorities 0 (least) to -5 (greatest)

enum class ScheduleMode { Async, Inline, Random };

struct ScheduleConfig {
  ScheduleMode mode = ScheduleMode::Async;
  uint64_t seed = 0;
};

// From INFINIRT_CPU_SCHEDULE, read once. `problem` says what was wrong with it, if anything.
const ScheduleConfig& schedule_config(std::string* problem = nullptr);

inline bool is_random_schedule() { return schedule_config().mode == ScheduleMode::Random; }

// Hands a runnable over. Called without locks other than a stream's: the pool's is taken behind it, and never the other way round.
void schedule(Runnable* runnable);

// The same, if a worker is idle and awake, or may be woken or made; false: nothing was done. Asynchronous schedules only.
bool schedule_at_once(Runnable* runnable, bool may_wake);

// Blocks the calling thread until the point is reached. `may_spin` false: sleep at once (BlockingSync).
void wait_for(const Point& point, bool may_spin = true);

// The same, and the thread does the stream's work itself where the worker that was called for it has not come yet
// (docs/decisions/0026). Called without locks.
void help_until(const Point& point);

// The same for at most `timeout_ns`; false when the point was not reached.
bool wait_for_limited(const Point& point, int64_t timeout_ns);

// Around user code on a worker: while it runs, the worker does not count, and another one may be started in its place.
class UserCodeScope {
 public:
  UserCodeScope();
  ~UserCodeScope();
  UserCodeScope(const UserCodeScope&) = delete;
  UserCodeScope& operator=(const UserCodeScope&) = delete;

 private:
  bool on_worker_;
};

// Who shares a loop: idle workers, which may have to be woken, or those that are awake, for loops that are over before others would come. OfStep: idle ones,
// and afterwards nobody looks for more: a step talks to other processes, which may need the cores.
enum class Helpers { Idle, Awake, OfStep };

// Calls body(begin, end, context) over [0, count) in pieces of at least `grain`, on this thread and on others, `most_threads` in all;
// returns when all is done. Inside random and inline schedules it runs here, in order.
void parallel_for(int64_t count, int64_t grain, void (*body)(int64_t begin, int64_t end, void* context), void* context,
                  Helpers helpers = Helpers::Idle, int64_t most_threads = INT64_MAX);

// Number of threads that parallel work is spread over (INFINIRT_CPU_THREADS, else the cores this process may use). `problem`
// says what was wrong with the setting, if anything.
int worker_limit(std::string* problem = nullptr);

// How long an idle worker stays awake (INFINIRT_CPU_LINGER, in microseconds). `problem` says what was wrong with the setting, if anything.
int64_t linger_ns(std::string* problem = nullptr);

// Asks `is_so` again and again for at most so long; whether it was so.
template <class Condition>
bool look_for(int64_t limit_ns, Condition&& is_so) {
  const int64_t started = monotonic_ns();
  do {
    for (int look = 0; look < 16; ++look) {
      if (is_so()) return true;
      cpu_pause();
    }
  } while (monotonic_ns() - started < limit_ns);
  return false;
}

// Whether the calling thread is one of the scheduler's workers.
bool on_worker_thread();

void scheduler_lock_for_fork();
void scheduler_unlock_after_fork();
void scheduler_reset_in_child();

}  // namespace infinirt
