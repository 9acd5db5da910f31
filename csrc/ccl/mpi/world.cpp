#include "ccl/mpi/world.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ccl/monitor.h"
#include "ccl/runtime.h"
#include "ccl/thread.h"

namespace infiniccl::mpi {

namespace {

constexpr int64_t kBusy_ns =
    5'000'000;  // that it asks without a pause after something happened: MPI moves only when asked
constexpr int64_t kMoved_ns = 10'000;  // asking takes so long only when MPI moves data meanwhile
constexpr uint64_t kTags = 30'000;  // captured sends to a peer that are told apart; MPI has at least 32767
constexpr auto kNap = std::chrono::microseconds(50);
constexpr auto kIdle = std::chrono::milliseconds(500);

bool checks() {
  static const bool wanted = [] {
    const char* text = std::getenv("INFINICCL_CHECK");
    return text && std::strcmp(text, "1") == 0;
  }();
  return wanted;
}

// Whether any rank says so. MPI's error code.
int agree(const Functions& mpi, Handle comm, bool* any) {
  int size = 0, done = 0;
  mpi.Comm_size(comm, &size);
  std::vector<char> said(static_cast<size_t>(size));
  Handle request = constant(kNoRequest);
  const char own = *any;
  int error = mpi.Iallgather_c(&own, 1, constant(kByte), said.data(), 1, constant(kByte), comm, &request);
  while (error == kSuccess && !done) error = mpi.Test(&request, &done, nullptr);
  *any = std::find(said.begin(), said.end(), 1) != said.end();
  return error;
}

}  // namespace

std::shared_ptr<MpiWorld> MpiWorld::join(int size, int rank, bool* staged, std::string* problem) {
  const Functions* mpi = library(problem);
  if (!mpi) return nullptr;
  int mpi_rank = 0, mpi_size = 0;
  Handle made[3] = {};
  std::unique_lock guard(call_mutex());
  mpi->Comm_rank(constant(kWorld), &mpi_rank);
  mpi->Comm_size(constant(kWorld), &mpi_size);
  if (mpi_rank != rank || mpi_size != size) {
    *problem = format_text("rank %d of %d was asked for, but MPI's launcher made this process rank %d of %d", rank,
                           size, mpi_rank, mpi_size);
    return nullptr;
  }
  for (Handle& comm : made) {
    const int error = mpi->Comm_dup(constant(kWorld), &comm);
    if (error != kSuccess) {
      guard.unlock();
      *problem = "MPI_Comm_dup: " + error_text(*mpi, error);
      return nullptr;
    }
    mpi->Comm_set_errhandler(comm, constant(kErrorsReturn));
  }
  if (const int error = agree(*mpi, made[0], staged); error != kSuccess) {
    guard.unlock();
    *problem = "MPI_Iallgather: " + error_text(*mpi, error);
    return nullptr;
  }
  return std::make_shared<MpiWorld>(*mpi, Comms{made[0], made[1], made[2]}, size, rank);
}

void MpiWorld::count_issued(const Part& part, int change) {
  if (!part.captured || between_two(part.operation)) return;
  std::lock_guard guard(mutex_);
  if (change < 0) {  // it could not be captured
    const auto found = places_.find(part.number);
    if (found == places_.end()) return;
    --captures_[found->second.capture].parts;
    places_.erase(found);
    return;
  }
  size_t capture = captures_.size();
  while (capture > 0 && captures_[capture - 1].id != part.capture) --capture;
  if (capture > 0) {
    --capture;
  } else if (!captures_.empty() && captures_.back().parts == 0) {
    capture = captures_.size() - 1;  // nothing came of that one
    captures_[capture].id = part.capture;
  } else {
    capture = captures_.size();
    captures_.push_back({part.capture});
  }
  places_[part.number] = {capture, captures_[capture].parts++};
}

std::pair<MpiWorld::Lane, uint64_t> MpiWorld::turn_of(const Part& part, const Key& key) {
  if (!part.captured) return {{Lane::Eager, lane_of(part), 0}, part.number};
  if (between_two(part.operation)) return {{Lane::CapturedPair, lane_of(part), part.number}, key.replay};
  const Place place = places_[part.number];
  captures_wanted_ = std::max(captures_wanted_, place.capture + 1);
  return {{Lane::Capture, 0, place.capture}, key.replay * captures_[place.capture].parts + place.index};
}

int MpiWorld::make_comms() {
  for (size_t i = 0; i < captures_wanted_; ++i) {
    Captured& capture = captures_[i];
    if (capture.ready) continue;
    std::lock_guard calls(call_mutex());
    if (!capture.begun) {
      capture.begun = true;
      if (const int error = mpi_.Comm_idup(comms_.captures, &capture.comm, &capture.request); error != kSuccess)
        return error;
    }
    int done = 0;
    if (const int error = mpi_.Test(&capture.request, &done, nullptr); error != kSuccess) return error;
    if (!done) return kSuccess;  // one after another
    mpi_.Comm_set_errhandler(capture.comm, constant(kErrorsReturn));
    capture.ready = true;
  }
  return kSuccess;
}

void MpiWorld::arrive(Part& part, Execution& execution, infinirtXStep_t) {
  std::unique_lock guard(mutex_);
  if (failed()) {
    guard.unlock();
    return execution.part_failed(failure());
  }
  std::list<Transfer> one;
  one.emplace_back(mpi_, part, execution, now_ns());
  early_[turn_of(part, one.front().key())] = std::move(one);
  if (!thread_runs_) thread_runs_ = start_thread("infiniccl-mpi", [this, self = shared_from_this()] { keep_moving(); });
  guard.unlock();
  changed_.notify_one();
  monitor_wake();
}

void MpiWorld::begin_next(std::list<Transfer>& failed_ones, int* error) {
  for (bool found = true; found;) {
    found = false;
    for (auto it = early_.begin(); it != early_.end();) {
      const auto [lane, turn] = it->first;
      if (turn != next_[lane] || !has_comm(lane)) {
        ++it;
        continue;
      }
      found = true;
      ++next_[lane];
      std::list<Transfer> one = std::move(it->second);
      it = early_.erase(it);
      {
        std::lock_guard calls(call_mutex());
        const bool pair = between_two(one.front().part().operation);
        const Handle comm = pair                         ? comms_.pairs
                            : lane.kind == Lane::Capture ? captures_[lane.which].comm
                                                         : comms_.collectives;
        const int tag = lane.kind == Lane::CapturedPair ? 1 + static_cast<int>(lane.which % kTags) : 0;
        *error = one.front().begin(comm, tag, checks());
      }
      if (*error == kSuccess) {
        moving_.splice(moving_.end(), one);
      } else {
        failed_ones.splice(failed_ones.end(), one);
        return;
      }
    }
  }
}

void MpiWorld::keep_moving() {
  int64_t busy_until = now_ns() + kBusy_ns;
  for (;;) {
    std::list<Transfer> over, broken;
    int error = kSuccess;
    int64_t began;
    {
      std::unique_lock guard(mutex_);
      if (early_.empty() && moving_.empty()) {
        if (!changed_.wait_for(guard, kIdle, [&] { return !early_.empty(); })) {
          thread_runs_ = false;
          return;
        }
        busy_until = now_ns() + kBusy_ns;
      }
      began = now_ns();
      error = make_comms();
      if (error == kSuccess) begin_next(broken, &error);
      for (auto it = moving_.begin(); it != moving_.end() && error == kSuccess;) {
        const auto next = std::next(it);
        bool done = false;
        {
          std::lock_guard calls(call_mutex());
          error = it->test(&done);
        }
        if (error != kSuccess) {
          broken.splice(broken.end(), moving_, it);
        } else if (done) {
          over.splice(over.end(), moving_, it);
        }
        it = next;
      }
    }
    for (Transfer& transfer : over) {
      if (transfer.problem().empty()) {
        transfer.execution().part_done();
        continue;
      }
      fail_with({INFINI_STATUS_BAD_PARAM, infinirtErrorInvalidValue, transfer.problem()});
      transfer.execution().part_failed(failure());
    }
    if (error != kSuccess) {
      const std::string text = error_text(mpi_, error);
      fail_with(
          {INFINI_STATUS_INTERNAL_ERROR, infinirtErrorExternalDevice,
           broken.empty()
               ? format_text("no communicator of MPI's for a graph's operations on rank %d: %s", rank_, text.c_str())
               : format_text("%s (operation %llu) of rank %d: %s", describe(broken.front().part()).c_str(),
                             static_cast<unsigned long long>(broken.front().part().number), rank_, text.c_str())});
      for (Transfer& transfer : broken) transfer.execution().part_failed(failure());
    }
    const int64_t now = now_ns();
    if (!over.empty() || now - began > kMoved_ns) busy_until = now + kBusy_ns;
    if (now < busy_until) {
      sched_yield();
    } else {
      std::unique_lock guard(mutex_);
      changed_.wait_for(guard, kNap);
    }
  }
}

void MpiWorld::leave(int) {
}  // MPI's communicators are its own until it is finalised: freeing one waits for the other ranks

void MpiWorld::part_dropped(const Part& part) {
  fail_with({INFINI_STATUS_INTERNAL_ERROR, infinirtErrorUnknown,
             format_text("rank %d will never take part in %s (operation %llu): its device failed before it came to it",
                         part.rank, describe(part).c_str(), static_cast<unsigned long long>(part.number))});
}

// MPI cannot take back what has begun: those operations are forgotten with their copies, and their memory stays MPI's.
void MpiWorld::end_all() {
  std::list<Transfer> ended;
  {
    std::lock_guard guard(mutex_);
    for (auto& [key, transfers] : early_) ended.splice(ended.end(), transfers);
    early_.clear();
    ended.splice(ended.end(), moving_);
  }
  auto* forgotten = new std::list<Transfer>(std::move(ended));
  for (Transfer& transfer : *forgotten) transfer.execution().part_failed(failure());
}

bool MpiWorld::look(int64_t now) {
  Failure found;
  bool waiting;
  {
    std::lock_guard guard(mutex_);
    waiting = !early_.empty() || !moving_.empty();
    const int64_t limit = int64_t{timeout_ms()} * 1'000'000;
    const Transfer* late = nullptr;
    const auto check = [&](const Transfer& transfer) {
      if (limit > 0 && now - transfer.since() >= limit && !late) late = &transfer;
    };
    for (const Transfer& transfer : moving_) check(transfer);
    for (const auto& [turn, transfers] : early_) {
      if (!has_comm(turn.first)) check(transfers.front());  // others have not come to this graph, or to one before
    }
    if (late) {
      found = {
          INFINI_STATUS_INTERNAL_ERROR, infinirtErrorTimeout,
          format_text(
              "%s (operation %llu) of rank %d has waited %.1f s for the other ranks; which of them did not come is "
              "not known over MPI",
              describe(late->part()).c_str(), static_cast<unsigned long long>(late->part().number), rank_,
              static_cast<double>(now - late->since()) * 1e-9)};
    }
  }
  if (found.status != INFINI_STATUS_SUCCESS) fail_with(std::move(found));
  return waiting;
}

}  // namespace infiniccl::mpi
