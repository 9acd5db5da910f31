// Which CPU devices there are: INFINIRT_CPU_DEVICES and INFINIRT_VISIBLE_DEVICES.
#pragma once

#include <string>
#include <vector>

namespace infinirt::cpu {

// The physical numbers of the devices that are offered, in order; empty with a problem when there are none. `type` is the
// prefix that entries of INFINIRT_VISIBLE_DEVICES may carry ("cpu:0"); entries for other types are not ours.
std::vector<int> visible_devices(const char* type, std::string* problem);

}  // namespace infinirt::cpu
