// The thread's v0 device type, and what running a call on it means.
#pragma once

#include <bit>

#include "core.h"
#include "v0/infinirt.h"

namespace infinirt::v0 {

// The old code for a new one.
infiniStatus_t status_of(core::Error error);

// The new generation's name of a type ("cpu", "nvidia", ...); null for a number that is no type.
const char* name_of(int type);

// The number in an enum argument. C programs may pass any; C++ may not even look at one that is no enumerator.
template <class Enum>
int number_of(const Enum& value) {
  return std::bit_cast<int>(value);
}

// The calling thread's v0 device type, INFINI_DEVICE_CPU until infinirtSetDevice. It is v0's own: a thread that uses
// both generations has a device type in each, and neither changes the other's.
infiniDevice_t& current_type();

// Makes `type` the new generation's type for as long as the object lives.
class DeviceScope {
 public:
  explicit DeviceScope(int type);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

  infiniStatus_t status() const { return status_; }  // not success: nothing was changed

 private:
  const char* previous_ = nullptr;  // null: it was `type` already
  infiniStatus_t status_ = INFINI_STATUS_SUCCESS;
};

// Waits for `stream`, unless it is being captured. Called after every call on the CPU that may leave work behind: v0's
// CPU was synchronous, and its programs look at the memory at once.
core::Error settle(infinirtStream_t stream);

// Runs `call` on the thread's device.
template <class Call>
infiniStatus_t on_device(const Call& call) {
  const DeviceScope scope(current_type());
  return scope.status() ? scope.status() : status_of(call());
}

// As on_device, for a call that puts work into `stream` (null: the default stream).
template <class Call>
infiniStatus_t in_stream(infinirtStream_t stream, const Call& call) {
  return on_device([&] {
    const core::Error error = call();
    return error || current_type() != INFINI_DEVICE_CPU ? error : settle(stream);
  });
}

}  // namespace infinirt::v0
