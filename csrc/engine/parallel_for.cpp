// Data-parallel loops on the workers. The caller works too and never waits for a helper that has not started.
#include <algorithm>
#include <utility>

#include "engine/scheduler.h"

namespace infinirt {

namespace {

// A helper's last piece takes about this long. Sleeping until it is done would take a wake-up longer.
constexpr int64_t kLastPiece_ns = 30000;

// Of short loops that nobody could share, so many in quick succession are a burst: then a worker is woken after all, and stays awake.
constexpr int kBurst = 4;

struct Burst {
  int64_t last = 0;  // when the last such loop ended
  int loops = 0;

  bool goes_on() {
    loops = monotonic_ns() - last < linger_ns() ? loops + 1 : 1;
    return loops % kBurst == 0;
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

void parallel_for(int64_t count, int64_t grain, void (*body)(int64_t, int64_t, void*), void* context, Helpers which) {
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
  job->grain = grain;
  job->threads = helpers + 1;
  job->body = body;
  job->context = context;
  job->holders.store(helpers + 1, std::memory_order_relaxed);
  for (int i = 0; i < helpers; ++i) {
    auto* helper = new Helper(job);
    if (which == Helpers::Idle) {
      schedule(helper);
    } else if (!schedule_if_awake(helper)) {
      if (i == 0 && t_burst.goes_on()) {
        schedule(helper);
        continue;
      }
      delete helper;
      job->holders.fetch_sub(helpers - i, std::memory_order_relaxed);  // this thread holds it still
      break;
    }
  }
  job->work();
  if (which == Helpers::Awake) t_burst.last = monotonic_ns();
  const auto is_done = [&] { return job->all_done.load(std::memory_order_acquire) != 0; };
  if (!look_for(kLastPiece_ns, is_done)) {
    while (!is_done()) futex_wait(&job->all_done, 0);
  }
  job->drop();
}

}  // namespace infinirt
