// Data-parallel loops on the workers. The caller works too and never waits for a helper that has not started.
#include <algorithm>

#include "engine/scheduler.h"

namespace infinirt {

namespace {

struct Job {
  std::atomic<int64_t> next{0};       // first index nobody has claimed
  std::atomic<int64_t> finished{0};   // indices done
  std::atomic<int> holders;           // the caller and its helpers
  std::atomic<uint32_t> all_done{0};
  int64_t count, piece;
  void (*body)(int64_t, int64_t, void*);
  void* context;

  void work() {
    for (;;) {
      const int64_t begin = next.fetch_add(piece, std::memory_order_relaxed);
      if (begin >= count) return;
      const int64_t end = std::min(begin + piece, count);
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

void parallel_for(int64_t count, int64_t grain, void (*body)(int64_t, int64_t, void*), void* context) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t pieces = (count + grain - 1) / grain;
  const int helpers = static_cast<int>(std::min<int64_t>(worker_limit() - 1, pieces - 1));
  if (helpers <= 0 || schedule_config().mode != ScheduleMode::Async) {
    body(0, count, context);
    return;
  }
  auto* job = new Job;
  job->count = count;
  // A few pieces per thread even the load out without many claims.
  job->piece = std::max(grain, count / ((helpers + 1) * 4));
  job->body = body;
  job->context = context;
  job->holders.store(helpers + 1, std::memory_order_relaxed);
  for (int i = 0; i < helpers; ++i) schedule(new Helper(job));
  job->work();
  for (int spin = 0; job->all_done.load(std::memory_order_acquire) == 0; ++spin) {
    if (spin < kShortSpin) {
      cpu_pause();
    } else {
      futex_wait(&job->all_done, 0);
    }
  }
  job->drop();
}

}  // namespace infinirt
