// Beside the earlier generation, which has a current device type of its own.
#include "ccl/generation.h"
#include "ccl/runtime.h"

// Of the earlier generation's libinfinirt: the calling thread's device type there.
extern "C" infiniDevice_t infinirtV0CurrentType();

namespace infiniccl {

infinirtError_t current_device(const char** type, int* device) {
  *type = device_type_name(static_cast<int>(infinirtV0CurrentType()));
  if (!*type) return infinirtXSetLastError(infinirtErrorNotSupported, "the thread's device type has no collectives");
  const DeviceScope scope(*type, -1);
  if (scope.error()) return scope.error();
  return api().GetDevice(device);
}

}  // namespace infiniccl
