// The calls that programs make most go straight to the driver, past NVIDIA's runtime library, which would call the same
// driver function behind a layer of its own.
#pragma once

#include "core/backend.h"

namespace infinirt::nvidia {

// Replaces entries of the table. A call that the driver refuses because the thread has no context yet is the runtime library's,
// which makes it one; so are those whose errors the two call by different names. All other answers are the same in both.
void use_driver_directly(BackendTable& table);

}  // namespace infinirt::nvidia
