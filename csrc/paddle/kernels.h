// The kernels that PaddlePaddle must have for a device whose memory the host does not reach. For everything else it copies to
// the host, uses its own CPU kernels and copies back; these four it would run on the device's addresses.
#pragma once

namespace infinirt::paddle {

// Registers `contiguous`, `strided_copy`, `full` and `add` for the device type; false when this process has no PaddlePaddle.
bool register_kernels(const char* device_type);

}  // namespace infinirt::paddle
