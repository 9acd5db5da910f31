// Waiting across device types: a GPU's stream for an event of the CPU device, and the other way round.
#pragma once

#include "infinirt.h"

namespace infinirt::nvidia {

// Table entry.
infinirtError_t StreamWaitEvent(infinirtStream_t stream, infinirtEvent_t event, unsigned int flags);

// For streams of other backends: what the event stands for now, to be waited for later on any thread. `wait` and `drop` take
// what `snapshot` made; `drop` is called exactly once.
infinirtError_t snapshot_event(infinirtEvent_t event, void** snapshot);
void wait_for_snapshot(void* snapshot);
void drop_snapshot(void* snapshot);

}  // namespace infinirt::nvidia
