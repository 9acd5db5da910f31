// infinirtXLaunchHostFunc on NVIDIA's streams: host functions that own their data.
#pragma once

#include "infinirt.h"

namespace infinirt::nvidia {

infinirtError_t launch_host_func(infinirtStream_t stream, infinirtHostFn_t fn, void* data, infinirtHostFn_t destroy);

}  // namespace infinirt::nvidia
