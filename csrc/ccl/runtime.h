// The runtime as this library uses it, and the errors that go back to the caller: one of InfiniCore's statuses for
// programs, and a sentence for people in the runtime's last-error text.
#pragma once

#include <string>

#include "infinicore.h"
#include "infinirt_ext.h"

namespace infiniccl {

// Only infinirtX names are imported: a reference to an aligned name could be bound to another library of the process that
// defines it, in another shape.
struct Functions {
#define INFINICCL_RUNTIME_FUNCTION(name) decltype(&infinirt##name) name;
#include "ccl/functions.inc"
#undef INFINICCL_RUNTIME_FUNCTION
};
const Functions& api();

// Leaves "<function>: <text>" as the thread's last error and returns `status`.
[[gnu::format(printf, 3, 4), gnu::cold]] infiniStatus_t fail(const char* function, infiniStatus_t status,
                                                             const char* format, ...);

// The status of a runtime call that failed; the runtime's message stays, behind the name of our function.
[[gnu::cold]] infiniStatus_t fail_as_runtime(const char* function, infinirtError_t error);

[[gnu::format(printf, 1, 2)]] std::string format_text(const char* format, ...);

int64_t now_ns();  // of a clock that never goes backwards

// The runtime's names of InfiniCore's device types; null where this runtime has none, -1 where InfiniCore has none.
const char* device_type_name(int number);
int device_type_number(const char* name);

// For as long as it lives, the thread's current device is this one (-1: the type's current one): the predefined streams are its own.
class DeviceScope {
 public:
  DeviceScope(const char* type, int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  infinirtError_t error() const { return error_; }

 private:
  const char* type_before_ = nullptr;
  bool entered_ = false;
  int device_before_ = -1;
  infinirtError_t error_ = infinirtSuccess;
};

// Within a DeviceScope: streams, events and memory may be made and freed while this thread, or any other, captures. Nothing of that goes into a graph,
// and no capture is broken by it.
class OutsideCapture {
 public:
  OutsideCapture() { api().ThreadExchangeStreamCaptureMode(&mode_); }
  ~OutsideCapture() { api().ThreadExchangeStreamCaptureMode(&mode_); }
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  enum infinirtStreamCaptureMode mode_ = infinirtStreamCaptureModeRelaxed;
};

}  // namespace infiniccl
