// Processes that MPI's launcher started, on one machine or on several.
#pragma once

#include <condition_variable>
#include <list>
#include <map>
#include <mutex>

#include "ccl/mpi/transfer.h"
#include "ccl/world.h"

namespace infiniccl::mpi {

class MpiWorld final : public World {
 public:
  // Joins the ranks of MPI's own world; all of them call this. Null with a message in *problem.
  static std::shared_ptr<MpiWorld> join(int size, int rank, std::string* problem);

  MpiWorld(const Functions& mpi, Handle collectives, Handle pairs, int size, int rank)
      : World(size), mpi_(mpi), collectives_(collectives), pairs_(pairs), rank_(rank) {}

  void arrive(Part& part, Execution& execution, infinirtXStep_t step) override;
  bool is_much(const Part&) override { return true; }
  void leave(int rank) override;
  bool look(int64_t now) override;
  void part_dropped(const Part& part) override;
  std::string conflict(const Part& part, infinirtStream_t stream) override;

 private:
  void end_all() override;
  void count_issued(const Part&, int) override {}
  void keep_moving();
  // The next parts whose turn it is; with the mutex held.
  void begin_next(std::list<Transfer>& failed, int* error);

  const Functions& mpi_;
  const Handle collectives_, pairs_;
  const int rank_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool thread_runs_ = false;
  // MPI matches operations in the order in which a rank begins them: parts wait here until their numbers come.
  std::map<std::pair<int, uint64_t>, std::list<Transfer>> early_;  // by lane and number
  std::map<int, uint64_t> next_;  // by lane
  std::list<Transfer> moving_;
};

}  // namespace infiniccl::mpi
