// The random schedule: no threads; a seeded generator picks which ready step runs, and when.
//
// With a seed, and API calls that come in the same order, every run takes the same steps. A missing synchronisation then
// shows up in some seed, and that seed shows it again.
#pragma once

#include "engine/scheduler.h"

namespace infinirt {

// Makes a runnable ready.
void random_schedule_add(Runnable* runnable);
// Runs randomly chosen steps until the point is reached, or (with a limit >= 0) the time is up: false then.
bool random_schedule_until(const Point& point, int64_t timeout_ns = -1);
// Installs the hook that runs a few steps at every API call.
void random_schedule_install();
// Restarts the generator.
void random_schedule_seed(uint64_t seed);

void random_schedule_lock_for_fork();
void random_schedule_unlock_after_fork();  // in the parent
void random_schedule_reset_in_child();  // what was ready is the parent's; the generator goes on

}  // namespace infinirt
