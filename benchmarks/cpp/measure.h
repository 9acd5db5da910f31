// Timing for benchmarks: several candidates, interleaved rounds, medians. A round times `batch` calls of one candidate.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace measure {

inline double now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

struct Candidate {
  std::string name;
  std::function<void(int)> run;  // performs that many calls
  std::function<void()> after = {};  // outside the timed part: drains queues, resets state
  std::vector<double> samples = {};
  double median() const {
    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : sorted[sorted.size() / 2];
  }
};

// Nanoseconds per call, into each candidate's samples.
inline void compare(std::vector<Candidate>& candidates, int batch, int rounds) {
  for (auto& c : candidates) {  // warm up
    c.run(batch);
    if (c.after) c.after();
  }
  for (int r = 0; r < rounds; ++r) {
    for (auto& c : candidates) {
      const double begin = now_ns();
      c.run(batch);
      c.samples.push_back((now_ns() - begin) / batch);
      if (c.after) c.after();
    }
  }
}

inline void row(const char* what, double ns, double reference, const char* reference_name) {
  std::printf("  %-52s %9.1f ns", what, ns);
  if (reference > 0) std::printf("   %6.2f x %s, %+.1f ns", ns / reference, reference_name, ns - reference);
  std::printf("\n");
}

}  // namespace measure
