#include "engine/random_schedule.h"

#include <mutex>
#include <vector>

#include "core/dispatch.h"
#include "engine/event.h"

namespace infinirt {

namespace {

struct RandomState {
  Mutex list_mutex;
  std::vector<Runnable*> ready;
  uint64_t generator = 0;
  bool seeded = false;
  Mutex turn;  // held while a step runs: one step at a time, whatever the number of threads
};

RandomState& state() {
  static auto* instance = new RandomState;
  return *instance;
}

thread_local bool t_in_step = false;

// splitmix64: every seed, 0 included, gives a good sequence.
uint64_t draw(RandomState& s) {
  if (!s.seeded) {
    s.generator = schedule_config().seed;
    s.seeded = true;
  }
  uint64_t z = (s.generator += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// With `turn` held. False when nothing is ready.
bool run_one_step(RandomState& s) {
  Runnable* chosen;
  {
    std::lock_guard guard(s.list_mutex);
    if (s.ready.empty()) return false;
    const size_t i = draw(s) % s.ready.size();
    chosen = s.ready[i];
    s.ready.erase(s.ready.begin() + static_cast<std::ptrdiff_t>(i));  // keeps the order: part of what a seed repeats
  }
  t_in_step = true;
  const bool more = chosen->run(1);
  t_in_step = false;
  if (more) random_schedule_add(chosen);
  return true;
}

// Half of the calls run nothing: long delays are what exposes missing synchronisation.
void at_api_call(FunctionId) {
  auto& s = state();
  if (t_in_step || !s.turn.try_lock()) return;
  uint64_t steps = 0;
  {
    std::lock_guard guard(s.list_mutex);
    if (!s.ready.empty()) {
      const uint64_t r = draw(s);
      steps = r & 1 ? 0 : (r >> 8) % 4;
    }
  }
  while (steps-- > 0 && run_one_step(s)) {
  }
  s.turn.unlock();
}

}  // namespace

void random_schedule_add(Runnable* runnable) {
  auto& s = state();
  std::lock_guard guard(s.list_mutex);
  s.ready.push_back(runnable);
}

bool random_schedule_until(const Point& point, int64_t timeout_ns) {
  auto& s = state();
  const int64_t deadline = timeout_ns < 0 ? INT64_MAX : monotonic_ns() + timeout_ns;
  while (!point.reached()) {
    if (timeout_ns >= 0 && monotonic_ns() >= deadline) return false;
    bool progressed = false;
    if (!t_in_step && s.turn.try_lock()) {
      progressed = run_one_step(s);
      s.turn.unlock();
    }
    // Nothing ready, or another thread's turn: that thread must bring the point about.
    if (!progressed) point.timeline->sleep_until(point.value, 0, 200 * 1000);
  }
  return true;
}

void random_schedule_seed(uint64_t seed) {
  auto& s = state();
  std::lock_guard guard(s.list_mutex);
  s.generator = seed;
  s.seeded = true;
}

void random_schedule_install() {
  static const bool installed = (add_call_hook(at_api_call), true);
  (void)installed;
}

void random_schedule_lock_for_fork() { state().list_mutex.lock(); }
void random_schedule_unlock_after_fork() { state().list_mutex.unlock(); }

void random_schedule_reset_in_child() {
  auto& s = state();
  s.ready.clear();
  s.list_mutex.unlock();
  s.turn.reset_after_fork();
  t_in_step = false;
}

}  // namespace infinirt
