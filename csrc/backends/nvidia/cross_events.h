// Waiting across device types: a GPU's stream for an event of the CPU device, and the other way round.
#pragma once

#include "infinirt.h"

namespace infinirt::nvidia {

// Table entry.
infinirtError_t StreamWaitEvent(infinirtStream_t stream, infinirtEvent_t event, unsigned int flags);

// See SnapshotEvent and those after it in Backend::extensions.
infinirtError_t snapshot_event(infinirtEvent_t event, void** lane, void** snapshot);
void wait_for_snapshot(void* snapshot);
void drop_snapshot(void* snapshot);
void drop_lane(void** lane);

// Whether a GPU's stream waits for the CPU: a call that waits for the GPU may then wait for work of the CPU device's.
bool streams_await_cpu();

// In a child, whoever held the lock is gone. What was under way is dropped there; nothing new is begun.
void unlock_cross_events_in_forked_child();

// The device is about to be reset.
void forget_cross_events();

}  // namespace infinirt::nvidia
