// Data-parallel loops on the workers. The caller works too and never waits for a helper that has not started.
#include <algorithm>

#include "engine/scheduler.h"

namespace infinirt {

namespace {

// A helper's last piece takes about this long. Sleeping until it is done would take a wake-up longer.
constexpr int64_t kLastPiece_ns = 30000;

// Of short loops that too few could share, so many in quick succession are a burst: then one more worker is woken after all, and stays awake.
constexpr int kBurst = 4;

struct Burst {
  int64_t last = 0;  // when the last short loop ended
  int lonely = 0;    // how many had too few helpers

  bool wakes() {
    lonely = monotonic_ns() - last < linger_ns() ? lonely + 1 : 1;
    if (lonely < kBurst) return false;
    lonely = 0;
    return true;
  }
};
thread_local Burst t_burst;

struct Job {
  std::atomic<int64_t> next{0};       // first index nobody has claimed
  std::atomic<int64_t> finished{0};   // indices done
  std::atomic<int> holders;           // the caller and its helpers
  std::atomic<uint32_t> all_done{0};
  int64_t count, grain;
  int threads;
  bool lingers;  // helpers stay awake afterwards
  void (*body)(int64_t, int64_t, void*);
  void* context;

  // Half of a thread's share of what is left, or the grain: few claims at first, and at the end nobody waits long for another's last piece.
  int64_t claim(int64_t* end) {
    int64_t begin = next.load(std::memory_order_relaxed);
    do {
      if (begin >= count) return count;
      *end = std::min(count, begin + std::max(grain, (count - begin) / (2 * threads)));
    } while (!next.compare_exchange_weak(begin, *end, std::memory_order_relaxed));
    return begin;
  }

  void work() {
    int64_t end = 0;
    for (int64_t begin; (begin = claim(&end)) < count;) {
      body(begin, end, context);
      if (finished.fetch_add(end - begin, std::memory_order_acq_rel) + (end - begin) == count) {
        all_done.store(1, std::memory_order_release);
        futex_wake(&all_done, 1);
      }
    }
  }
  void drop() {
    if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
};

struct Helper final : Runnable {
  explicit Helper(Job* j) : job(j) { urgency = kUrgencyLevels - 1; }
  bool keeps_awake() const override { return job->lingers; }
  bool run(int) override {
    Job* shared = job;
    delete this;
    shared->work();
    shared->drop();
    return false;
  }
  Job* job;
};

}  // namespace

void parallel_for(int64_t count, int64_t grain, void (*body)(int64_t, int64_t, void*), void* context, Helpers which,
                  int64_t most_threads) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t pieces = (count + grain - 1) / grain;
  const int wanted = static_cast<int>(std::min({int64_t{worker_limit()}, pieces, most_threads}) - 1);
  if (wanted <= 0 || schedule_config().mode != ScheduleMode::Async) {
    body(0, count, context);
    return;
  }
  auto* job = new Job;
  job->count = count;
  job->grain = grain;
  job->threads = wanted + 1;
  job->lingers = which != Helpers::OfStep && linger_ns() > 0;
  job->body = body;
  job->context = context;
  job->holders.store(wanted + 1, std::memory_order_relaxed);
  int helpers = 0;
  for (bool may_wake = false; helpers < wanted; ++helpers) {
    auto* helper = new Helper(job);
    if (which != Helpers::Awake) {
      schedule(helper);
    } else if (!schedule_at_once(helper, false)) {
      may_wake = !may_wake && t_burst.wakes();  // one
      if (may_wake && schedule_at_once(helper, true)) continue;
      delete helper;
      break;
    }
  }
  if (helpers == 0) {
    delete job;
    body(0, count, context);
  } else {
    job->holders.fetch_sub(wanted - helpers, std::memory_order_relaxed);  // this thread holds it still
    job->work();
    const auto is_done = [&] { return job->all_done.load(std::memory_order_acquire) != 0; };
    // Not where threads share cores: the helper may need this one.
    if (!look_for(job->lingers ? kLastPiece_ns : 0, is_done)) {
      while (!is_done()) futex_wait(&job->all_done, 0);
    }
    job->drop();
  }
  if (which == Helpers::Awake) t_burst.last = monotonic_ns();
}

}  // namespace infinirt
