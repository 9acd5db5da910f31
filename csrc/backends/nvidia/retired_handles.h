// Destroying streams, events and pools. The real library crashes on destroyed ones, and gives their addresses to whoever creates the
// next one, other libraries of the process included: an address says nothing about whether it is dead. So the ones that were
// destroyed last are kept, unused, and destroyed when others take their place: as long as they are kept, their addresses are
// nobody else's, and using them is refused with a message.
//
// A pool that is destroyed while it has memory in use is kept as well, until that memory has been freed: the driver (580 and
// CUDA 13.0 on an H200) crashes when another pool is destroyed some time after it was left to end such a pool by itself.
#pragma once

#include "infinirt.h"

namespace infinirt::nvidia {

// Table entries.
infinirtError_t StreamDestroy(infinirtStream_t stream);
infinirtError_t EventDestroy(infinirtEvent_t event);
infinirtError_t MemPoolDestroy(infinirtMemPool_t memPool);

// Before a device is reset, which destroys everything on it; what cross_events keeps for its waits as well.
void forget_retired_handles();

}  // namespace infinirt::nvidia
