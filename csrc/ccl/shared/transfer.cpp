#include "ccl/shared/transfer.h"

#include <algorithm>
#include <cstring>

#include "ccl/loops/loops.h"
#include "ccl/runtime.h"

namespace infiniccl::shared {

namespace {

// A rank's memory has a section for each destination.
bool has_sections(Operation operation) {
  switch (operation) {
    case Operation::ReduceScatter:
    case Operation::ReduceScatterV:
    case Operation::AllToAll:
    case Operation::Scatter:
      return true;
    default:
      return false;
  }
}

// Whether a part, or what is known of another process's, hands anything over.
template <class AnyPart>
bool gives_anything(const AnyPart& part) {
  switch (part.operation) {
    case Operation::Broadcast:
    case Operation::Scatter:
      return part.rank == part.root;
    case Operation::Recv:
      return false;
    default:
      return true;
  }
}

void copy(void* to, const void* from, size_t bytes) {
  if (bytes) std::memcpy(to, from, bytes);
}

}  // namespace

Transfer::Transfer(const Map& map, Part& part, Execution& execution)
    : map_(map),
      part_(part),
      execution_(execution),
      key_(part.next_key()),
      since_(now_ns()),
      self_(!between_two(part.operation)        ? static_cast<size_t>(part.rank)
            : part.operation == Operation::Send ? 0
                                                : 1) {
  const size_t sections = has_sections(part.operation) ? static_cast<size_t>(map.size) : 1;
  per_chunk_ = std::max<size_t>(kHalf / sections / part.element(), 1);
  size_t longest = part.count;
  for (size_t count : part.counts) longest = std::max(longest, count);
  chunks_ = (longest + per_chunk_ - 1) / per_chunk_;
}

int Transfer::rank_of(size_t participant) const {
  if (!between_two(part_.operation)) return static_cast<int>(participant);
  return participant == 0 ? key_.from : key_.to;
}

bool Transfer::gives() const { return gives_anything(part_); }

bool Transfer::takes() const {
  switch (part_.operation) {
    case Operation::Reduce:
    case Operation::Gather:
      return part_.rank == part_.root;
    case Operation::Send:
      return false;
    default:
      return true;
  }
}

size_t Transfer::count_of(int rank) const {
  return part_.counts.empty() ? part_.count : part_.counts[static_cast<size_t>(rank)];
}

size_t Transfer::chunk_begin(uint64_t chunk, size_t count) const { return std::min(count, chunk * per_chunk_); }

size_t Transfer::chunk_size(uint64_t chunk, size_t count) const {
  return std::min(count - chunk_begin(chunk, count), per_chunk_);
}

bool Transfer::find_slot() {
  const SlotsLock lock(map_);
  if (!lock.held()) return false;  // later
  Header& header = map_.header();
  int empty = -1;
  for (int i = 0; i < kSlots; ++i) {
    Slot& slot = header.slots[i];
    if (slot.is_free()) {
      if (empty < 0) empty = i;
    } else if (slot.key == key_) {
      slot_ = i;
      return true;
    }
  }
  if (empty < 0) return false;  // all are busy: later
  Slot& slot = header.slots[empty];
  slot.participants = static_cast<uint32_t>(participants());
  slot.key = key_;
  slot.finished.store(0, std::memory_order_relaxed);
  for (size_t p = 0; p < participants(); ++p) {
    Progress& progress = map_.progress(empty, p);
    progress.handed_over.store(0, std::memory_order_relaxed);
    progress.taken.store(0, std::memory_order_relaxed);
  }
  slot_ = empty;
  return true;
}

void Transfer::ring_others() const {
  for (size_t p = 0; p < participants(); ++p) {
    if (p != self_) ring(map_.rank(rank_of(p)));
  }
}

std::vector<int> Transfer::missing() const {
  std::vector<int> ranks;
  for (size_t p = 0; p < participants(); ++p) {
    if (p == self_) continue;
    if (slot_ < 0 || map_.progress(slot_, p).handed_over.load(std::memory_order_acquire) == 0)
      ranks.push_back(rank_of(p));
  }
  return ranks;
}

std::vector<int> Transfer::behind() const {
  std::vector<int> ranks;
  if (slot_ < 0) return ranks;
  auto least = std::pair(UINT64_MAX, UINT64_MAX);
  for (size_t p = 0; p < participants(); ++p) {
    const Progress& progress = map_.progress(slot_, p);
    const bool waited_for = gives_anything(progress.facts);
    const auto done = std::pair(progress.taken.load(std::memory_order_acquire),
                                waited_for ? progress.handed_over.load(std::memory_order_acquire) : UINT64_MAX);
    if (done < least) ranks.clear();
    least = std::min(least, done);
    if (done == least && p != self_) ranks.push_back(rank_of(p));
  }
  return ranks;
}

bool Transfer::all_arrived() {
  for (size_t p = 0; p < participants(); ++p) {
    if (map_.progress(slot_, p).handed_over.load(std::memory_order_acquire) == 0) return false;
  }
  return true;
}

bool Transfer::compare() {
  const PartFacts own = facts_of(part_);
  for (size_t p = 0; p < participants(); ++p) {
    if (p == self_) continue;
    const PartFacts& other = map_.progress(slot_, p).facts;
    const bool first = rank_of(p) < part_.rank;
    problem_ = difference(first ? other : own, first ? own : other, part_.number);
    if (!problem_.empty()) return false;
  }
  return true;
}

// The next chunk, if the others are done with what lies in its half. The first one is also how a rank says that it has come.
bool Transfer::hand_over() {
  const uint64_t total = std::max<uint64_t>(chunks_, 1);
  if (handed_over_ == total) return false;
  const uint64_t chunk = handed_over_;
  if (chunk >= 2) {
    if (!gives()) return false;  // it has said all it has to
    for (size_t p = 0; p < participants(); ++p) {  // itself too: it reads its own half, in the order of ranks
      if (map_.progress(slot_, p).taken.load(std::memory_order_acquire) < chunk - 1) return false;
    }
  }
  Progress& own = map_.progress(slot_, self_);
  if (gives() && chunk < chunks_) {
    std::byte* half = map_.half(slot_, self_, chunk);
    const size_t element = part_.element();
    const auto* send = static_cast<const std::byte*>(part_.send);
    if (has_sections(part_.operation)) {
      size_t before = 0;
      for (int destination = 0; destination < map_.size; ++destination) {
        const size_t count = count_of(destination);
        copy(half + static_cast<size_t>(destination) * per_chunk_ * element,
             send + (before + chunk_begin(chunk, count)) * element, chunk_size(chunk, count) * element);
        before += count;
      }
    } else {
      const size_t count = between_two(part_.operation) ? part_.count : count_of(part_.rank);
      copy(half, send + chunk_begin(chunk, count) * element, chunk_size(chunk, count) * element);
    }
  }
  if (chunk == 0) own.facts = facts_of(part_);
  ++handed_over_;
  own.handed_over.store(handed_over_, std::memory_order_release);
  ring_others();
  return true;
}

void Transfer::take_chunk(uint64_t chunk) {
  const size_t element = part_.element(), n = participants();
  auto* recv = static_cast<std::byte*>(part_.recv);
  const auto rank = static_cast<size_t>(part_.rank);
  const size_t section = rank * per_chunk_ * element;
  switch (part_.operation) {
    case Operation::AllReduce:
    case Operation::Reduce:
    case Operation::ReduceScatter:
    case Operation::ReduceScatterV: {
      const size_t own_count = has_sections(part_.operation) ? count_of(part_.rank) : part_.count;
      const size_t elements = chunk_size(chunk, own_count);
      if (elements == 0) break;
      std::vector<const void*> in(n);
      for (size_t p = 0; p < n; ++p) in[p] = half_of(p, chunk) + (has_sections(part_.operation) ? section : 0);
      void* out = recv + chunk_begin(chunk, own_count) * element;
      find_reduce_loop(part_.dtype, part_.reduction)(in.data(), static_cast<int>(n), &out, 1, elements, false);
      break;
    }
    case Operation::Broadcast:
      if (part_.rank == part_.root && part_.send == part_.recv) break;
      copy(recv + chunk_begin(chunk, part_.count) * element, half_of(static_cast<size_t>(part_.root), chunk),
           chunk_size(chunk, part_.count) * element);
      break;
    case Operation::AllGather:
    case Operation::AllGatherV:
    case Operation::Gather:
    case Operation::AllToAll: {
      size_t before = 0;
      for (size_t p = 0; p < n; ++p) {
        const size_t count = count_of(static_cast<int>(p));
        copy(recv + (before + chunk_begin(chunk, count)) * element,
             half_of(p, chunk) + (part_.operation == Operation::AllToAll ? section : 0),
             chunk_size(chunk, count) * element);
        before += count;
      }
      break;
    }
    case Operation::Scatter:
      copy(recv + chunk_begin(chunk, part_.count) * element, half_of(static_cast<size_t>(part_.root), chunk) + section,
           chunk_size(chunk, part_.count) * element);
      break;
    case Operation::Recv:
      copy(recv + chunk_begin(chunk, part_.count) * element, half_of(0, chunk),
           chunk_size(chunk, part_.count) * element);
      break;
    case Operation::Send:
    case Operation::Barrier:
      break;
  }
}

bool Transfer::take() {
  if (taken_ == chunks_) return false;
  if (takes()) {
    for (size_t p = 0; p < participants(); ++p) {
      const Progress& progress = map_.progress(slot_, p);
      if (gives_anything(progress.facts) && progress.handed_over.load(std::memory_order_acquire) <= taken_)
        return false;
    }
    take_chunk(taken_);
    ++taken_;
  } else {
    taken_ = chunks_;  // the others need not wait for this one
  }
  map_.progress(slot_, self_).taken.store(taken_, std::memory_order_release);
  ring_others();
  return true;
}

Transfer::State Transfer::advance() {
  if (slot_ < 0 && !find_slot()) return State::Waiting;
  bool moved = false;
  while (hand_over()) moved = true;
  if (!compared_) {
    if (!all_arrived()) return moved ? State::Moved : State::Waiting;
    compared_ = true;
    moved = true;
    if (!compare()) return State::Failed;
  }
  for (;;) {
    const bool took = take();
    const bool handed = hand_over();
    if (!took && !handed) break;
    moved = true;
  }
  // What lies in the halves stays there until all have taken it; the slot is free when everybody is done with it.
  const bool given = !gives() || handed_over_ >= std::max<uint64_t>(chunks_, 1);
  if (!given || taken_ != chunks_) return moved ? State::Moved : State::Waiting;
  map_.header().slots[slot_].finished.fetch_add(1, std::memory_order_acq_rel);
  return State::Done;
}

}  // namespace infiniccl::shared
