// Host functions and callbacks on NVIDIA's streams. NVIDIA's library refuses its own calls in a host function, but not in a
// callback; here every call of this API is refused in both.
#pragma once

#include "infinirt.h"

namespace infinirt::nvidia {

// Table entries.
infinirtError_t LaunchHostFunc(infinirtStream_t stream, infinirtHostFn_t fn, void* userData);
infinirtError_t StreamAddCallback(infinirtStream_t stream, infinirtStreamCallback_t callback, void* userData,
                                  unsigned int flags);

// Whether host functions are pending, or may be: in executable graphs nobody knows.
bool host_functions_pending();
// Called when a graph was given a host function by other means than a capture.
void note_host_node();

// infinirtXLaunchHostFunc: a host function that owns its data.
infinirtError_t launch_host_func(infinirtStream_t stream, infinirtHostFn_t fn, void* data, infinirtHostFn_t destroy);

}  // namespace infinirt::nvidia
