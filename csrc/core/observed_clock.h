// The clock of observations, and what it has to do with the system's.
#pragma once

#include <cstdint>

namespace infinirt {

struct ClockPair {
  int64_t ticks;
  int64_t ns;  // of the monotonic clock, at the same moment
};

ClockPair clock_pair();
double ns_per_tick();  // measured once, for a millisecond: good for differences that are short

}  // namespace infinirt
