// Beside the earlier generation, which has a current device type of its own, and whose CPU was synchronous: its programs look at the
// memory at once.

#include "op/device.h"
#include "op/generation.h"
#include "op/runtime.h"

// Of the earlier generation's libinfinirt: the calling thread's device type there.
extern "C" infiniDevice_t infinirtV0CurrentType();

namespace infiniop {

CallScope::CallScope(const char* function) {
  const auto number = static_cast<int>(infinirtV0CurrentType());
  const Device* device = find_device(number);
  if (!device) {
    status_ = fail(function, INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED,
                   "there are no operators for device type %d of infinirtSetDevice, only for: %s", number,
                   list_of_devices().c_str());
  } else if (auto error = infinirtXEnterDeviceType(device->type(), &previous_)) {
    status_ = fail_as_runtime(function, error);
  } else {
    entered_ = true;
  }
}

CallScope::~CallScope() {
  if (entered_) infinirtXLeaveDeviceType(previous_);
}

infinirtError_t after_work(const Device& device, infinirtStream_t stream) {
  if (!device.is_host()) return infinirtSuccess;
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  if (auto error = api().StreamIsCapturing(stream, &status)) return error;
  if (status != infinirtStreamCaptureStatusNone) return infinirtSuccess;
  // The program did not ask for this wait: a capture elsewhere, which bars waits, must neither fail the call nor break.
  enum infinirtStreamCaptureMode mode = infinirtStreamCaptureModeRelaxed;
  if (auto error = api().ThreadExchangeStreamCaptureMode(&mode)) return error;
  const infinirtError_t waited = api().StreamSynchronize(stream);
  const infinirtError_t restored = api().ThreadExchangeStreamCaptureMode(&mode);
  return waited ? waited : restored;
}

}  // namespace infiniop
