#include "ccl/shared/world.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "ccl/monitor.h"
#include "ccl/runtime.h"
#include "ccl/thread.h"

namespace infiniccl::shared {

namespace {

constexpr int64_t kPatience_ns =
    50'000;  // that a stream's own thread looks for the others before it leaves the part to ours
constexpr int64_t kNap_ns = 5'000'000;
constexpr int kIdleNaps = 100;

double seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace

SharedWorld::SharedWorld(const Joined& joined, int rank)
    : World(joined.map.size), map_(joined.map), rank_(rank), host_rank_(joined.host_rank), socket_(joined.socket) {}

SharedWorld::~SharedWorld() {
  close(socket_);
  munmap(map_.base, map_.bytes());
}

bool SharedWorld::is_much(const Part&) { return true; }  // others may be anywhere: not for the thread that issues

void SharedWorld::count_issued(const Part& part, int change) {
  if (part.captured) return;
  std::lock_guard guard(mutex_);
  outstanding_ += change;
}

// Not while whoever failed is still writing why (1): a rank that ends meanwhile is found dead.
bool SharedWorld::failed_elsewhere() const { return map_.header().failed.load(std::memory_order_acquire) == 2; }

Failure SharedWorld::failure_elsewhere() const {
  Header& header = map_.header();
  return {static_cast<infiniStatus_t>(header.failed_status), static_cast<infinirtError_t>(header.failed_error),
          header.message};
}

Transfer::State SharedWorld::move(Transfer& transfer) {
  if (!failed() && failed_elsewhere()) fail_with(failure_elsewhere());
  if (failed()) return Transfer::State::Failed;
  const Transfer::State state = transfer.advance();
  if (state == Transfer::State::Failed)
    fail_with({INFINI_STATUS_BAD_PARAM, infinirtErrorInvalidValue, transfer.problem()});
  return state;
}

void SharedWorld::arrive(Part& part, Execution& execution, infinirtXStep_t) {
  {
    std::lock_guard guard(mutex_);
    if (!part.captured) --outstanding_;
    ++moving_;
  }
  Rank& own = map_.rank(rank_);
  own.last_operation.store(static_cast<uint32_t>(part.operation), std::memory_order_relaxed);
  own.last_count.store(part.count, std::memory_order_relaxed);
  own.last_dtype.store(static_cast<uint32_t>(part.dtype), std::memory_order_relaxed);
  own.last_number.store(part.number, std::memory_order_relaxed);
  own.last_time.store(now_ns(), std::memory_order_release);

  std::list<Transfer> mine;
  Transfer& transfer = mine.emplace_back(map_, part, execution);
  int64_t deadline = now_ns() + kPatience_ns;
  for (;;) {
    const Transfer::State state = move(transfer);
    if (state == Transfer::State::Done || state == Transfer::State::Failed) {
      {
        std::lock_guard guard(mutex_);
        --moving_;
        gone_if_nothing_is_left();
      }
      return state == Transfer::State::Done ? execution.part_done() : execution.part_failed(failure());
    }
    const int64_t now = now_ns();
    if (state == Transfer::State::Moved) deadline = now + kPatience_ns;
    if (now >= deadline) break;
    sched_yield();
  }
  bool ended;
  {
    std::lock_guard guard(mutex_);
    --moving_;
    ended = failed();  // whoever failed the world has seen the list before this
    if (!ended) {
      waiting_.splice(waiting_.end(), mine);
      if (!thread_runs_)
        thread_runs_ = start_thread("infiniccl-move", [this, self = shared_from_this()] { keep_moving(); });
    }
  }
  if (ended) return execution.part_failed(failure());
  ring(own);
  monitor_wake();
}

void SharedWorld::keep_moving() {
  Rank& own = map_.rank(rank_);
  int idle = 0;
  for (;;) {
    const uint32_t seen = own.doorbell.load(std::memory_order_seq_cst);
    std::list<Transfer> over;
    bool moved = false;
    {
      std::lock_guard guard(mutex_);
      for (auto it = waiting_.begin(); it != waiting_.end();) {
        const auto next = std::next(it);
        if (failed() || failed_elsewhere()) break;  // end_all() takes them
        const Transfer::State state = it->advance();
        moved |= state != Transfer::State::Waiting;
        if (state == Transfer::State::Done || state == Transfer::State::Failed) over.splice(over.end(), waiting_, it);
        it = next;
      }
      if (waiting_.empty() && over.empty()) {
        if (++idle > kIdleNaps) {
          thread_runs_ = false;
          return;
        }
      } else {
        idle = 0;
      }
    }
    for (Transfer& transfer : over) finish(transfer);
    if (!over.empty()) {
      std::lock_guard guard(mutex_);
      gone_if_nothing_is_left();
    }
    if (!failed() && failed_elsewhere()) fail_with(failure_elsewhere());
    if (!moved) sleep_at(own, seen, kNap_ns);
  }
}

void SharedWorld::finish(Transfer& transfer) {
  if (transfer.problem().empty()) return transfer.execution().part_done();
  fail_with({INFINI_STATUS_BAD_PARAM, infinirtErrorInvalidValue, transfer.problem()});
  transfer.execution().part_failed(failure());
}

void SharedWorld::gone_if_nothing_is_left() {
  if (!left_ || outstanding_ > 0 || moving_ > 0 || !waiting_.empty()) return;
  if (map_.rank(rank_).left.exchange(1, std::memory_order_acq_rel) != 0) return;
  say_farewell(socket_);
  for (int other = 0; other < size; ++other) ring(map_.rank(other));
}

void SharedWorld::leave(int) {
  std::lock_guard guard(mutex_);
  left_ = true;
  gone_if_nothing_is_left();
}

void SharedWorld::part_dropped(const Part& part) {
  {
    std::lock_guard guard(mutex_);
    --outstanding_;
  }
  fail_with({INFINI_STATUS_INTERNAL_ERROR, infinirtErrorUnknown,
             format_text("rank %d will never take part in %s (operation %llu): its device failed before it came to it",
                         part.rank, describe(part).c_str(), static_cast<unsigned long long>(part.number))});
}

// Tells the other processes, and ends what waits here.
void SharedWorld::end_all() {
  Header& header = map_.header();
  uint32_t expected = 0;
  if (header.failed.compare_exchange_strong(expected, 1, std::memory_order_acq_rel)) {
    header.failed_status = static_cast<int32_t>(failure().status);
    header.failed_error = static_cast<int32_t>(failure().error);
    std::snprintf(header.message, sizeof header.message, "%s", failure().message.c_str());
    header.failed.store(2, std::memory_order_release);
    for (int other = 0; other < size; ++other) ring(map_.rank(other));
  }
  std::list<Transfer> ended;
  {
    std::lock_guard guard(mutex_);
    ended.swap(waiting_);
  }
  for (Transfer& transfer : ended) transfer.execution().part_failed(failure());
}

std::string SharedWorld::history(int rank, int64_t now) const {
  const Rank& state = map_.rank(rank);
  const int64_t last = state.last_time.load(std::memory_order_acquire);
  if (last == 0) return format_text("rank %d has come to no operation yet", rank);
  return format_text("rank %d came last to %s of %llu %s (operation %llu), %.1f s ago", rank,
                     operation_name(static_cast<Operation>(state.last_operation.load(std::memory_order_relaxed))),
                     static_cast<unsigned long long>(state.last_count.load(std::memory_order_relaxed)),
                     dtype_name(static_cast<infiniDtype_t>(state.last_dtype.load(std::memory_order_relaxed))),
                     static_cast<unsigned long long>(state.last_number.load(std::memory_order_relaxed)),
                     seconds(now - last));
}

Failure SharedWorld::late(const Transfer& transfer, int64_t now) const {
  const std::vector<int> missing = transfer.missing();
  std::string text =
      format_text("%s (operation %llu) of rank %d has waited %.1f s", describe(transfer.part()).c_str(),
                  static_cast<unsigned long long>(transfer.part().number), rank_, seconds(now - transfer.since()));
  if (missing.empty()) {
    text += ", though all ranks came; very slow, or stopped:";
    for (int rank : transfer.behind()) text += format_text(" rank %d", rank);
  }
  for (int rank : missing) text += "; " + history(rank, now);
  return {INFINI_STATUS_INTERNAL_ERROR, infinirtErrorTimeout, std::move(text)};
}

int SharedWorld::dead_rank() const {
  for (int r = 0; r < size; ++r) {
    const Rank& state = map_.rank(r);
    if (state.dead.load(std::memory_order_acquire) && !state.left.load(std::memory_order_acquire)) return r;
  }
  return -1;
}

bool SharedWorld::look(int64_t now) {
  if (failed()) return false;
  Failure found;
  bool waiting;
  {
    std::lock_guard guard(mutex_);
    waiting = !waiting_.empty();
    const int64_t limit = int64_t{timeout_ms()} * 1'000'000;
    const int dead = dead_rank();
    if (failed_elsewhere()) {
      found = failure_elsewhere();
    } else if (dead >= 0) {
      found = {INFINI_STATUS_INTERNAL_ERROR, infinirtErrorExternalDevice,
               format_text("the process of rank %d ended without destroying its communicator; %s", dead,
                           history(dead, now).c_str())};
    } else if (waiting && host_rank_ >= 0 && host_is_gone(socket_) &&
               !map_.rank(host_rank_).left.load(std::memory_order_acquire)) {
      found = {INFINI_STATUS_INTERNAL_ERROR, infinirtErrorExternalDevice,
               format_text("the process of rank %d ended without destroying its communicator; %s", host_rank_,
                           history(host_rank_, now).c_str())};
    } else {
      for (const Transfer& transfer : waiting_) {
        const std::vector<int> missing = transfer.missing();
        const auto left = std::find_if(missing.begin(), missing.end(),
                                       [&](int r) { return map_.rank(r).left.load(std::memory_order_acquire) != 0; });
        if (left != missing.end()) {
          found = {
              INFINI_STATUS_BAD_PARAM, infinirtErrorInvalidResourceHandle,
              format_text(
                  "rank %d called %s (operation %llu), but the communicator of rank %d was destroyed without it", rank_,
                  describe(transfer.part()).c_str(), static_cast<unsigned long long>(transfer.part().number), *left)};
        } else if (limit > 0 && now - transfer.since() >= limit) {
          found = late(transfer, now);
        }
        if (found.status != INFINI_STATUS_SUCCESS) break;
      }
    }
  }
  if (found.status != INFINI_STATUS_SUCCESS) fail_with(std::move(found));
  return waiting;
}

}  // namespace infiniccl::shared
