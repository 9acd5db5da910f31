#include "op/runtime.h"

#include <cstdarg>
#include <cstdio>

namespace infiniop {

const Functions& api() {
  static const Functions found = [] {
    Functions f;
#define INFINIOP_RUNTIME_FUNCTION(name) \
  f.name = reinterpret_cast<decltype(f.name)>(infinirtXGetProcAddress("infinirt" #name));
#include "op/functions.inc"
#undef INFINIOP_RUNTIME_FUNCTION
    return f;
  }();
  return found;
}

namespace {

infinirtError_t error_of(infiniStatus_t status) {
  switch (status) {
    case INFINI_STATUS_NOT_IMPLEMENTED:
    case INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED:
    case INFINI_STATUS_DEVICE_ARCHITECTURE_NOT_SUPPORTED:
      return infinirtErrorNotSupported;
    case INFINI_STATUS_INTERNAL_ERROR:
      return infinirtErrorMemoryAllocation;  // the only failure of this library's own without a cause of the caller's
    default:
      return infinirtErrorInvalidValue;
  }
}

infiniStatus_t status_of(infinirtError_t error) {
  switch (error) {
    case infinirtErrorNotSupported:
    case infinirtErrorSymbolNotFound:
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

}  // namespace

infiniStatus_t fail(const char* function, infiniStatus_t status, const char* format, ...) {
  char text[1024];
  const int prefix = std::snprintf(text, sizeof text, "%s: ", function);
  va_list args;
  va_start(args, format);
  std::vsnprintf(text + prefix, sizeof text - static_cast<size_t>(prefix), format, args);
  va_end(args);
  infinirtXSetLastError(error_of(status), text);
  return status;
}

infiniStatus_t fail_as_runtime(const char* function, infinirtError_t error) {
  char text[2048];
  std::snprintf(text, sizeof text, "%s: %s", function, infinirtXGetLastErrorMessage());
  infinirtXSetLastError(error, text);
  return status_of(error);
}

}  // namespace infiniop
