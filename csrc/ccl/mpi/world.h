// Processes that MPI's launcher started, on one machine or on several.
#pragma once

#include <compare>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>

#include "ccl/mpi/transfer.h"
#include "ccl/world.h"

namespace infiniccl::mpi {

class MpiWorld final : public World {
 public:
  // Joins the ranks of MPI's own world; all of them call this. *staged says whether the memory of this rank's device cannot be
  // reached, and afterwards whether that of any rank cannot. Null with a message in *problem.
  static std::shared_ptr<MpiWorld> join(int size, int rank, bool* staged, std::string* problem);

  struct Comms {
    Handle collectives = nullptr, pairs = nullptr;
    Handle captures = nullptr;  // from which those of captures are made
  };
  MpiWorld(const Functions& mpi, const Comms& comms, int size, int rank)
      : World(size), mpi_(mpi), comms_(comms), rank_(rank) {}

  void arrive(Part& part, Execution& execution, infinirtXStep_t step) override;
  bool is_much(const Part&) override { return true; }
  bool may_write_after_failure() const override { return true; }
  void leave(int rank) override;
  bool look(int64_t now) override;
  void part_dropped(const Part& part) override;

 private:
  // Parts of one lane are begun in the order of their turns. Eager ones have a lane for collectives and one for each peer and
  // direction; captured sends and receives one each, in which replays follow one another; captured collectives one for each capture.
  struct Lane {
    enum Kind : uint8_t { Eager, CapturedPair, Capture } kind = Eager;
    int peer = 0;          // as lane_of() has it
    uint64_t which = 0;    // captured: the pair's number, or the capture's
    auto operator<=>(const Lane&) const = default;
  };
  // MPI matches collectives by the order in which ranks begin them, and graphs have none among one another: each has a communicator of
  // its own, in which the order is that of its capture, replay for replay. Ranks capture in the same order, so the n-th is the
  // n-th everywhere; communicators are made in this order when the first replay wants them.
  struct Captured {
    uint64_t id = 0;
    uint64_t parts = 0;
    Handle comm = nullptr, request = nullptr;
    bool begun = false, ready = false;
  };
  struct Place {
    size_t capture = 0;
    uint64_t index = 0;  // in it
  };

  void end_all() override;
  void count_issued(const Part& part, int change) override;
  void keep_moving();
  // With the mutex held.
  std::pair<Lane, uint64_t> turn_of(const Part& part, const Key& key);
  int make_comms();  // MPI's error code
  bool has_comm(const Lane& lane) const { return lane.kind != Lane::Capture || captures_[lane.which].ready; }
  // The next parts whose turn it is; with the mutex held.
  void begin_next(std::list<Transfer>& failed, int* error);

  const Functions& mpi_;
  const Comms comms_;
  const int rank_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool thread_runs_ = false;
  std::map<std::pair<Lane, uint64_t>, std::list<Transfer>> early_;  // whose turn has not come
  std::map<Lane, uint64_t> next_;
  std::deque<Captured> captures_;  // MPI writes into them: they stay where they are
  size_t captures_wanted_ = 0;  // so many of them have been replayed, or come before one that was
  std::map<uint64_t, Place> places_;  // of captured collectives, by number
  std::list<Transfer> moving_;
};

}  // namespace infiniccl::mpi
