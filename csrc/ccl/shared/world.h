// Processes of one machine (or threads of one): parts go through shared memory.
#pragma once

#include <list>
#include <mutex>

#include "ccl/shared/rendezvous.h"
#include "ccl/shared/transfer.h"
#include "ccl/world.h"

namespace infiniccl::shared {

// One rank's view.
class SharedWorld final : public World {
 public:
  SharedWorld(const Joined& joined, int rank);
  ~SharedWorld() override;

  void arrive(Part& part, Execution& execution, infinirtXStep_t step) override;
  bool is_much(const Part& part) override;
  void leave(int rank) override;
  bool look(int64_t now) override;
  void part_dropped(const Part& part) override;

 private:
  void end_all() override;
  void count_issued(const Part& part, int change) override;

  Transfer::State move(Transfer& transfer);  // Failed after the world has failed
  void finish(Transfer& transfer);
  void keep_moving();  // the thread's
  bool failed_elsewhere() const;
  Failure failure_elsewhere() const;
  Failure late(const Transfer& transfer, int64_t now) const;
  std::string history(int rank, int64_t now) const;
  int dead_rank() const;
  void gone_if_nothing_is_left();  // with the mutex held

  const Map map_;
  const int rank_;
  const int host_rank_;
  const int socket_;
  std::mutex mutex_;
  std::list<Transfer> waiting_;
  bool thread_runs_ = false;
  bool left_ = false;
  int outstanding_ = 0;  // eager parts that were issued and have not arrived
  int moving_ = 0;       // parts that a stream's own thread moves now
};

}  // namespace infiniccl::shared
