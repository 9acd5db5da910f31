// Beside the aligned API, whose current device is the runtime's own, and whose work is asynchronous.
#include "ccl/generation.h"
#include "ccl/runtime.h"

namespace infiniccl {

infinirtError_t current_device(const char** type, int* device) {
  if (auto error = infinirtXGetDeviceType(type)) return error;
  return api().GetDevice(device);
}

}  // namespace infiniccl
