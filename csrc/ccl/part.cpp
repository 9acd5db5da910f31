#include "ccl/part.h"

#include <numeric>

#include "ccl/runtime.h"

namespace infiniccl {

namespace {

struct DtypeFacts {
  const char* name;
  size_t size;
};
// By infiniDtype_t.
constexpr DtypeFacts kDtypes[] = {
    {"invalid", 0}, {"byte", 1}, {"bool", 1}, {"i8", 1},  {"i16", 2},   {"i32", 4},  {"i64", 8},
    {"u8", 1},      {"u16", 2},  {"u32", 4},  {"u64", 8}, {"f8", 1},    {"f16", 2},  {"f32", 4},
    {"f64", 8},     {"c16", 2},  {"c32", 4},  {"c64", 8}, {"c128", 16}, {"bf16", 2},
};
constexpr int kDtypeCount = sizeof kDtypes / sizeof *kDtypes;

struct OperationFacts {
  const char* name;
  bool reduces, has_root;
};
// By Operation.
constexpr OperationFacts kOperations[] = {
    {"AllReduce", true, false},      {"Broadcast", false, true},   {"Reduce", true, true},
    {"AllGather", false, false},     {"AllGatherV", false, false}, {"ReduceScatter", true, false},
    {"ReduceScatterV", true, false}, {"AllToAll", false, false},   {"Gather", false, true},
    {"Scatter", false, true},        {"Barrier", false, false},    {"Send", false, false},
    {"Recv", false, false},
};

const OperationFacts& facts(Operation operation) { return kOperations[static_cast<size_t>(operation)]; }

uint64_t hash_of(const std::vector<size_t>& counts) {
  uint64_t hash = 1469598103934665603u;
  for (size_t count : counts) hash = (hash ^ count) * 1099511628211u;
  return hash;
}

// Counts are represented by what is known of them, not by a list.
Part part_of(const PartFacts& facts, uint64_t number) {
  Part part;
  part.operation = facts.operation;
  part.dtype = facts.dtype;
  part.reduction = facts.reduction;
  part.rank = facts.rank;
  part.root = facts.root;
  part.count = facts.count;
  part.whole = facts.whole;
  part.number = number;
  return part;
}

bool has_counts(Operation operation) {
  return operation == Operation::AllGatherV || operation == Operation::ReduceScatterV;
}

}  // namespace

const char* operation_name(Operation operation) { return facts(operation).name; }
bool reduces(Operation operation) { return facts(operation).reduces; }
bool has_root(Operation operation) { return facts(operation).has_root; }

const char* reduction_name(infinicclReduceOp_t op) {
  constexpr const char* names[] = {"sum", "prod", "max", "min", "avg"};
  return names[op];
}

const char* dtype_name(infiniDtype_t dtype) {
  const auto number = static_cast<int>(dtype);
  return number >= 0 && number < kDtypeCount ? kDtypes[number].name : "unknown";
}

size_t dtype_size(infiniDtype_t dtype) {
  const auto number = static_cast<int>(dtype);
  return number >= 0 && number < kDtypeCount ? kDtypes[number].size : 0;
}

Part::Part(Part&& other) noexcept
    : world(std::move(other.world)),
      stage(std::move(other.stage)),
      operation(other.operation),
      dtype(other.dtype),
      reduction(other.reduction),
      rank(other.rank),
      root(other.root),
      send(other.send),
      recv(other.recv),
      count(other.count),
      counts(std::move(other.counts)),
      whole(other.whole),
      captured(other.captured),
      capture(other.capture),
      number(other.number),
      replays(other.replays.load(std::memory_order_relaxed)) {}

int lane_of(const Part& part) {
  if (!between_two(part.operation)) return 0;
  return 1 + 2 * part.root + (part.operation == Operation::Recv ? 1 : 0);
}

size_t Part::counts_before(int rank_end) const {
  return std::accumulate(counts.begin(), counts.begin() + rank_end, size_t{0});
}

Key Part::next_key() {
  Key key;
  key.number = number;
  key.captured = captured;
  if (captured) key.replay = replays.fetch_add(1, std::memory_order_relaxed);
  if (between_two(operation)) {
    key.from = operation == Operation::Send ? rank : root;
    key.to = operation == Operation::Send ? root : rank;
  }
  return key;
}

std::string describe(const Part& part) {
  std::string text = operation_name(part.operation);
  if (part.operation == Operation::Barrier) return text;
  if (has_counts(part.operation)) {
    text += " of";
    for (size_t count : part.counts) text += format_text(" %zu", count);
    text += format_text(" %s", dtype_name(part.dtype));
  } else {
    text += format_text(" of %zu %s", part.whole ? part.whole : part.count, dtype_name(part.dtype));
  }
  if (reduces(part.operation)) text += format_text(", %s", reduction_name(part.reduction));
  if (has_root(part.operation)) text += format_text(", root %d", part.root);
  if (part.operation == Operation::Send) text += format_text(" to rank %d", part.root);
  if (part.operation == Operation::Recv) text += format_text(" from rank %d", part.root);
  return text;
}

std::string difference(const Part& a, const Part& b) {
  const bool pair = between_two(a.operation) && between_two(b.operation);
  const char* what = nullptr;
  if (!pair && a.operation != b.operation) {
    what = "different operations";
  } else if (a.operation != Operation::Barrier && a.dtype != b.dtype) {
    what = "different types";
  } else if (a.count != b.count || a.whole != b.whole || a.counts != b.counts) {
    what = "different counts";
  } else if (reduces(a.operation) && a.reduction != b.reduction) {
    what = "different reductions";
  } else if (has_root(a.operation) && a.root != b.root) {
    what = "different roots";
  }
  if (!what) return "";
  return format_text("%s in operation %llu: rank %d called %s, rank %d called %s", what,
                     static_cast<unsigned long long>(a.number), a.rank, describe(a).c_str(), b.rank,
                     describe(b).c_str());
}

PartFacts facts_of(const Part& part) {
  PartFacts facts{};
  facts.operation = part.operation;
  facts.dtype = part.dtype;
  facts.reduction = part.reduction;
  facts.rank = part.rank;
  facts.root = part.root;
  facts.count = part.count;
  facts.whole = part.whole;
  facts.counts_sum = part.counts_before(static_cast<int>(part.counts.size()));
  facts.counts_hash = hash_of(part.counts);
  return facts;
}

std::string difference(const PartFacts& a, const PartFacts& b, uint64_t number) {
  std::string found = difference(part_of(a, number), part_of(b, number));
  if (found.empty() && (a.counts_sum != b.counts_sum || a.counts_hash != b.counts_hash)) {
    found = format_text("different counts in operation %llu: %s of rank %d and of rank %d have not the same counts",
                        static_cast<unsigned long long>(number), operation_name(a.operation), a.rank, b.rank);
  }
  return found;
}

size_t traffic(const Part& part, int ranks) {
  const auto n = static_cast<size_t>(ranks);
  switch (part.operation) {
    case Operation::Barrier:
      return 0;
    case Operation::Send:
    case Operation::Recv:
      return 2 * part.count * part.element();
    case Operation::AllReduce:
    case Operation::Broadcast:
    case Operation::Reduce:
    case Operation::Gather:
    case Operation::Scatter:
      return 2 * n * part.count * part.element();
    case Operation::AllGatherV:
    case Operation::ReduceScatterV:
      return 2 * n * part.counts_before(ranks) * part.element();
    default:
      return 2 * n * n * part.count * part.element();
  }
}

}  // namespace infiniccl
