// A batch: the parts that one stream runs as one step. It arrives at all of them before it waits for any.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "ccl/part.h"
#include "ccl/world.h"

namespace infiniccl {

// One run of a batch. Captured batches run again and again, and perhaps several times at once.
class Execution {
 public:
  Execution(infinirtXStep_t step, int parts, bool owns_itself)
      : step_(step), pending_(parts + 1), owns_itself_(owns_itself) {}

  // Exactly once for each part. The execution must not be touched afterwards.
  void part_done();
  void part_failed(const Failure& failure);  // the same for a part that failed
  // All parts have arrived. True: all are done already, and the step is; false: the last one will finish it.
  bool arrived();

 private:
  bool was_last();

  const infinirtXStep_t step_;
  std::atomic<int> pending_;  // parts, and one until all have arrived
  const bool owns_itself_;
};

// Puts the parts, whose numbers have been given, on the stream. Takes them; on failure nothing of them has happened.
infinirtError_t launch_batch(std::vector<Part> parts, infinirtStream_t stream, bool captured);

}  // namespace infiniccl
