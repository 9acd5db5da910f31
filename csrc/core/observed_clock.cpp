#include "core/observed_clock.h"

#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "core/observe.h"

namespace infinirt {

namespace {

int64_t system_ns() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return int64_t{ts.tv_sec} * 1000000000 + ts.tv_nsec;
}

#if defined(__x86_64__)
// Whether the counter goes on at one rate whatever the processor's speed and sleep.
bool counter_is_even() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}
bool g_counter_is_even = false;
// Before everything else of the library, which may be traced from its loading on.
[[gnu::constructor(101)]] void look_at_counter() { g_counter_is_even = counter_is_even(); }
#endif

}  // namespace

int64_t observed_ticks() {
#if defined(__x86_64__)
  if (g_counter_is_even) [[likely]]
    return static_cast<int64_t>(__rdtsc());
  return system_ns();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return static_cast<int64_t>(ticks);
#else
  return system_ns();
#endif
}

ClockPair clock_pair() {
  // The shortest of a few looks: the thread may be put aside between the two clocks.
  ClockPair best{};
  int64_t shortest = INT64_MAX;
  for (int i = 0; i < 3; ++i) {
    const int64_t before = observed_ticks();
    const int64_t ns = system_ns();
    const int64_t took = observed_ticks() - before;
    if (took < shortest) {
      shortest = took;
      best = {before + took / 2, ns};
    }
  }
  return best;
}

double ns_per_tick() {
  static const double measured = [] {
    const ClockPair first = clock_pair();
    while (system_ns() - first.ns < 1000000) {
    }
    const ClockPair last = clock_pair();
    return last.ticks > first.ticks
               ? static_cast<double>(last.ns - first.ns) / static_cast<double>(last.ticks - first.ticks)
               : 1.0;
  }();
  return measured;
}

}  // namespace infinirt
