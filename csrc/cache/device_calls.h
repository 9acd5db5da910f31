// Calling a backend's own functions from inside the runtime, whatever the calling thread has chosen for itself.
#pragma once

#include "core/dispatch.h"

namespace infinirt::cache {

// For its lifetime the thread's device type and device are the given ones, another thread's capture does not forbid calls,
// and messages of calls that fail are dropped at the end, unless kept.
class DeviceCalls {
 public:
  DeviceCalls(const Backend& backend, int device) : backend_(backend), route_(thread_state(), &backend) {
    const ThreadExtra* extra = thread_state().extra;
    had_message_ = extra && extra->has_pending;
    if (backend.table.ThreadExchangeStreamCaptureMode(&mode_) != infinirtSuccess) mode_ = kUnchanged;
    int current = 0;
    if (backend.table.GetDevice(&current) != infinirtSuccess || current == device) return;
    if (backend.table.SetDevice(device) == infinirtSuccess) previous_device_ = current;
  }
  ~DeviceCalls() {
    if (previous_device_ >= 0) backend_.table.SetDevice(previous_device_);
    if (mode_ != kUnchanged) backend_.table.ThreadExchangeStreamCaptureMode(&mode_);
    ThreadExtra* extra = thread_state().extra;
    if (extra && !had_message_ && !keep_message_) extra->has_pending = false;
  }
  DeviceCalls(const DeviceCalls&) = delete;
  DeviceCalls& operator=(const DeviceCalls&) = delete;

  const BackendTable* operator->() const { return &backend_.table; }
  void keep_message() { keep_message_ = true; }

 private:
  static constexpr auto kUnchanged = static_cast<enum infinirtStreamCaptureMode>(-1);

  const Backend& backend_;
  RoutedScope route_;
  enum infinirtStreamCaptureMode mode_ = infinirtStreamCaptureModeRelaxed;
  int previous_device_ = -1;
  bool had_message_ = false;
  bool keep_message_ = false;
};

}  // namespace infinirt::cache
