// A batch: the parts that one stream runs as one step. It arrives at all of them before it waits for any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "ccl/part.h"
#include "ccl/world.h"

namespace infiniccl {

// What a thread waits for that runs a batch where no steps are.
class Ending {
 public:
  void reach();
  void wait();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
};

// One run of a batch. Captured batches run again and again, and perhaps several times at once.
class Execution {
 public:
  // `reports`: failures are told to the step's device.
  Execution(infinirtXStep_t step, int parts, bool owns_itself, bool reports)
      : step_(step), pending_(parts + 1), owns_itself_(owns_itself), reports_(reports) {}
  Execution(std::shared_ptr<Ending> ending, int parts)
      : step_(nullptr), pending_(parts + 1), owns_itself_(true), reports_(false), ending_(std::move(ending)) {}

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
  const bool reports_;
  const std::shared_ptr<Ending> ending_;  // null: the step is
};

// Puts the parts, whose numbers have been given, on the stream. Takes them; on failure nothing of them has happened. `reports`: a failure
// of theirs is one of the stream's device, too.
infinirtError_t launch_batch(std::vector<Part> parts, infinirtStream_t stream, bool captured, bool reports = true);

// The same for captures on streams that take no steps: a host function that waits for all parts.
infinirtError_t launch_blocking_batch(std::vector<Part> parts, infinirtStream_t stream);

}  // namespace infiniccl
