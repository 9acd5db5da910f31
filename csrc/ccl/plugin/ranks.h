// The ranks of this process as the plugin knows them, and the thread that calls its entries for them: steps may not wait, and the
// plugin's calls may.
#pragma once

#include <condition_variable>
#include <list>
#include <mutex>
#include <vector>

#include "ccl/batch.h"
#include "ccl/plugin/library.h"
#include "ccl/world.h"

namespace infiniccl::plugin {

// One rank: its communicator and a stream of the plugin's. Both go with it, unless the communicator has failed.
struct Rank {
  int number = -1;
  int device = 0;
  infinirtPluginComm_t comm = nullptr;
  infinirtPluginStream_t stream = nullptr;
  void* scratch = nullptr;  // a few bytes of its device, for barriers
};

// Parts that are given to the plugin together.
struct Job {
  std::vector<const Part*> parts;
  std::vector<Execution*> executions;  // of those
  int64_t since = 0;
};

class Ranks {
 public:
  explicit Ranks(std::unique_ptr<const Library> library) : library_(std::move(library)) {}
  ~Ranks();

  // All of them at once, in one group of the plugin's; "" or what went wrong.
  std::string join(const std::vector<int>& devices);
  // One of `size`, the others of which may be elsewhere.
  std::string join_one(const infinicclUniqueId_t& id, int size, int number, int device);

  const Library& library() const { return *library_; }
  // Calls the plugin for the job's parts and waits until it is over; "" or what went wrong. `given_up` is asked now and then.
  std::string carry_out(const Job& job, int size, bool (*given_up)(const World&), const World& world);

 private:
  std::string make_stream(Rank& rank) const;
  std::string copy(const Rank& rank, void* to, const void* from, size_t bytes) const;
  std::string copy_own_parts(const Part& part, const Rank& rank) const;
  std::string enqueue(const Part& part, const Rank& rank, int size) const;
  std::string wait_for(const Rank& rank, bool (*given_up)(const World&), const World& world) const;
  const Rank& rank_of(const Part& part) const;

  const std::unique_ptr<const Library> library_;
  std::vector<Rank> ranks_;
  bool broken_ = false;  // the plugin has failed, or was given up: what it has is left alone
};

// A new id of the plugin's; "" or what went wrong.
std::string make_unique_id(const Library& library, int device, infinicclUniqueId_t* id);

}  // namespace infiniccl::plugin
