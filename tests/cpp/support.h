// What most tests of the public API share: short ways of making and checking things.
#pragma once

#include <chrono>
#include <string>
#include <thread>

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

// ---- Devices whose work is done by their vendor's own library, with its handles, messages and limits

inline bool on_native() { return device_type() == "nvidia"; }

inline constexpr const char* kInventedHandle = "the real library does not survive a handle that it did not make";
inline constexpr const char* kGoneHandle = "the real library does not survive a handle of what is gone";
inline constexpr const char* kHostFunctions = "a real driver runs one host function at a time";
inline constexpr const char* kTestingAid = "a testing aid of the CPU device";
inline constexpr const char* kCpuKernel = "a kernel of the CPU device";
inline constexpr const char* kTwoDevices = "two devices of the CPU type";
inline constexpr const char* kFork = "a real driver does not survive a fork";
inline constexpr const char* kSchedule = "a schedule or kind of memory of the CPU device";

// A library of the tests (tests/plugins, tests/vendors): the engine runs it, but it has no kernels and refuses to work after a
// fork.
inline bool on_library() { return device_type() != "cpu" && device_type() != "cpu-min" && !on_native(); }
inline bool library_lacks(const char* reason) { return on_library() && (reason == kCpuKernel || reason == kFork); }

// Leaves the test where such a library cannot offer or survive it.
inline void skip_on_native(const char* reason) {
  if (on_native() || library_lacks(reason)) check::skip(reason);
}

// The same for a part of a test: if (unless_native(reason)) ...
inline bool unless_native(const char* reason) {
  if (!on_native() && !library_lacks(reason)) return true;
  check::skip_part(reason);
  return false;
}

// At once; a real driver gives back what it was given on a thread of its own, a little later.
template <class Condition>
bool soon(Condition&& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(on_native() ? 10 : 0);
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::yield();
  }
  return true;
}

// ---- Messages

inline std::string message() { return infinirtXGetLastErrorMessage(); }
inline bool names(const std::string& text) { return message().find(text) != std::string::npos; }

// The words are the CPU device's; with another library there is a message, and it begins with the function.
inline bool says(const std::string& text) { return on_native() ? message().rfind("infinirt", 0) == 0 : names(text); }

// ---- Making things

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

// Shows that work of a stream has run, without a host function: a byte that the stream sets and the host reads.
class Mark {
 public:
  Mark() {
    OK(infinirtMallocHost(&byte_, 1));
    *static_cast<volatile char*>(byte_) = 0;
  }
  ~Mark() { OK(infinirtFreeHost(byte_)); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  infinirtError_t set_by(infinirtStream_t stream) { return infinirtMemsetAsync(byte_, 1, 1, stream); }
  bool is_set() const { return *static_cast<const volatile char*>(byte_) == 1; }

 private:
  void* byte_ = nullptr;
};
