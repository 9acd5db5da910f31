// Device types that come from a plugin with collectives of its own.
#pragma once

#include <map>
#include <mutex>

#include "ccl/local/world.h"
#include "ccl/plugin/carrier.h"

namespace infiniccl::plugin {

// All ranks in this process: they meet as those of CPU devices do, so that late ones and differences are found here, and a complete
// meeting is one group of the plugin's calls.
class PluginWorld final : public LocalWorld {
 public:
  // Null with a message in *problem.
  static std::shared_ptr<PluginWorld> make_all(const char* type, const std::vector<int>& devices, std::string* problem);

  PluginWorld(int size, std::unique_ptr<Ranks> ranks) : LocalWorld(size), carrier_(std::move(ranks)) {}

  bool has_native_memory() const override { return true; }
  bool can_reduce(infiniDtype_t dtype, infinicclReduceOp_t op) const override;
  std::string conflict(const Part& part, infinirtStream_t stream) override;
  bool look(int64_t now) override;
  void leave(int rank) override;

 private:
  void work(std::span<const Part* const> parts, std::span<Execution* const> executions, infinirtXStep_t step) override;

  std::atomic<int> left_{0};
  Carrier carrier_;
};

// One rank here, the others in other processes. The plugin gets operations in the order in which they were issued.
class MemberWorld final : public World {
 public:
  static std::shared_ptr<MemberWorld> join(const char* type, int device, const infinicclUniqueId_t& id, int size,
                                           int rank, std::string* problem);

  MemberWorld(int size, std::unique_ptr<Ranks> ranks) : World(size), carrier_(std::move(ranks)) {}

  bool has_native_memory() const override { return true; }
  bool can_reduce(infiniDtype_t dtype, infinicclReduceOp_t op) const override;
  std::string conflict(const Part& part, infinirtStream_t stream) override;
  void arrive(Part& part, Execution& execution, infinirtXStep_t step) override;
  void batch_arrived() override;
  bool is_much(const Part&) override { return true; }
  void leave(int) override { carrier_.close(); }  // the plugin's communicator goes with the last part
  bool look(int64_t now) override { return carrier_.look(*this, now); }
  void part_dropped(const Part& part) override;

 private:
  struct Arrived {
    Part* part;
    Execution* execution;
  };

  void end_all() override;
  void count_issued(const Part&, int) override {}

  std::mutex handing_on_, mutex_;
  // Parts wait here until their numbers come: collectives are one order, sends to each peer and receives from each are others.
  std::map<std::pair<int, uint64_t>, Arrived> early_;
  std::map<int, uint64_t> next_;
  Carrier carrier_;
};

}  // namespace infiniccl::plugin
