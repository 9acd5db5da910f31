#include "ccl/runtime.h"

#include <time.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace infiniccl {

const Functions& api() {
  static const Functions found = [] {
    Functions f;
#define INFINICCL_RUNTIME_FUNCTION(name) \
  f.name = reinterpret_cast<decltype(f.name)>(infinirtXGetProcAddress("infinirt" #name));
#include "ccl/functions.inc"
#undef INFINICCL_RUNTIME_FUNCTION
    return f;
  }();
  return found;
}

namespace {

infinirtError_t error_of(infiniStatus_t status) {
  switch (status) {
    case INFINI_STATUS_NOT_IMPLEMENTED:
    case INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED:
      return infinirtErrorNotSupported;
    case INFINI_STATUS_DEVICE_NOT_FOUND:
      return infinirtErrorInvalidDevice;
    case INFINI_STATUS_INTERNAL_ERROR:
      return infinirtErrorUnknown;
    default:
      return infinirtErrorInvalidValue;
  }
}

infiniStatus_t status_of(infinirtError_t error) {
  switch (error) {
    case infinirtErrorNotSupported:
      return INFINI_STATUS_NOT_IMPLEMENTED;
    case infinirtErrorNoDevice:
    case infinirtErrorInvalidDevice:
      return INFINI_STATUS_DEVICE_NOT_FOUND;
    case infinirtErrorInitializationError:
    case infinirtErrorInsufficientDriver:
    case infinirtErrorCudartUnloading:
      return INFINI_STATUS_DEVICE_NOT_INITIALIZED;
    case infinirtErrorInvalidValue:
    case infinirtErrorInvalidResourceHandle:
    case infinirtErrorNotPermitted:
      return INFINI_STATUS_BAD_PARAM;
    default:
      // 900 to 908: the call does not fit the state of a stream capture.
      return error >= 900 && error <= 908 ? INFINI_STATUS_BAD_PARAM : INFINI_STATUS_INTERNAL_ERROR;
  }
}

std::string format_list(const char* format, va_list args) {
  char text[2048];
  std::vsnprintf(text, sizeof text, format, args);
  return text;
}

// In the order of infiniDevice_t; null: InfiniCore has a number, this runtime no device type for collectives of that name.
const char* const kDeviceTypes[INFINI_DEVICE_TYPE_COUNT] = {"cpu", "nvidia"};

}  // namespace

infiniStatus_t fail(const char* function, infiniStatus_t status, const char* format, ...) {
  va_list args;
  va_start(args, format);
  const std::string text = std::string(function) + ": " + format_list(format, args);
  va_end(args);
  infinirtXSetLastError(error_of(status), text.c_str());
  return status;
}

infiniStatus_t fail_as_runtime(const char* function, infinirtError_t error) {
  const char* message = infinirtXGetLastErrorMessage();
  // Which of its functions we asked is no concern of the caller.
  const char* colon = std::strstr(message, ": ");
  if (colon && std::strncmp(message, "infinirt", 8) == 0) message = colon + 2;
  const std::string text = std::string(function) + ": " + message;
  infinirtXSetLastError(error, text.c_str());
  return status_of(error);
}

std::string format_text(const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::string text = format_list(format, args);
  va_end(args);
  return text;
}

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

const char* device_type_name(int number) {
  return number >= 0 && number < INFINI_DEVICE_TYPE_COUNT ? kDeviceTypes[number] : nullptr;
}

int device_type_number(const char* name) {
  for (int i = 0; i < INFINI_DEVICE_TYPE_COUNT; ++i) {
    if (kDeviceTypes[i] && std::strcmp(kDeviceTypes[i], name) == 0) return i;
  }
  return -1;
}

DeviceScope::DeviceScope(const char* type, int device) {
  if ((error_ = infinirtXEnterDeviceType(type, &type_before_))) return;
  entered_ = true;
  int current = 0;
  if (device < 0) return;
  if ((error_ = api().GetDevice(&current)) || current == device) return;
  if ((error_ = api().SetDevice(device))) return;
  device_before_ = current;
}

DeviceScope::~DeviceScope() {
  if (device_before_ >= 0) api().SetDevice(device_before_);
  if (entered_) infinirtXLeaveDeviceType(type_before_);
}

}  // namespace infiniccl
