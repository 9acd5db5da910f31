// A communicator: one rank of a world, behind the handle that programs have.
#pragma once

#include <memory>

#include "ccl/staged/stage.h"
#include "ccl/world.h"

namespace infiniccl {

struct Communicator {
  std::shared_ptr<World> world;
  std::shared_ptr<staged::Stage> stage;  // null: the transport takes parts as they are
  int rank = 0;
  const char* device_type = nullptr;  // lives as long as the process
  int device = 0;
  int process = 0;  // by forks from the one that loaded the library
};

// The handle; null when there is no room for another one.
infinicclComm_t publish(std::unique_ptr<Communicator> communicator);
inline constexpr int kMaxRanks = 4096;

// Null: destroyed, or never made by publish(). A communicator that was found stays valid while the pointer does.
std::shared_ptr<const Communicator> find(infinicclComm_t handle);
std::shared_ptr<const Communicator> withdraw(infinicclComm_t handle);

// The communicator of the handle if it works; otherwise null with a message and *status.
std::shared_ptr<const Communicator> resolve(const char* function, infinicclComm_t handle, infiniStatus_t* status);

}  // namespace infiniccl
