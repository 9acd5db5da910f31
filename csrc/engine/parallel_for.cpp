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
  // What nobody has claimed, in units: the first one in the low half of the word, the end in the high half.
  std::atomic<uint64_t> unclaimed;
  std::atomic<int64_t> finished{0};   // indices done
  std::atomic<int> holders;           // the caller and its helpers
  std::atomic<uint32_t> all_done{0};
  int64_t count, unit;
  int threads;
  bool lingers;  // helpers stay awake afterwards
  void (*body)(int64_t, int64_t, void*);
  void* context;

  void divide(int64_t indices, int64_t grain) {
    constexpr int64_t kMostUnits = INT32_MAX;
    const int64_t grains = (indices - 1) / grain + 1;  // so that nothing overflows
    count = indices;
    unit = grain * ((grains - 1) / kMostUnits + 1);
    unclaimed.store(static_cast<uint64_t>((indices - 1) / unit + 1) << 32, std::memory_order_relaxed);
  }

  // Three quarters of a thread's share of what is left: few claims at first, and at the end nobody waits long for another's last piece. The
  // caller begins at the front and helpers at the end, so that the next loop over the same memory finds it in the same cores' caches.
  bool claim(bool from_front, int64_t* begin, int64_t* end) {
    uint64_t word = unclaimed.load(std::memory_order_relaxed), rest;
    uint32_t first, last;
    do {
      first = static_cast<uint32_t>(word);
      last = static_cast<uint32_t>(word >> 32);
      if (first == last) return false;
      const uint32_t size = std::max<uint32_t>(
          1, static_cast<uint32_t>(uint64_t{last - first} * 3 / (4 * static_cast<uint32_t>(threads))));
      const uint32_t cut = from_front ? first + size : last - size;
      rest = from_front ? uint64_t{last} << 32 | cut : uint64_t{cut} << 32 | first;
      (from_front ? last : first) = cut;
    } while (!unclaimed.compare_exchange_weak(word, rest, std::memory_order_relaxed));
    *begin = first * unit;
    *end = std::min(count, last * unit);
    return true;
  }

  void work(bool from_front) {
    for (int64_t begin, end; claim(from_front, &begin, &end);) {
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
    shared->work(false);
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
  job->divide(count, grain);
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
    job->work(true);
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
