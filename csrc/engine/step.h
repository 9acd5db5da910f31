// Steps: places in a stream's order where a library on top decides when the stream goes on.
#pragma once

#include "core/step.h"
#include "engine/engine.h"
#include "engine/work.h"

namespace infinirt {

// Calls the step's function, unless the device has failed. After infinirtXStepParked neither host nor work may be touched.
infinirtXStepResult call_step(StepHost& host, EngineDevice& device, const StepWork& work, bool in_caller);
// The same where work runs: true when it is done, false when it is parked.
bool run_step(StepHost& host, EngineDevice& device, const StepWork& work, bool in_caller);
void dispose_step(const StepWork& work);
void run_step_parallel(int64_t count, int64_t grain, void (*body)(long long, long long, void*), void* context);

// What a step's node shows as its host function: a node made from it elsewhere does nothing but say so.
void step_as_host_function(void* data);

}  // namespace infinirt
