// What most tests of the public API share: short ways of making and checking things.
#pragma once

#include <string>

#include "check.h"
#include "infinirt.h"
#include "infinirt_ext.h"

#define OK(call) CHECK_EQ(call, infinirtSuccess)

// The call fails with the code, which does not stay behind as the thread's last error.
#define FAILS(call, code)         \
  do {                            \
    CHECK_EQ(call, code);         \
    (void)infinirtGetLastError(); \
  } while (0)

inline std::string message() { return infinirtXGetLastErrorMessage(); }
inline bool says(const std::string& text) { return message().find(text) != std::string::npos; }

// The device type under test, and how messages call its device.
inline std::string device_type() {
  const char* type = "";
  OK(infinirtXGetDeviceType(&type));
  return type;
}
inline std::string device_name(int ordinal) { return device_type() + ":" + std::to_string(ordinal); }

// Whether the device type under test claims the function. What it does not claim answers infinirtErrorNotSupported.
inline bool supported(const char* function) {
  enum infinirtXSupport support = infinirtXSupportNone;
  OK(infinirtXGetSupport(&support, device_type().c_str(), function));
  return support != infinirtXSupportNone;
}

inline infinirtStream_t make_stream(unsigned flags = infinirtStreamNonBlocking) {
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, flags));
  return stream;
}

// One that takes part in the legacy stream's ordering.
inline infinirtStream_t make_blocking_stream() { return make_stream(infinirtStreamDefault); }

inline infinirtEvent_t make_event(unsigned flags = infinirtEventDefault) {
  infinirtEvent_t event = nullptr;
  OK(infinirtEventCreateWithFlags(&event, flags));
  return event;
}
