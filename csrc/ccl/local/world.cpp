#include "ccl/local/world.h"

#include <algorithm>

#include "ccl/batch.h"
#include "ccl/monitor.h"
#include "ccl/runtime.h"
#include "ccl/work.h"

namespace infiniccl {

namespace {

// Traffic that the thread which issues the last part carries itself, with idle workers: about 60 microseconds, as for computations
// (docs/decisions/0020). Waking a thread to do it, and being woken, would take as long again. 4 MiB are 1 MiB of each of two ranks, read and
// written.
constexpr size_t kInCaller = size_t{4} << 20;

size_t place_of(const Part& part) {
  if (between_two(part.operation)) return part.operation == Operation::Send ? 0 : 1;
  return static_cast<size_t>(part.rank);
}

Key key_of(const Part& part) {
  Key key;
  key.number = part.number;
  if (between_two(part.operation)) {
    key.from = part.operation == Operation::Send ? part.rank : part.root;
    key.to = part.operation == Operation::Send ? part.root : part.rank;
  }
  return key;
}

double seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace

LocalWorld::LocalWorld(int ranks) : World(ranks), ranks_(static_cast<size_t>(ranks)) {}

LocalWorld::Meeting* LocalWorld::find(const Key& key) {
  for (const auto& meeting : open_) {
    if (meeting->key == key) return meeting.get();
  }
  return nullptr;
}

LocalWorld::Meeting* LocalWorld::open(const Key& key) {
  std::unique_ptr<Meeting> meeting;
  if (spare_.empty()) {
    meeting = std::make_unique<Meeting>();
  } else {
    meeting = std::move(spare_.back());
    spare_.pop_back();
  }
  const size_t places = key.from >= 0 ? 2 : static_cast<size_t>(size);
  meeting->key = key;
  meeting->arrived = 0;
  meeting->since = now_ns();
  meeting->parts.assign(places, nullptr);
  meeting->executions.assign(places, nullptr);
  open_.push_back(std::move(meeting));
  return open_.back().get();
}

bool LocalWorld::is_much(const Part& part) {
  if (traffic(part, size) <= kInCaller) return false;
  std::lock_guard guard(mutex_);
  const Meeting* meeting = find(key_of(part));
  const size_t arrived = meeting ? static_cast<size_t>(meeting->arrived) : 0;
  return arrived + 1 == (between_two(part.operation) ? 2 : static_cast<size_t>(size));
}

void LocalWorld::count_issued(const Part& part, int change) {
  if (part.captured) return;
  std::lock_guard guard(mutex_);
  ranks_[static_cast<size_t>(part.rank)].outstanding += change;
}

void LocalWorld::note_stream(const Part& part, infinirtStream_t stream) {
  if (between_two(part.operation)) return;
  std::lock_guard guard(mutex_);
  Rank& rank = ranks_[static_cast<size_t>(part.rank)];
  rank.issued[part.captured] = true;
  rank.streams[part.captured] = stream;
  rank.numbers[part.captured] = part.number;
}

// Another rank's part of this operation, or of a later one, is ahead on the stream: it waits for this part, which waits for it.
std::string LocalWorld::conflict(const Part& part, infinirtStream_t stream) {
  if (between_two(part.operation)) return "";
  const uint64_t number = next_number(part);
  std::lock_guard guard(mutex_);
  for (int other = 0; other < size; ++other) {
    const Rank& rank = ranks_[static_cast<size_t>(other)];
    if (other == part.rank || !rank.issued[part.captured] || rank.streams[part.captured] != stream ||
        rank.numbers[part.captured] < number)
      continue;
    return format_text(
        "rank %d's part of operation %llu is on the same stream and waits for rank %d's, which would come behind it; "
        "give "
        "each rank a stream of its own, or issue them in one group",
        other, static_cast<unsigned long long>(number), part.rank);
  }
  return "";
}

void LocalWorld::arrive(Part& part, Execution& execution, infinirtXStep_t step) {
  const Key key = part.next_key();
  std::unique_lock guard(mutex_);
  Rank& rank = ranks_[static_cast<size_t>(part.rank)];
  if (!part.captured) --rank.outstanding;
  if (failed()) {
    guard.unlock();
    return execution.part_failed(failure());
  }
  rank.last_time = now_ns();
  rank.last_operation = part.operation;
  rank.last_dtype = part.dtype;
  rank.last_count = part.count;
  rank.last_number = part.number;

  Meeting* meeting = find(key);
  if (!meeting) meeting = open(key);
  const size_t place = place_of(part);
  meeting->parts[place] = &part;
  meeting->executions[place] = &execution;
  ++meeting->arrived;
  if (static_cast<size_t>(meeting->arrived) == meeting->parts.size()) {
    const auto position = std::find_if(open_.begin(), open_.end(), [&](const auto& m) { return m.get() == meeting; });
    std::unique_ptr<Meeting> mine = std::move(*position);
    open_.erase(position);
    guard.unlock();
    complete(*mine, step);
    guard.lock();
    spare_.push_back(std::move(mine));
    return;
  }
  Failure failure;
  if (part.captured && rank.left) {
    failure = {INFINI_STATUS_BAD_PARAM, infinirtErrorInvalidResourceHandle,
               format_text("a graph replays %s of rank %d, whose communicator was destroyed", describe(part).c_str(),
                           part.rank)};
  } else if (const int gone = unreachable(*meeting); gone >= 0) {
    failure = peer_left(*meeting, gone);
  }
  guard.unlock();
  if (failure.status != INFINI_STATUS_SUCCESS) {
    fail_with(std::move(failure));
  } else {
    monitor_wake();
  }
}

void LocalWorld::complete(Meeting& meeting, infinirtXStep_t step) {
  std::string problem;
  for (size_t i = 1; i < meeting.parts.size() && problem.empty(); ++i)
    problem = difference(*meeting.parts[0], *meeting.parts[i]);
  if (!problem.empty()) {
    fail_with({INFINI_STATUS_BAD_PARAM, infinirtErrorInvalidValue, problem});
    for (Execution* execution : meeting.executions) execution->part_failed(failure());
    return;
  }
  work(meeting.parts, meeting.executions, step);
}

void LocalWorld::work(std::span<const Part* const> parts, std::span<Execution* const> executions,
                      infinirtXStep_t step) {
  perform(parts, step);
  for (Execution* execution : executions) execution->part_done();
}

void LocalWorld::part_dropped(const Part& part) {
  {
    std::lock_guard guard(mutex_);
    --ranks_[static_cast<size_t>(part.rank)].outstanding;
  }
  fail_with({INFINI_STATUS_INTERNAL_ERROR, infinirtErrorUnknown,
             format_text("rank %d will never take part in %s (operation %llu): its device failed before it came to it",
                         part.rank, describe(part).c_str(), static_cast<unsigned long long>(part.number))});
}

void LocalWorld::leave(int rank) {
  Failure failure;
  {
    std::lock_guard guard(mutex_);
    ranks_[static_cast<size_t>(rank)].left = true;
    for (const auto& meeting : open_) {
      if (const int gone = unreachable(*meeting); gone >= 0) {
        failure = peer_left(*meeting, gone);
        break;
      }
    }
  }
  if (failure.status != INFINI_STATUS_SUCCESS) fail_with(std::move(failure));
}

void LocalWorld::end_all() {
  std::vector<std::unique_ptr<Meeting>> ended;
  {
    std::lock_guard guard(mutex_);
    ended.swap(open_);
  }
  for (const auto& meeting : ended) {
    for (Execution* execution : meeting->executions) {
      if (execution) execution->part_failed(failure());
    }
  }
}

std::vector<int> LocalWorld::missing(const Meeting& meeting) const {
  std::vector<int> ranks;
  for (size_t i = 0; i < meeting.parts.size(); ++i) {
    if (meeting.parts[i]) continue;
    ranks.push_back(meeting.key.from < 0 ? static_cast<int>(i) : i == 0 ? meeting.key.from : meeting.key.to);
  }
  return ranks;
}

int LocalWorld::unreachable(const Meeting& meeting) const {
  for (int rank : missing(meeting)) {
    const Rank& state = ranks_[static_cast<size_t>(rank)];
    if (state.left && (state.outstanding == 0 || meeting.key.captured)) return rank;
  }
  return -1;
}

std::string LocalWorld::history(int rank, int64_t now) const {
  const Rank& state = ranks_[static_cast<size_t>(rank)];
  std::string text = format_text("rank %d ", rank);
  if (state.last_time == 0) {
    text += "has come to no operation yet";
  } else {
    Part last;
    last.operation = state.last_operation;
    last.dtype = state.last_dtype;
    last.count = state.last_count;
    text += format_text("came last to %s of %zu %s (operation %llu), %.1f s ago", operation_name(last.operation),
                        last.count, dtype_name(last.dtype), static_cast<unsigned long long>(state.last_number),
                        seconds(now - state.last_time));
  }
  if (state.outstanding > 0)
    text += format_text(", and %d operation%s that it issued still wait%s for their turn on its streams",
                        state.outstanding, state.outstanding == 1 ? "" : "s", state.outstanding == 1 ? "s" : "");
  return text;
}

Failure LocalWorld::peer_left(const Meeting& meeting, int rank) const {
  const auto present = std::find_if(meeting.parts.begin(), meeting.parts.end(), [](const Part* p) { return p; });
  return {INFINI_STATUS_BAD_PARAM, infinirtErrorInvalidResourceHandle,
          format_text("rank %d called %s (operation %llu), but the communicator of rank %d was destroyed without it",
                      (*present)->rank, describe(**present).c_str(),
                      static_cast<unsigned long long>((*present)->number), rank)};
}

bool LocalWorld::look(int64_t now) {
  Failure failure;
  bool waiting;
  {
    std::lock_guard guard(mutex_);
    waiting = !open_.empty();
    const int64_t limit = int64_t{timeout_ms()} * 1'000'000;
    for (const auto& meeting : open_) {
      if (limit == 0 || now - meeting->since < limit) continue;
      const auto present = std::find_if(meeting->parts.begin(), meeting->parts.end(), [](const Part* p) { return p; });
      std::string text = format_text("%s (operation %llu) has waited %.1f s, %d of %zu ranks came",
                                     describe(**present).c_str(), static_cast<unsigned long long>((*present)->number),
                                     seconds(now - meeting->since), meeting->arrived, meeting->parts.size());
      for (int rank : missing(*meeting)) text += "; " + history(rank, now);
      failure = {INFINI_STATUS_INTERNAL_ERROR, infinirtErrorTimeout, std::move(text)};
      break;
    }
  }
  if (failure.status != INFINI_STATUS_SUCCESS) fail_with(std::move(failure));
  return waiting;
}

}  // namespace infiniccl
