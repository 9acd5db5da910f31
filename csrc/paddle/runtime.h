// The runtime as this library uses it: functions found by name, the device type that PaddlePaddle is given, and scopes that
// leave the calling thread's choice of devices as it was.
#pragma once

#include "infinirt_ext.h"
#include "infinirt_plugin.h"

namespace infinirt::paddle {

using Error = infinirtError_t;
using Status = enum infinirtPluginStatus;
using Device = infinirtPluginDevice_t;

// Only infinirtX names are imported: a reference to an aligned name could be bound to another library of the process that
// defines it, in another shape.
struct Functions {
#define INFINIRT_PADDLE_FUNCTION(name) decltype(&infinirt##name) name;
#include "functions.inc"
#undef INFINIRT_PADDLE_FUNCTION
};
const Functions& api();

// Whether the runtime that was found has every function above.
bool runtime_is_complete();

// The device type whose devices PaddlePaddle sees: what a thread gets that has chosen none, so INFINIRT_DEVICE decides.
// Null when there is none: the problem is then the runtime's message.
const char* device_type();
const char* device_type_problem();

// The number that crosses to PaddlePaddle. Once the runtime has ended with the process, everything is a success: there
// is nothing left to destroy, and nobody to tell.
Status status_of(Error error);

// Makes our device type the calling thread's, and back at the end.
class TypeScope {
 public:
  TypeScope();
  ~TypeScope();
  TypeScope(const TypeScope&) = delete;
  TypeScope& operator=(const TypeScope&) = delete;
  Error error() const { return error_; }

 private:
  const char* previous_ = nullptr;  // null: the thread had our type already
  Error error_ = infinirtSuccess;
};

// Makes a device of our type current, and the thread's own again at the end.
class DeviceScope {
 public:
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  Error error() const { return error_; }

 private:
  TypeScope type_;
  int previous_ = -1;
  Error error_;
};

// Calls `function(arguments...)` with the device current.
template <class Function, class... Arguments>
Status call_on(Device device, Function function, Arguments... arguments) {
  const DeviceScope scope(device->id);
  return status_of(scope.error() ? scope.error() : function(arguments...));
}

inline infinirtStream_t stream_of(infinirtPluginStream_t stream) { return reinterpret_cast<infinirtStream_t>(stream); }
inline infinirtEvent_t event_of(infinirtPluginEvent_t event) { return reinterpret_cast<infinirtEvent_t>(event); }

// Each fills in its part of the table. `devices_in_facts`: the entries for versions and capability take a device (3.1 on).
void fill_in_devices(infinirtPluginInterface& table, bool devices_in_facts);
void fill_in_streams(infinirtPluginInterface& table);
void fill_in_memory(infinirtPluginInterface& table);
void fill_in_collectives(infinirtPluginInterface& table);

}  // namespace infinirt::paddle
