// The thread that carries out jobs one after another: steps may not wait, and a plugin's calls may.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include "ccl/plugin/ranks.h"

namespace infiniccl::plugin {

class Carrier {
 public:
  explicit Carrier(std::unique_ptr<Ranks> ranks) : ranks_(std::move(ranks)) {}

  const Library& library() const { return ranks_->library(); }
  // Ends every part of the job, on its own thread. The world stays until then.
  void take(std::shared_ptr<World> world, Job job);
  // Nothing more comes, but for what was issued already: the thread, which keeps the world, need not wait for it.
  void close();
  // Fails the world if the plugin takes too long; true while it works.
  bool look(World& world, int64_t now);

 private:
  void work(World& world);

  const std::unique_ptr<Ranks> ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool thread_runs_ = false, closed_ = false;
  int64_t since_ = 0;  // of what is being carried out; 0: nothing is
  std::string what_;   // that is
};

}  // namespace infiniccl::plugin
