#include "core.h"
#include "selection.h"

using namespace infinirt::v0;  // NOLINT: the C entry points below are outside the namespace

namespace {

// Runs `call` on a device that need not be the current one.
template <class Call>
infiniStatus_t on_other_device(int type, int device, const Call& call) {
  const DeviceScope scope(type);
  if (scope.status()) return scope.status();
  int previous = 0;
  core::Error error = core::get_device(&previous);
  if (error) return status_of(error);
  if (device == previous) return status_of(call());
  error = core::set_device(device);
  if (error) return status_of(error);
  error = call();
  const core::Error restored = core::set_device(previous);
  return status_of(error ? error : restored);
}

}  // namespace

infiniStatus_t infinirtInit(void) { return INFINI_STATUS_SUCCESS; }

infiniStatus_t infinirtGetDeviceCount(infiniDevice_t device, int* count) {
  if (!count) return INFINI_STATUS_NULL_POINTER;
  const char* name = name_of(number_of(device));
  if (!name) return INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED;
  core::find_device_type(name, count);
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinirtGetAllDeviceCount(int* count_array) {
  if (!count_array) return INFINI_STATUS_NULL_POINTER;
  for (int type = 0; type < INFINI_DEVICE_TYPE_COUNT; ++type) {
    core::find_device_type(name_of(type), &count_array[type]);
  }
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinirtSetDevice(infiniDevice_t device, int device_id) {
  const DeviceScope scope(number_of(device));
  if (scope.status()) return scope.status();
  const infiniStatus_t status = status_of(core::set_device(device_id));
  if (status == INFINI_STATUS_SUCCESS) current_type() = device;
  return status;
}

infiniStatus_t infinirtGetDevice(infiniDevice_t* device_ptr, int* device_id_ptr) {
  if (!device_ptr && !device_id_ptr) return INFINI_STATUS_NULL_POINTER;
  int device = 0;
  const infiniStatus_t status = on_device([&] { return core::get_device(&device); });
  if (status) return status;
  if (device_ptr) *device_ptr = current_type();
  if (device_id_ptr) *device_id_ptr = device;
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinirtDeviceSynchronize(void) { return on_device(core::device_synchronize); }

infiniStatus_t infinirtGetMemInfo(infiniDevice_t device, int device_id, size_t* free_bytes, size_t* total_bytes) {
  if (!free_bytes || !total_bytes) return INFINI_STATUS_NULL_POINTER;
  return on_other_device(number_of(device), device_id, [&] { return core::memory_info(free_bytes, total_bytes); });
}

infiniStatus_t infinirtGetDeviceResourceSnapshot(infiniDevice_t device, int device_id,
                                                 infinirtDeviceResourceSnapshot_t* snapshot) {
  if (!snapshot) return INFINI_STATUS_NULL_POINTER;
  infinirtDeviceResourceSnapshot_t seen{};
  const infiniStatus_t status = on_other_device(number_of(device), device_id, [&] {
    const core::Error error = core::memory_info(&seen.free_bytes, &seen.total_bytes);
    if (!error) seen.reserved_bytes = core::default_pool_reserved_bytes(device_id);
    return error;
  });
  if (status) return status;
  seen.device_type = device;
  seen.device_id = device_id;
  seen.valid_fields = INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY;
  seen.used_bytes = seen.total_bytes - seen.free_bytes;
  *snapshot = seen;
  return INFINI_STATUS_SUCCESS;
}
