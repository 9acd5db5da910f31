// Devices, and what is to be known about them. `infinirt:i` is device i of our type.
#include "runtime.h"

namespace infinirt::paddle {

namespace {

Error device_count(size_t* count) {
  *count = 0;
  const TypeScope scope;
  if (scope.error()) return scope.error();
  int devices = 0;
  const Error error = api().GetDeviceCount(&devices);
  if (error == infinirtErrorNoDevice) return infinirtSuccess;
  *count = static_cast<size_t>(devices);
  return error;
}

// PaddlePaddle asks for the same before it calls this; a failure here is one that it reports.
Status initialize() {
  size_t count = 0;
  return status_of(device_count(&count));
}
Status finalize() { return infinirtPluginSuccess; }

Status init_device(Device device) {
  return call_on(device, [] { return infinirtSuccess; });
}
Status deinit_device(Device device) { return call_on(device, api().DeviceSynchronize); }
Status synchronize_device(Device device) { return call_on(device, api().DeviceSynchronize); }

// Stays after the call, as PaddlePaddle expects, for our type alone.
Status set_device(Device device) {
  const TypeScope scope;
  return status_of(scope.error() ? scope.error() : api().SetDevice(device->id));
}

Status get_device(Device device) {
  const TypeScope scope;
  return status_of(scope.error() ? scope.error() : api().GetDevice(&device->id));
}

Status get_device_count(size_t* count) { return status_of(device_count(count)); }

Status get_device_list(size_t* devices) {
  size_t count = 0;
  const Error error = device_count(&count);
  for (size_t i = 0; i < count; ++i) devices[i] = i;
  return status_of(error);
}

Status device_memory_stats(Device device, size_t* total, size_t* free) {
  return call_on(device, api().MemGetInfo, free, total);
}

// PaddlePaddle's own allocator rounds up to this; it must not be 0.
Status device_min_chunk_size(Device, size_t* size) {
  *size = 256;
  return infinirtPluginSuccess;
}

Status read_attribute(Device device, infinirtDeviceAttr attribute, size_t* value) {
  int answer = 0;
  const Status status = status_of(api().DeviceGetAttribute(&answer, attribute, device->id));
  *value = static_cast<size_t>(answer);
  return status;
}

template <infinirtDeviceAttr Attribute>
Status attribute(Device device, size_t* value) {
  const TypeScope scope;
  return scope.error() ? status_of(scope.error()) : read_attribute(device, Attribute, value);
}

Status get_max_grid_dim_size(Device device, unsigned int (*sizes)[3]) {
  constexpr infinirtDeviceAttr kAttributes[] = {infinirtDevAttrMaxGridDimX, infinirtDevAttrMaxGridDimY,
                                                infinirtDevAttrMaxGridDimZ};
  const TypeScope scope;
  if (scope.error()) return status_of(scope.error());
  for (int i = 0; i < 3; ++i) {
    size_t value = 0;
    if (const Status status = read_attribute(device, kAttributes[i], &value)) return status;
    (*sizes)[i] = static_cast<unsigned int>(value);
  }
  return infinirtPluginSuccess;
}

Status get_compute_capability(Device device, size_t* capability) {
  size_t major = 0, minor = 0;
  Status status = attribute<infinirtDevAttrComputeCapabilityMajor>(device, &major);
  if (!status) status = attribute<infinirtDevAttrComputeCapabilityMinor>(device, &minor);
  *capability = 10 * major + minor;
  return status;
}

Status read_version(Error (*read)(int*), size_t* version) {
  const TypeScope scope;
  if (scope.error()) return status_of(scope.error());
  int value = 0;
  const Status status = status_of(read(&value));
  *version = static_cast<size_t>(value);
  return status;
}
Status get_runtime_version(Device, size_t* version) { return read_version(api().RuntimeGetVersion, version); }
Status get_driver_version(Device, size_t* version) { return read_version(api().DriverGetVersion, version); }

// Before 3.1 these three took no device.
Status capability_without_device(size_t* capability) {
  infinirtPluginDevice_st first{0};
  return get_compute_capability(&first, capability);
}
Status runtime_version_without_device(size_t* version) { return get_runtime_version(nullptr, version); }
Status driver_version_without_device(size_t* version) { return get_driver_version(nullptr, version); }

template <class Entry>
void put_without_device(Entry& entry, Status (*function)(size_t*)) {
  entry = reinterpret_cast<Entry>(reinterpret_cast<void (*)()>(function));
}

// What PaddlePaddle computes, it computes with its CPU kernels.
Status is_no(Device, bool* supported) {
  *supported = false;
  return infinirtPluginSuccess;
}

}  // namespace

void fill_in_devices(infinirtPluginInterface& table, bool devices_in_facts) {
  table.initialize = initialize;
  table.finalize = finalize;
  table.init_device = init_device;
  table.deinit_device = deinit_device;
  table.set_device = set_device;
  table.get_device = get_device;
  table.synchronize_device = synchronize_device;
  table.get_device_count = get_device_count;
  table.get_device_list = get_device_list;
  table.device_memory_stats = device_memory_stats;
  table.device_min_chunk_size = device_min_chunk_size;
  table.get_multi_process = attribute<infinirtDevAttrMultiProcessorCount>;
  table.get_max_threads_per_mp = attribute<infinirtDevAttrMaxThreadsPerMultiProcessor>;
  table.get_max_threads_per_block = attribute<infinirtDevAttrMaxThreadsPerBlock>;
  table.get_max_grid_dim_size = get_max_grid_dim_size;
  table.is_float16_supported = is_no;
  table.is_bfloat16_supported = is_no;
  table.is_dnn_supported = is_no;
  if (devices_in_facts) {
    table.get_compute_capability = get_compute_capability;
    table.get_runtime_version = get_runtime_version;
    table.get_driver_version = get_driver_version;
  } else {
    put_without_device(table.get_compute_capability, capability_without_device);
    put_without_device(table.get_runtime_version, runtime_version_without_device);
    put_without_device(table.get_driver_version, driver_version_without_device);
  }
}

}  // namespace infinirt::paddle
