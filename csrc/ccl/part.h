// A part: what one rank contributes to one operation.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "infiniccl.h"

namespace infiniccl {

class World;
namespace staged {
class Stage;
}

enum class Operation : uint8_t {
  AllReduce,
  Broadcast,
  Reduce,
  AllGather,
  AllGatherV,
  ReduceScatter,
  ReduceScatterV,
  AllToAll,
  Gather,
  Scatter,
  Barrier,
  Send,
  Recv,
};

const char* operation_name(Operation operation);  // "AllReduce"
const char* reduction_name(infinicclReduceOp_t op);  // "sum"
const char* dtype_name(infiniDtype_t dtype);  // "f32"
size_t dtype_size(infiniDtype_t dtype);  // 0: there is no such type
bool reduces(Operation operation);
bool has_root(Operation operation);
inline bool between_two(Operation operation) { return operation == Operation::Send || operation == Operation::Recv; }

// Which parts belong together.
struct Key {
  uint64_t number = 0;  // n-th of its rank, or of its pair of ranks
  uint64_t replay = 0;  // captured parts: n-th execution
  bool captured = false;
  int32_t from = -1, to = -1;  // sends and receives: the pair

  bool operator==(const Key&) const = default;
};

// Orders of their own where a library wants operations one after another: collectives are lane 0, sends to each peer and receives
// from each are others.
struct Part;
int lane_of(const Part& part);

struct Part {
  std::shared_ptr<World> world;
  std::shared_ptr<staged::Stage> stage;  // null: the transport takes the part as it is
  Operation operation = Operation::Barrier;
  infiniDtype_t dtype = INFINI_DTYPE_BYTE;
  infinicclReduceOp_t reduction = INFINICCL_SUM;
  int rank = 0;
  int root = -1;  // of sends and receives the peer
  const void* send = nullptr;  // where threads of the host find it
  void* recv = nullptr;
  size_t count = 0;
  std::vector<size_t> counts;  // AllGatherV, ReduceScatterV: one for each rank
  size_t whole = 0;  // of a chunk: the count of what it was cut from, if there is one; 0: it is no chunk

  bool captured = false;
  uint64_t capture = 0;  // captured: into which capture, by the runtime's number of it
  uint64_t number = 0;
  std::atomic<uint64_t> replays{0};  // captured: how often it was executed

  Part() = default;
  Part(Part&& other) noexcept;

  size_t element() const { return dtype_size(dtype); }
  // Elements in the whole vector that an operation with counts is about.
  size_t counts_before(int rank_end) const;
  Key next_key();  // of the execution that begins now
};

// "AllReduce of 1024 f32, sum", for messages.
std::string describe(const Part& part);
// Why the two cannot be parts of one operation; "" if they can. Both are of the same key.
std::string difference(const Part& a, const Part& b);

// A part as the other processes see it.
struct PartFacts {
  Operation operation;
  infiniDtype_t dtype;
  infinicclReduceOp_t reduction;
  int32_t rank, root;
  uint64_t count, whole;
  uint64_t counts_sum, counts_hash;  // of all counts, if there are several
};

PartFacts facts_of(const Part& part);
// As above, for the n-th operation.
std::string difference(const PartFacts& a, const PartFacts& b, uint64_t number);

// Bytes that the operation moves in and out of all ranks together, for the choice of where to run it.
size_t traffic(const Part& part, int ranks);

}  // namespace infiniccl
