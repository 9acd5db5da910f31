// Devices of one process: the last rank to arrive reads all inputs and writes all outputs.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "ccl/world.h"

namespace infiniccl {

class LocalWorld : public World {
 public:
  explicit LocalWorld(int size);

  void arrive(Part& part, Execution& execution, infinirtXStep_t step) override;
  bool is_much(const Part& part) override;
  void leave(int rank) override;
  bool look(int64_t now) override;
  void part_dropped(const Part& part) override;
  std::string conflict(const Part& part, infinirtStream_t stream) override;

 protected:
  // All parts are at hand and fit together; ends every one of them, now or later. `step` may be used until this returns.
  virtual void work(std::span<const Part* const> parts, std::span<Execution* const> executions, infinirtXStep_t step);

 private:
  // Parts that belong together, as far as they have come.
  struct Meeting {
    Key key;
    int arrived = 0;
    int64_t since = 0;
    std::vector<const Part*> parts;  // by rank; of a pair: sender, receiver
    std::vector<Execution*> executions;
  };
  // What a rank did last, for messages.
  struct Rank {
    int outstanding = 0;  // eager parts that were issued and have not arrived
    bool left = false;
    int64_t last_time = 0;  // 0: it has done nothing yet
    Operation last_operation = Operation::Barrier;
    infiniDtype_t last_dtype = INFINI_DTYPE_BYTE;
    size_t last_count = 0;
    uint64_t last_number = 0;
    // Where its latest collective part was put, eager and captured.
    bool issued[2] = {};
    infinirtStream_t streams[2] = {};
    uint64_t numbers[2] = {};
  };

  void end_all() override;
  void count_issued(const Part& part, int change) override;
  void note_stream(const Part& part, infinirtStream_t stream) override;
  Meeting* find(const Key& key);
  Meeting* open(const Key& key);
  // Ranks that have not come to a meeting; for a message.
  std::vector<int> missing(const Meeting& meeting) const;
  int unreachable(const Meeting& meeting) const;  // a missing rank that will not come; -1: none
  std::string history(int rank, int64_t now) const;
  Failure peer_left(const Meeting& meeting, int rank) const;
  void complete(Meeting& meeting, infinirtXStep_t step);

  std::mutex mutex_;
  std::vector<Rank> ranks_;
  std::vector<std::unique_ptr<Meeting>> open_, spare_;
};

}  // namespace infiniccl
