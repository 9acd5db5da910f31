// Data-parallel loops on the workers. The caller works too and never waits for a helper that has not started.
#include <algorithm>
#include <memory>
#include <new>

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

// What nobody has claimed of a thread's run, in units: the first one in the low half of the word, the end in the high half.
struct alignas(64) Run {
  std::atomic<uint64_t> unclaimed{0};

  void set(int64_t begin, int64_t end) {
    unclaimed.store(static_cast<uint64_t>(end) << 32 | static_cast<uint64_t>(begin), std::memory_order_relaxed);
  }

  // Few claims at first, and at the end nobody waits long for another's last piece: whose run it is takes three quarters of what is left, from the
  // front, and others take half of it, from the end.
  bool claim(bool is_own, int64_t* begin, int64_t* end) {
    uint64_t word = unclaimed.load(std::memory_order_relaxed), rest;
    uint32_t first, last;
    do {
      first = static_cast<uint32_t>(word);
      last = static_cast<uint32_t>(word >> 32);
      if (first == last) return false;
      const uint64_t left = last - first;
      const auto size = static_cast<uint32_t>(std::max<uint64_t>(1, is_own ? left * 3 / 4 : left / 2));
      const uint32_t cut = is_own ? first + size : last - size;
      rest = is_own ? uint64_t{last} << 32 | cut : uint64_t{cut} << 32 | first;
      (is_own ? last : first) = cut;
    } while (!unclaimed.compare_exchange_weak(word, rest, std::memory_order_relaxed));
    *begin = first;
    *end = last;
    return true;
  }
};

struct Job;

struct Helper final : Runnable {
  Helper() { urgency = kUrgencyLevels - 1; }
  bool keeps_awake() const override;
  bool run(int) override;
  Job* job = nullptr;
};

// A thread's part in a loop.
struct Seat {
  Run run;
  Helper helper;  // not the caller's
};

// A loop that several threads share. Each has a run of its own and goes through it piece by piece; who is done with that takes from others'. So a thread
// meets memory in one direction, without jumps, and in the next loop over the same memory two threads find their parts of it in their own caches again.
struct Job {
  static constexpr int kFew = 4;
  enum : uint32_t { kRunning, kAsleep, kDone };

  std::atomic<int64_t> finished{0};        // indices done
  std::atomic<int> holders;                // the caller and its helpers
  std::atomic<int> arrived{1};             // the same who have begun
  std::atomic<uint32_t> state{kRunning};  // kAsleep: the caller waits for the end
  int64_t count, unit;
  int threads;
  bool lingers;  // helpers stay awake afterwards
  void (*body)(int64_t, int64_t, void*);
  void* context;
  Seat* seats = few;  // the first one is the caller's
  Seat few[kFew];     // a short loop is worth no more than one allocation
  std::unique_ptr<Seat[]> many;

  void divide(int64_t indices, int64_t grain, int among) {
    constexpr int64_t kMostUnits = INT32_MAX;
    const int64_t grains = (indices - 1) / grain + 1;  // so that nothing overflows
    count = indices;
    unit = grain * ((grains - 1) / kMostUnits + 1);
    threads = among;
    if (threads > kFew) {
      many = std::make_unique<Seat[]>(static_cast<size_t>(threads));
      seats = many.get();
    }
    const int64_t units = (indices - 1) / unit + 1;
    for (int t = 0; t < threads; ++t) {
      seats[t].run.set(units * t / threads, units * (t + 1) / threads);
      seats[t].helper.job = this;
    }
  }

  bool claim(int own, int64_t* begin, int64_t* end) {
    bool found = seats[own].run.claim(true, begin, end);
    for (int t = 1; t < threads && !found; ++t) found = seats[(own + t) % threads].run.claim(false, begin, end);
    if (!found) return false;
    *begin *= unit;
    *end = std::min(count, *end * unit);
    return true;
  }

  void work(int own) {
    for (int64_t begin = 0, end = 0; claim(own, &begin, &end);) {
      body(begin, end, context);
      if (finished.fetch_add(end - begin, std::memory_order_acq_rel) + (end - begin) == count) {
        if (state.exchange(kDone, std::memory_order_acq_rel) == kAsleep) futex_wake(&state, 1);
      }
    }
  }

  bool is_done() const { return state.load(std::memory_order_acquire) == kDone; }
  void sleep_until_done() {
    uint32_t seen = kRunning;
    state.compare_exchange_strong(seen, kAsleep, std::memory_order_acq_rel);
    while (!is_done()) futex_wait(&state, kAsleep);
  }

  void drop() {
    if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
};

bool Helper::keeps_awake() const { return job->lingers; }

bool Helper::run(int) {
  Job* shared = job;
  shared->work(shared->arrived.fetch_add(1, std::memory_order_relaxed));
  shared->drop();  // and this helper with it
  return false;
}

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
  auto fresh = std::make_unique<Job>();
  fresh->divide(count, grain, wanted + 1);
  Job* const job = fresh.release();  // whoever is the last to hold it deletes it
  job->lingers = which != Helpers::OfStep && linger_ns() > 0;
  job->body = body;
  job->context = context;
  job->holders.store(wanted + 1, std::memory_order_relaxed);
  int helpers = 0;
  for (bool may_wake = false; helpers < wanted; ++helpers) {
    Helper* const helper = &job->seats[1 + helpers].helper;
    if (which != Helpers::Awake) {
      schedule(helper);
    } else if (!schedule_at_once(helper, false)) {
      may_wake = !may_wake && t_burst.wakes();  // one
      if (may_wake && schedule_at_once(helper, true)) continue;
      break;
    }
  }
  if (helpers == 0) {
    delete job;
    body(0, count, context);
  } else {
    job->holders.fetch_sub(wanted - helpers, std::memory_order_relaxed);  // this thread holds it still
    job->work(0);
    // Not where threads share cores: the helper may need this one.
    if (!look_for(job->lingers ? kLastPiece_ns : 0, [&] { return job->is_done(); })) job->sleep_until_done();
    job->drop();
  }
  if (which == Helpers::Awake) t_burst.last = monotonic_ns();
}

}  // namespace infinirt
