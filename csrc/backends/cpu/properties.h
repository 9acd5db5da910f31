// What a CPU device says of itself.
#pragma once

#include <cstddef>

#include "infinirt.h"

namespace infinirt::cpu {

// The shape of the device, chosen so that programs written for a GPU find what they need. 9.0 is the compute capability
// whose features (cooperative launch, memory pools, unified addressing) the device has.
inline constexpr int kComputeMajor = 9, kComputeMinor = 0;

// Fills every field; `type` is the device type's name, `ordinal` the physical number (before INFINIRT_VISIBLE_DEVICES).
void describe_device(const char* type, int ordinal, size_t total_memory, struct infinirtDeviceProp* properties);

}  // namespace infinirt::cpu
