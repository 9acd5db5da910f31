#include "ccl/staged/cut.h"

#include <algorithm>

#include "ccl/world.h"

namespace infiniccl::staged {

namespace {

// Of one rank's larger buffer. From 4 MiB on MPI's long all-reduces have a faster way.
constexpr size_t kChunkBytes = size_t{4} << 20;

// Which buffers of a rank hold a section for each rank, instead of one run.
struct Shape {
  bool send_sections = false, recv_sections = false;
};

Shape shape_of(Operation operation) {
  switch (operation) {
    case Operation::AllGather:
    case Operation::AllGatherV:
    case Operation::Gather:
      return {false, true};
    case Operation::ReduceScatter:
    case Operation::ReduceScatterV:
    case Operation::Scatter:
      return {true, false};
    case Operation::AllToAll:
      return {true, true};
    default:
      return {};
  }
}

size_t elements_of(const std::vector<Run>& runs) {
  size_t sum = 0;
  for (const Run& run : runs) sum += run.count;
  return sum;
}

bool gives(const Part& part) {
  switch (part.operation) {
    case Operation::Broadcast:
    case Operation::Scatter:
      return part.rank == part.root;
    case Operation::Recv:
    case Operation::Barrier:
      return false;
    default:
      return true;
  }
}

bool takes(const Part& part) {
  switch (part.operation) {
    case Operation::Reduce:
    case Operation::Gather:
      return part.rank == part.root;
    case Operation::Send:
    case Operation::Barrier:
      return false;
    default:
      return true;
  }
}

size_t per_chunk(const Part& part) {
  const Shape shape = shape_of(part.operation);
  const auto sections = static_cast<size_t>(shape.send_sections || shape.recv_sections ? part.world->size : 1);
  return std::max<size_t>(kChunkBytes / sections / part.element(), 1);
}

size_t longest(const Part& part) {
  return part.counts.empty() ? part.count : *std::max_element(part.counts.begin(), part.counts.end());
}

}  // namespace

size_t Chunk::send_elements() const { return elements_of(send); }
size_t Chunk::recv_elements() const { return elements_of(recv); }

size_t chunks_in(const Part& part) {
  const size_t each = per_chunk(part);
  return std::max<size_t>((longest(part) + each - 1) / each, 1);
}

Chunk chunk_of(const Part& part, size_t number) {
  const size_t each = per_chunk(part), begin = number * each;
  // Of a section with so many elements.
  const auto clipped = [&](size_t count) {
    return Run{std::min(begin, count), std::min(each, count - std::min(begin, count))};
  };
  const auto count_of = [&](int rank) {
    return part.counts.empty() ? part.count : part.counts[static_cast<size_t>(rank)];
  };
  const auto runs = [&](bool sections) {
    std::vector<Run> found;
    if (!sections) {
      found.push_back(clipped(count_of(part.rank)));
      return found;
    }
    size_t before = 0;
    for (int rank = 0; rank < part.world->size; ++rank) {
      const Run run = clipped(count_of(rank));
      found.push_back({before + run.begin, run.count});
      before += count_of(rank);
    }
    return found;
  };
  const Shape shape = shape_of(part.operation);
  Chunk chunk;
  chunk.count = clipped(part.count).count;
  for (size_t count : part.counts) chunk.counts.push_back(clipped(count).count);
  if (gives(part)) chunk.send = runs(shape.send_sections);
  if (takes(part)) chunk.recv = runs(shape.recv_sections);
  return chunk;
}

bool works_in_place(Operation operation) {
  return operation == Operation::AllReduce || operation == Operation::Broadcast || operation == Operation::Reduce;
}

}  // namespace infiniccl::staged
