#include "ccl/mpi/world.h"

#include <sched.h>

#include <cstdlib>
#include <cstring>

#include "ccl/monitor.h"
#include "ccl/runtime.h"
#include "ccl/thread.h"

namespace infiniccl::mpi {

namespace {

constexpr int64_t kBusy_ns =
    5'000'000;  // that it asks without a pause after something happened: MPI moves only when asked
constexpr auto kNap = std::chrono::microseconds(50);
constexpr auto kIdle = std::chrono::milliseconds(500);

bool checks() {
  static const bool wanted = [] {
    const char* text = std::getenv("INFINICCL_CHECK");
    return text && std::strcmp(text, "1") == 0;
  }();
  return wanted;
}

}  // namespace

std::shared_ptr<MpiWorld> MpiWorld::join(int size, int rank, std::string* problem) {
  const Functions* mpi = library(problem);
  if (!mpi) return nullptr;
  int mpi_rank = 0, mpi_size = 0;
  Handle comms[2] = {};
  std::unique_lock guard(call_mutex());
  mpi->Comm_rank(constant(kWorld), &mpi_rank);
  mpi->Comm_size(constant(kWorld), &mpi_size);
  if (mpi_rank != rank || mpi_size != size) {
    *problem = format_text("rank %d of %d was asked for, but MPI's launcher made this process rank %d of %d", rank,
                           size, mpi_rank, mpi_size);
    return nullptr;
  }
  for (Handle& comm : comms) {
    const int error = mpi->Comm_dup(constant(kWorld), &comm);
    if (error != kSuccess) {
      guard.unlock();
      *problem = "MPI_Comm_dup: " + error_text(*mpi, error);
      return nullptr;
    }
    mpi->Comm_set_errhandler(comm, constant(kErrorsReturn));
  }
  return std::make_shared<MpiWorld>(*mpi, comms[0], comms[1], size, rank);
}

std::string MpiWorld::conflict(const Part& part, infinirtStream_t) {
  return part.captured ? "collectives over MPI cannot be captured into graphs" : "";
}

void MpiWorld::arrive(Part& part, Execution& execution, infinirtXStep_t) {
  std::unique_lock guard(mutex_);
  if (failed()) {
    guard.unlock();
    return execution.part_failed(failure());
  }
  early_[{lane_of(part), part.number}].emplace_back(mpi_, part, execution, now_ns());
  if (!thread_runs_) thread_runs_ = start_thread("infiniccl-mpi", [this, self = shared_from_this()] { keep_moving(); });
  guard.unlock();
  changed_.notify_one();
  monitor_wake();
}

void MpiWorld::begin_next(std::list<Transfer>& failed_ones, int* error) {
  for (bool found = true; found;) {
    found = false;
    for (auto it = early_.begin(); it != early_.end();) {
      const auto [lane, number] = it->first;
      if (number != next_[lane]) {
        ++it;
        continue;
      }
      found = true;
      ++next_[lane];
      std::list<Transfer> one = std::move(it->second);
      it = early_.erase(it);
      {
        std::lock_guard calls(call_mutex());
        *error = one.front().begin(collectives_, pairs_, checks());
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
    {
      std::unique_lock guard(mutex_);
      if (early_.empty() && moving_.empty()) {
        if (!changed_.wait_for(guard, kIdle, [&] { return !early_.empty(); })) {
          thread_runs_ = false;
          return;
        }
        busy_until = now_ns() + kBusy_ns;
      }
      begin_next(broken, &error);
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
      fail_with({INFINI_STATUS_INTERNAL_ERROR, infinirtErrorExternalDevice,
                 format_text("%s (operation %llu) of rank %d: %s", describe(broken.front().part()).c_str(),
                             static_cast<unsigned long long>(broken.front().part().number), rank_,
                             error_text(mpi_, error).c_str())});
      for (Transfer& transfer : broken) transfer.execution().part_failed(failure());
    }
    const int64_t now = now_ns();
    if (!over.empty()) busy_until = now + kBusy_ns;
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
    for (const Transfer& transfer : moving_) {
      if (limit == 0 || now - transfer.since() < limit) continue;
      found = {
          INFINI_STATUS_INTERNAL_ERROR, infinirtErrorTimeout,
          format_text(
              "%s (operation %llu) of rank %d has waited %.1f s for the other ranks; which of them did not come is "
              "not known over MPI",
              describe(transfer.part()).c_str(), static_cast<unsigned long long>(transfer.part().number), rank_,
              static_cast<double>(now - transfer.since()) * 1e-9)};
      break;
    }
  }
  if (found.status != INFINI_STATUS_SUCCESS) fail_with(std::move(found));
  return waiting;
}

}  // namespace infiniccl::mpi
