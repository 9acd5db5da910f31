// How an operation is cut into chunks. All ranks cut alike: by what they have in common only.
#pragma once

#include <vector>

#include "ccl/part.h"

namespace infiniccl::staged {

// Elements of one of the rank's buffers that lie side by side.
struct Run {
  size_t begin, count;
};

// One chunk: an operation of its own on fewer elements. In the memory of the stage the runs follow one another.
struct Chunk {
  size_t count = 0;
  std::vector<size_t> counts;  // of operations that have a count for each rank
  std::vector<Run> send, recv;

  size_t send_elements() const;
  size_t recv_elements() const;
};

size_t chunks_in(const Part& part);  // at least 1: without elements ranks still meet
Chunk chunk_of(const Part& part, size_t number);

// Whether the chunk's result may take the place of its input in the memory of the stage.
bool works_in_place(Operation operation);

}  // namespace infiniccl::staged
