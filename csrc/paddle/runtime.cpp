#include "runtime.h"

#include <cstring>
#include <string>
#include <thread>

namespace infinirt::paddle {

const Functions& api() {
  static const Functions found = [] {
    Functions f;
#define INFINIRT_PADDLE_FUNCTION(name) \
  f.name = reinterpret_cast<decltype(f.name)>(infinirtXGetProcAddress("infinirt" #name));
#include "functions.inc"
#undef INFINIRT_PADDLE_FUNCTION
    return f;
  }();
  return found;
}

bool runtime_is_complete() {
  const Functions& f = api();
  bool complete = true;
#define INFINIRT_PADDLE_FUNCTION(name) complete = complete && f.name;
#include "functions.inc"
#undef INFINIRT_PADDLE_FUNCTION
  return complete;
}

namespace {

struct DefaultType {
  const char* name = nullptr;
  std::string problem;
};

const DefaultType& default_type() {
  static const DefaultType type = [] {
    DefaultType found;
    // This thread may have chosen a type of its own; a new one has not.
    std::thread([&found] {
      if (!infinirtXGetDeviceType(&found.name)) return;
      found.name = nullptr;
      found.problem = infinirtXGetLastErrorMessage();
    }).join();
    return found;
  }();
  return type;
}

}  // namespace

const char* device_type() { return default_type().name; }
const char* device_type_problem() { return default_type().problem.c_str(); }

Status status_of(Error error) {
  switch (error) {
    case infinirtSuccess:
    case infinirtErrorCudartUnloading:
      return infinirtPluginSuccess;
    case infinirtErrorNotReady:
    case infinirtErrorMemoryAllocation:
      return infinirtPluginFailed;
    case infinirtErrorInvalidValue:
    case infinirtErrorInvalidDevice:
    case infinirtErrorInvalidResourceHandle:
    case infinirtErrorNoDevice:
      return infinirtPluginError;
    default:
      return infinirtPluginInternalError;
  }
}

TypeScope::TypeScope() {
  const char* wanted = device_type();
  if (!wanted) {
    error_ = infinirtErrorNoDevice;
    return;
  }
  const char* now = nullptr;
  // A thread whose own choice fails has nothing to go back to.
  if (infinirtXGetDeviceType(&now)) now = nullptr;
  if (now && std::strcmp(now, wanted) == 0) return;
  error_ = infinirtXSetDeviceType(wanted);
  if (!error_) previous_ = now;
}

TypeScope::~TypeScope() {
  if (previous_) infinirtXSetDeviceType(previous_);
}

DeviceScope::DeviceScope(int device) : error_(type_.error()) {
  int now = -1;
  if (!error_) error_ = api().GetDevice(&now);
  if (error_ || now == device) return;
  error_ = api().SetDevice(device);
  if (!error_) previous_ = now;
}

DeviceScope::~DeviceScope() {
  if (previous_ >= 0) api().SetDevice(previous_);
}

}  // namespace infinirt::paddle
