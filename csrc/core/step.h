// What an infinirtXStep_t points at: one execution of a step, wherever it runs.
#pragma once

#include <cstdint>

#include "infinirt_ext.h"

namespace infinirt {

class StepHost {
 public:
  virtual void finish_step() = 0;  // a parked step is over; not touched by the caller any more
  virtual void fail_step(infinirtError_t error, const char* message) = 0;
  virtual void run_parallel(int64_t count, int64_t grain, void (*body)(long long, long long, void*), void* context) = 0;

 protected:
  ~StepHost() = default;
};

inline StepHost& step_host(infinirtXStep_t step) { return *reinterpret_cast<StepHost*>(step); }
inline infinirtXStep_t step_token(StepHost& host) { return reinterpret_cast<infinirtXStep_t>(&host); }

}  // namespace infinirt
