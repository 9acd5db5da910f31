// The thread that looks for timeouts. It starts when something waits for the first time, and sleeps while nothing does.
#pragma once

#include <memory>

namespace infiniccl {

class World;

// From now on the world is looked at while something waits.
void monitor_add(std::weak_ptr<World> world);
// Something of some world has begun to wait.
void monitor_wake();

}  // namespace infiniccl
