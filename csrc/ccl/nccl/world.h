// NVIDIA's GPUs: every part is a call of NCCL's on the rank's own stream. Not tested on more than what is at hand.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "ccl/nccl/library.h"
#include "ccl/world.h"

namespace infiniccl::nccl {

class NcclWorld final : public World {
 public:
  // All ranks of this process; null with a message in *problem.
  static std::shared_ptr<NcclWorld> make_all(const std::vector<int>& devices, std::string* problem);
  // One rank, on the thread's current device.
  static std::shared_ptr<NcclWorld> join(const infinicclUniqueId_t& id, int size, int rank, std::string* problem);

  NcclWorld(const Functions& nccl, int size) : World(size), nccl_(nccl), comms_(static_cast<size_t>(size)) {}
  ~NcclWorld() override;

  // ---- parts go straight onto their streams
  bool takes_streams() const override { return true; }
  bool can_reduce(infiniDtype_t dtype, infinicclReduceOp_t op) const override;
  std::string enqueue(std::span<Part> parts, infinirtStream_t stream) override;
  void begin_group() override { nccl_.GroupStart(); }  // groups of NCCL's nest, and are the thread's
  std::string end_group() override;

  bool look(int64_t now) override;
  void leave(int rank) override;
  void arrive(Part&, Execution&, infinirtXStep_t) override {}
  bool is_much(const Part&) override { return true; }
  void part_dropped(const Part&) override {}

 private:
  struct Rank {
    Comm comm = nullptr;
    void* scratch = nullptr;  // a few bytes of its device, for barriers
    int device = 0;
    bool left = false;
  };

  void end_all() override;
  void count_issued(const Part&, int) override {}
  std::string keep_for_graph(infinirtStream_t stream);
  int call(const Part& part, Rank& rank, void* stream) const;
  // While a communicator has two ranks in this process, a GPU may wait for what another thread has yet to enqueue: the runtime is told.
  void note_ranks(std::string communicator, size_t count);
  void forget_ranks();
  bool make_scratch(Rank& rank, std::string* problem) const;

  const Functions& nccl_;
  std::string communicator_;  // the same for all of its worlds in this process
  size_t ranks_ = 0;          // of this world
  std::mutex mutex_;
  unsigned long long latest_capture_ = 0;  // its graph keeps this already
  std::vector<Rank> comms_;  // those of this process have a communicator
};

}  // namespace infiniccl::nccl
