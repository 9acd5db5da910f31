// One part as MPI's work: from our buffers and types to its, and back.
#pragma once

#include <vector>

#include "ccl/batch.h"
#include "ccl/mpi/library.h"
#include "ccl/mpi/ring.h"

namespace infiniccl::mpi {

class Transfer {
 public:
  Transfer(const Functions& mpi, Part& part, Execution& execution, int64_t since)
      : mpi_(mpi), part_(part), execution_(execution), key_(part.next_key()), since_(since) {}

  // MPI's error code. All ranks begin the parts of one communicator (and peer and tag) in the same order. With `check` they first tell
  // one another what they called.
  int begin(Handle comm, int tag, bool check);
  // Whether it is over; then the results are where they belong, or problem() says what does not fit together.
  int test(bool* over);
  const std::string& problem() const { return problem_; }

  Execution& execution() const { return execution_; }
  const Part& part() const { return part_; }
  const Key& key() const { return key_; }
  int64_t since() const { return since_; }

 private:
  int begin_work();
  int begin_reduction(Handle comm);
  void compare();
  size_t inputs() const;   // elements that the rank gives
  size_t outputs() const;  // elements that it gets
  void widen();
  void finish();

  const Functions& mpi_;
  Part& part_;
  Execution& execution_;
  const Key key_;
  const int64_t since_;
  Handle comm_ = nullptr;
  int tag_ = 0;  // of sends and receives
  Handle request_ = constant(kNoRequest);
  std::vector<PartFacts> called_;  // by all ranks, while they are compared
  std::string problem_;
  // Narrow floats travel as f32; other copies are made where MPI's rules about buffers are stricter than ours.
  std::vector<std::byte> send_copy_, recv_copy_;
  std::vector<Count> counts_;
  std::vector<intptr_t> offsets_;
  std::unique_ptr<Ring> ring_;  // of a long all-reduce, instead of one request
};

}  // namespace infiniccl::mpi
