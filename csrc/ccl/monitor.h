// The thread that looks for timeouts, and on which worlds end that others must not end on. It starts when something waits for the first time, and sleeps while nothing does.
#pragma once

#include <memory>

namespace infiniccl {

class World;

// From now on the world is looked at while something waits.
void monitor_add(std::weak_ptr<World> world);
// Something of some world has begun to wait.
void monitor_wake();
// Lets go of a world, soon, on the monitor's thread: for callers that may not call the device's own functions.
void monitor_release(std::shared_ptr<World> world);

}  // namespace infiniccl
