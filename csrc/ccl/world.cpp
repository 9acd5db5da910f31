#include "ccl/world.h"

#include <cstdio>
#include <cstdlib>

#include "ccl/loops/loops.h"

namespace infiniccl {

World::World(int ranks) : size(ranks), counters_(static_cast<size_t>(ranks)), timeout_ms_(initial_timeout_ms()) {
  for (Counters& counters : counters_)
    counters.pairs.reset(new std::atomic<uint64_t>[4 * static_cast<size_t>(ranks)]());
}

bool World::can_reduce(infiniDtype_t dtype, infinicclReduceOp_t op) const {
  return find_reduce_loop(dtype, op) != nullptr;
}

std::atomic<uint64_t>& World::counter(const Part& part) {
  Counters& counters = counters_[static_cast<size_t>(part.rank)];
  if (!between_two(part.operation)) return part.captured ? counters.captured : counters.eager;
  const size_t kind = (part.operation == Operation::Recv ? 2 : 0) + (part.captured ? 1 : 0);
  return counters.pairs[static_cast<size_t>(part.root) * 4 + kind];
}

void World::issue(Part& part, infinirtStream_t stream) {
  part.number = counter(part).fetch_add(1, std::memory_order_relaxed);
  count_issued(part, 1);
  note_stream(part, stream);
}

void World::take_back(const Part& part) {
  count_issued(part, -1);
  uint64_t expected = part.number + 1;
  counter(part).compare_exchange_strong(expected, part.number, std::memory_order_relaxed);
}

void World::fail_with(Failure failure) {
  {
    std::lock_guard guard(failure_mutex_);
    if (failed()) return;
    failure_ = std::move(failure);
    failed_.store(true, std::memory_order_release);
  }
  end_all();
}

unsigned initial_timeout_ms() {
  static const unsigned value = [] {
    constexpr unsigned kDefault = 600'000;
    const char* text = std::getenv("INFINICCL_TIMEOUT");
    if (!text || !*text) return kDefault;
    char* end = nullptr;
    const double seconds = std::strtod(text, &end);
    if (*end == 0 && seconds >= 0 && seconds <= 4'000'000) return static_cast<unsigned>(seconds * 1000);
    std::fprintf(stderr, "infiniccl: INFINICCL_TIMEOUT=%s is not a number of seconds; %u are taken\n", text,
                 kDefault / 1000);
    return kDefault;
  }();
  return value;
}

}  // namespace infiniccl
