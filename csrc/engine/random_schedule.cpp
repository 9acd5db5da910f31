#include "engine/random_schedule.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "core/dispatch.h"
#include "engine/event.h"

namespace infinirt {

namespace {

// How much runs at a call that does not wait.
enum class Pace : uint8_t {
  Nothing,  // everything waits until somebody waits for it
  Little,   // at one call in eight, one step
  Some,     // at every other call, up to three steps
  Much,     // at every call, up to eight steps
};

// Who runs when several could.
enum class Order : uint8_t {
  Newest,    // what became ready last: an operation overtakes all that it is not ordered after
  Ranked,    // each gets a rank when it becomes ready: low ones starve as long as there are others
  AnyOfAll,  // all alike
};

// A way to behave, kept for a number of calls. Errors hide between extremes: what half the operations of a uniform choice
// undo, a schedule that always lets the later one go first shows at once.
struct Mood {
  Pace pace = Pace::Some;
  Order order = Order::AnyOfAll;
  uint64_t calls_left = 0;
};

struct Ready {
  Runnable* runnable;
  uint32_t rank;
};

// A program that asks again and again whether work is done must see it done some time.
constexpr uint64_t kIdleCalls = 512;
constexpr uint64_t kForTheWholeRun = ~uint64_t{0};

struct RandomState {
  Mutex list_mutex;
  std::vector<Ready> ready;
  uint64_t generator = 0;
  bool seeded = false;
  Mood mood;
  uint64_t idle_calls = 0;  // since the last step, while something was ready
  Mutex turn;  // held while a step runs: one step at a time, whatever the number of threads
};

RandomState& state() {
  static auto* instance = new RandomState;
  return *instance;
}

thread_local bool t_in_step = false;

// splitmix64: every seed, 0 included, gives a good sequence.
uint64_t next_number(RandomState& s) {
  uint64_t z = (s.generator += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Most moods run nothing unasked, and most let the newest go first: long delays and overtaking are what exposes
// missing synchronisation. `lasting`: for the first one, which every other seed keeps to the end.
Mood draw_mood(RandomState& s, bool lasting) {
  const uint64_t r = next_number(s);
  constexpr Pace paces[8] = {Pace::Nothing, Pace::Nothing, Pace::Nothing, Pace::Nothing,
                             Pace::Nothing, Pace::Little,  Pace::Some,    Pace::Much};
  constexpr Order orders[8] = {Order::Newest, Order::Newest, Order::Newest, Order::Newest,
                               Order::Newest, Order::Ranked, Order::Ranked, Order::AnyOfAll};
  Mood mood;
  mood.pace = paces[r & 7];
  mood.order = orders[r >> 8 & 7];
  mood.calls_left = lasting && (r >> 16 & 1) ? kForTheWholeRun : 1 + (r >> 20) % 128;
  return mood;
}

void seed(RandomState& s, uint64_t value) {
  s.generator = value;
  s.seeded = true;
  s.idle_calls = 0;
  s.mood = draw_mood(s, true);
}

uint64_t draw(RandomState& s) {
  if (!s.seeded) seed(s, schedule_config().seed);
  return next_number(s);
}

// With the list's mutex held.
size_t choose(RandomState& s) {
  const uint64_t r = draw(s);
  const size_t count = s.ready.size();
  switch (s.mood.order) {
    case Order::Newest:
      if ((r & 7) == 0) break;  // now and then somebody else, or the oldest would never be seen to run
      return count - 1;
    case Order::Ranked: {
      size_t best = 0;
      for (size_t i = 1; i < count; ++i) {
        if (s.ready[i].rank > s.ready[best].rank) best = i;
      }
      return best;
    }
    case Order::AnyOfAll:
      break;
  }
  return (r >> 8) % count;
}

std::vector<Ready>::iterator position(RandomState& s, size_t index) {
  return s.ready.begin() + static_cast<std::ptrdiff_t>(index);
}

void add(RandomState& s, Runnable* runnable) { s.ready.push_back({runnable, static_cast<uint32_t>(draw(s) >> 32)}); }

// With `turn` held. False when nothing is ready.
bool run_one_step(RandomState& s) {
  Ready chosen;
  size_t place;
  {
    std::lock_guard guard(s.list_mutex);
    if (s.ready.empty()) return false;
    place = choose(s);
    chosen = s.ready[place];
    s.ready.erase(position(s, place));  // keeps the order: part of what a seed repeats
    s.idle_calls = 0;
  }
  t_in_step = true;
  const bool more = chosen.runnable->run(1);
  t_in_step = false;
  if (more) {
    std::lock_guard guard(s.list_mutex);
    // In its old place, before what the step has woken: that is newer. And mostly with its old rank, so that a stream that
    // starves does so for several of its operations.
    const uint64_t r = draw(s);
    if ((r & 7) == 0) chosen.rank = static_cast<uint32_t>(r >> 32);
    s.ready.insert(position(s, std::min(place, s.ready.size())), chosen);
  }
  return true;
}

bool is_question(FunctionId function) {
  return function == FunctionId::StreamQuery || function == FunctionId::EventQuery;
}

// With the list's mutex held and something ready.
uint64_t steps_at(RandomState& s, FunctionId function) {
  const uint64_t r = draw(s);
  if (s.mood.calls_left != kForTheWholeRun && --s.mood.calls_left == 0) s.mood = draw_mood(s, false);
  if (++s.idle_calls > kIdleCalls) return 1 + (r >> 8) % 8;
  // Who asks waits, though in its own way: nobody should have to ask 500 times.
  if (is_question(function) && (r & 3) == 0) return 1;
  switch (s.mood.pace) {
    case Pace::Nothing:
      return 0;
    case Pace::Little:
      return (r & 7) == 0;
    case Pace::Some:
      return r & 1 ? 0 : (r >> 8) % 4;
    case Pace::Much:
      return (r >> 8) % 9;
  }
  return 0;
}

void at_api_call(FunctionId function) {
  auto& s = state();
  if (t_in_step || !s.turn.try_lock()) return;
  uint64_t steps = 0;
  {
    std::lock_guard guard(s.list_mutex);
    if (!s.ready.empty()) steps = steps_at(s, function);
  }
  while (steps-- > 0 && run_one_step(s)) {
  }
  s.turn.unlock();
}

}  // namespace

void random_schedule_add(Runnable* runnable) {
  auto& s = state();
  std::lock_guard guard(s.list_mutex);
  add(s, runnable);
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

void random_schedule_seed(uint64_t value) {
  auto& s = state();
  std::lock_guard guard(s.list_mutex);
  seed(s, value);
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
